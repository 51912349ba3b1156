"""Tasks of a suite: each is one network on one data set, with the models that each test compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shesha_bench.model_descriptions import STANDARD, Model, Plain, Setting

Groups = tuple[Setting, ...]


@dataclass(frozen=True)
class Task:
    """One architecture on one data set, with the groups of models that each test compares."""

    domain: str
    dataset: str
    architecture: str
    hyper: Mapping[str, Plain] = field(hash=False)
    groups: Mapping[str, Groups] = field(hash=False)
    """The settings whose models each test compares as groups. Tests that are not named here are not run."""
    poolings: tuple[str, ...] = ("",)
    layers: Setting = STANDARD
    """Setting of the models whose layers are compared."""
    n_models: int = 10
    """Number of models for the tests that use predictions."""
    n_per_group: int = 5
    n_layered: int = 5
    """Number of models for the layer test."""

    def __str__(self) -> str:
        """Return the names of the network and the data set."""
        return f"{self.architecture} on {self.dataset}"

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests in which this task takes part."""
        from shesha_bench.tests import all_tests

        return tuple(test.name for test in all_tests() if test.takes_part(self))

    def model(self, setting: Setting, seed: int) -> Model:
        """Return the task's model for a setting and a seed."""
        return Model(self.domain, self.dataset, self.architecture, setting, seed, self.hyper)

    def models(self, test: str) -> dict[str, tuple[Model, ...]]:
        """Return the models of a test, by group."""
        from shesha_bench.tests import find

        return dict(find(test).models(self))
