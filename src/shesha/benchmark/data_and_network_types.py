"""Declarations of a domain: its data sets and networks, with their hyperparameters.

A data set or a network is one object of a domain's class (`TextData`, `GraphNetwork`, ...). Those of the library have
short names in the domain's table. Your own is named by its place, module:name, from which every training process
imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shesha.benchmark.model_descriptions import Model, Plain

SUITES = ("paper", "small")
"""The sizes of suites."""
Degrees = Mapping[str, tuple[float, ...]]
"""Degrees of the settings that each test by groups distinguishes; a test without degrees is not run."""


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
    """Degrees that differ from the defaults of the domain."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Values for combinations with certain networks or data sets, by the names of these."""
    suites: tuple[str, ...] = SUITES
    """Suites that include this data set or network."""


@dataclass(frozen=True, kw_only=True)
class NetworkPart(Part):
    """Declarations that only networks have."""

    poolings: tuple[str, ...] = ()
    """Poolings of the network's representations, if they differ from the defaults of the domain."""
    ignores: tuple[str, ...] = ()
    """Hyperparameters of the domain that the network ignores."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which the network cannot be trained, with the reason."""

    def check(self, model: Model, hyper: Any) -> None:
        """Refuse settings with which the network cannot be trained."""
