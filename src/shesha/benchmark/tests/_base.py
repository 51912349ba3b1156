"""The base of a test: its models, the pairs it compares, and its scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from numpy.typing import ArrayLike

from shesha.benchmark.pairs_and_scores import Compared, Pair, ScoreRow, Values
from shesha.support.types import Seed

if TYPE_CHECKING:
    from shesha.benchmark.model_descriptions import Model
    from shesha.benchmark.suite_tasks import Task

Grounding = Literal["prediction", "design"]


class Output(NamedTuple):
    """Class probabilities of a model, and the true labels."""

    probabilities: ArrayLike
    """Class probabilities, of shape (n_rows, n_classes); each row sums to one."""
    labels: ArrayLike | None
    """The true class of each row, if known."""


Difference = Callable[[Output, Output], float]
"""A symmetric function of the outputs of two models that measures their difference."""


@dataclass(frozen=True)
class Cast:
    """The models of a test by group, each as the names of its representations.

    If the test compares layers, the representations are the layers of the model from input to output. Otherwise, a
    model has one representation, the last hidden layer.
    """

    groups: Mapping[str, tuple[tuple[str, ...], ...]]

    @property
    def models(self) -> tuple[tuple[str, ...], ...]:
        """The representations of each model, in order."""
        return tuple(model for group in self.groups.values() for model in group)

    @property
    def last(self) -> dict[str, tuple[str, ...]]:
        """The last representation of each model, by group."""
        return {group: tuple(model[-1] for model in models if model) for group, models in self.groups.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The last representation of each model, in order."""
        return tuple(name for group in self.last.values() for name in group)


@dataclass(frozen=True, kw_only=True)
class BenchmarkTest(ABC):
    """A test of the benchmark.

    Your own test is an object of a class in this package (`ByPrediction`, `ByGroups`, `ByLayers`), or of your own
    subclass with the methods `models`, `pairs` and `score`. `register` adds it to the known tests.
    """

    name: str
    title: str
    claim: str
    """The expected behaviour of a good measure."""
    grounding: Grounding
    """Whether models are distinguished by their predictions or by their training."""
    rows: tuple[str, ...]
    """Names of the test's results in tables."""
    qualities: tuple[str, ...]
    """Names of the scores of each result."""
    counts: Mapping[str, str] = field(hash=False)
    """Results that determine ranks, each with the name of its score."""
    differences: Mapping[str, Difference] = field(default_factory=dict, hash=False)
    """Functions for the differences of outputs that the test needs, by name."""
    layered: ClassVar[bool] = False
    """Whether the test compares all layers of a model, not only the last hidden layer."""

    def takes_part(self, task: Task) -> bool:
        """Return whether a task has the models that the test needs."""
        return True

    @abstractmethod
    def models(self, task: Task) -> Mapping[str, tuple[Model, ...]]:
        """Return the models of a task that the test needs, by group."""

    @abstractmethod
    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return the pairs of representations that a measure compares."""

    @abstractmethod
    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Return the scores of a measure.

        Parameters
        ----------
        measure : Measure
        values : mapping of (name, name) to float
            Values of the measure for `pairs`; NaN if missing.
        cast : Cast
        differences : mapping of name to mapping of (name, name) to float
            Differences that the test needs, by the names of the last representations; NaN if a model failed.
        seed : int, Generator or None
            Seed of the p-values.
        """
