"""The base class of tests, which defines a test's models, the pairs it compares, and its scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.pairs_and_scores import Compared, Pair, ScoreRow, Values

if TYPE_CHECKING:
    from shesha_bench.model_descriptions import Model
    from shesha_bench.suite_tasks import Task

Grounding = Literal["prediction", "design"]


class Output(NamedTuple):
    """Class probabilities that a model predicts, and the true labels."""

    probabilities: ArrayLike
    """Predicted probabilities, of shape (n_rows, n_classes); each row sums to one."""
    labels: ArrayLike | None
    """True class of each row, or None if unknown."""


Difference = Callable[[Output, Output], float]
"""A symmetric function of two models' outputs that measures how much they differ."""


@dataclass(frozen=True)
class Cast:
    """The models of a test by group, where each model is given by the names of its representations.

    If the test compares layers, these are all layers of the model, from input to output. Otherwise, each model has a
    single representation, its last hidden layer.
    """

    groups: Mapping[str, tuple[tuple[str, ...], ...]]

    @property
    def models(self) -> tuple[tuple[str, ...], ...]:
        """Names of each model's representations, in order."""
        return tuple(model for group in self.groups.values() for model in group)

    @property
    def last(self) -> dict[str, tuple[str, ...]]:
        """Name of each model's last representation, by group."""
        return {group: tuple(model[-1] for model in models if model) for group, models in self.groups.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each model's last representation, in order."""
        return tuple(name for group in self.last.values() for name in group)


@dataclass(frozen=True, kw_only=True)
class BenchmarkTest(ABC):
    """A test of the benchmark.

    To define your own test, create an object of one of this package's classes (`ByPrediction`, `ByGroups`, `ByLayers`),
    or write a subclass with the methods `models`, `pairs` and `score`. `register` adds the test to the known ones.
    """

    name: str
    title: str
    claim: str
    """How a good measure is expected to behave."""
    grounding: Grounding
    """Whether the test relies on what models predict or on how they were trained."""
    rows: tuple[str, ...]
    """Names under which tables list the test's results."""
    qualities: tuple[str, ...]
    """Names of the scores that each result has."""
    counts: Mapping[str, str] = field(hash=False)
    """The results that determine ranks, each with the name of the score that is used."""
    differences: Mapping[str, Difference] = field(default_factory=dict, hash=False)
    """Functions that compute the output differences that the test needs, by name."""
    layered: ClassVar[bool] = False
    """Whether the test compares all layers of a model instead of only the last hidden layer."""

    def takes_part(self, task: Task) -> bool:
        """Return whether a task provides the models that the test needs."""
        return True

    @abstractmethod
    def models(self, task: Task) -> Mapping[str, tuple[Model, ...]]:
        """Return the models of a task that the test needs, by group."""

    @abstractmethod
    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return the pairs of representations that a measure has to compare."""

    @abstractmethod
    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Return the scores that a measure obtains.

        Parameters
        ----------
        measure : Measure
        values : mapping of (name, name) to float
            Value of the measure for each pair from `pairs`, NaN if missing.
        cast : Cast
        differences : mapping of name to mapping of (name, name) to float
            The output differences that the test needs, by the names of the two models' last representations; NaN if a
            model failed.
        seed : int, Generator or None
            Seed for the p-values.
        """
