"""Declarations of a domain: its data sets and networks, with their hyperparameters.

A data set or a network is one object of a domain's class (`TextData`, `GraphNetwork`, ...). The library's own are in
the domain's table under short names. Yours is named by its place, module:name, where every training process imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shesha.benchmark.model_descriptions import Model, Plain

SUITES = ("paper", "small")
"""The sizes of suites."""
Degrees = Mapping[str, tuple[float, ...]]
"""For each test by groups, the degrees of the settings it distinguishes; a test without degrees is not run."""


@dataclass(frozen=True, kw_only=True)
class Override:
    """Values for one combination of data set and network."""

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    degrees: Degrees = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Declarations of data sets and networks in any domain; all are optional.

    A network's values have priority over a data set's, and `overrides` over both.
    """

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    """Hyperparameters, by name."""
    degrees: Degrees = field(default_factory=dict)
    """Degrees that differ from the domain's."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Values for combinations with other data sets or networks, by their names."""
    suites: tuple[str, ...] = SUITES
    """The sizes of suites that include it."""


@dataclass(frozen=True, kw_only=True)
class NetworkPart(Part):
    """Further declarations of networks."""

    poolings: tuple[str, ...] = ()
    """Poolings of its representations, if they differ from the domain's."""
    ignores: tuple[str, ...] = ()
    """Hyperparameters of the domain that it ignores."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which it cannot be trained, with the reason."""

    def check(self, model: Model, hyper: Any) -> None:
        """Refuse settings with which the network cannot be trained."""
