"""How a domain declares its data sets and networks, with their hyperparameters.

Each data set and each network is an object of one of the domain's classes (`TextData`, `GraphNetwork`, ...). Those that
the library provides have short names in the domain's table. Your own is named as module:name, from where every training
process imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shesha_bench.model_descriptions import Model, Plain

SUITES = ("paper", "small")
"""Names of the suites, which differ in size."""
Degrees = Mapping[str, tuple[float, ...]]
"""The degrees that distinguish the groups of each test; a test without degrees is not run."""


@dataclass(frozen=True, kw_only=True)
class Override:
    """Values for one combination of a data set and a network."""

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    degrees: Degrees = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Declarations for data sets and networks in any domain, all of which are optional.

    A network's values take priority over those of a data set, and `overrides` take priority over both.
    """

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    """Hyperparameters, by name."""
    degrees: Degrees = field(default_factory=dict)
    """Degrees, where they differ from the defaults of the domain."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Values for combinations with certain networks or data sets, keyed by the names of these."""
    suites: tuple[str, ...] = SUITES
    """Suites that include this data set or network."""


@dataclass(frozen=True, kw_only=True)
class NetworkPart(Part):
    """Declarations for networks only."""

    poolings: tuple[str, ...] = ()
    """Poolings of the network's representations, if they differ from the domain's defaults."""
    ignores: tuple[str, ...] = ()
    """Hyperparameters of the domain that the network ignores."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which the network cannot be trained, each with the reason."""

    def check(self, model: Model, hyper: Any) -> None:
        """Refuse settings with which the network cannot be trained."""
