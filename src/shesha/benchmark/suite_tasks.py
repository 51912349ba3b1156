"""Tasks of a suite: one network on one data set each, with the models that each test compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shesha.benchmark.model_descriptions import STANDARD, Model, Plain, Setting

Groups = tuple[Setting, ...]


@dataclass(frozen=True)
class Task:
    """One architecture on one data set, with the groups of models that each test compares."""

    domain: str
    dataset: str
    architecture: str
    hyper: Mapping[str, Plain] = field(hash=False)
    groups: Mapping[str, Groups] = field(hash=False)
    """The settings that each test distinguishes; a test that is missing is not run."""
    poolings: tuple[str, ...] = ("",)
    layers: Setting = STANDARD
    """The setting of the models whose layers are compared."""
    n_models: int = 10
    """Number of models for the tests by prediction."""
    n_per_group: int = 5
    n_layered: int = 5
    """Number of models for the test of layers."""

    def __str__(self) -> str:
        """Name the network and the data set."""
        return f"{self.architecture} on {self.dataset}"

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests that this task takes part in."""
        from shesha.benchmark.tests import all_tests

        return tuple(test.name for test in all_tests() if test.takes_part(self))

    def model(self, setting: Setting, seed: int) -> Model:
        """Return one model of the task."""
        return Model(self.domain, self.dataset, self.architecture, setting, seed, self.hyper)

    def models(self, test: str) -> dict[str, tuple[Model, ...]]:
        """Return the models of a test by group."""
        from shesha.benchmark.tests import find

        return dict(find(test).models(self))
