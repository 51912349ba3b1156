"""Results of steering and probing, each number with its null distribution for shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Part, Text, texts
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number, frame_of_numbers, table_of_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class SteeringScore(Number):
    """One number with its interval, compared with its values for shuffled labels."""

    closer: str = "higher"
    """Whether 'higher' or 'lower' values indicate a relation with the labels."""


@dataclass(frozen=True)
class Steerability(Result):
    """How a probe responds when rows other than those it was trained on move along a steering vector."""

    source: str
    target: str
    accuracy: SteeringScore
    """Accuracy of the probe without steering."""
    max_drop: SteeringScore
    """Accuracy without steering minus the lowest accuracy at any strength."""
    to_target: SteeringScore
    """Among the rows not predicted as the target, the share that flips to it at the largest strength."""
    to_source: SteeringScore
    """Among the rows not predicted as the source, the share that flips to it at the most negative strength."""
    anti_steerable: SteeringScore
    """Share of rows that come closer to the source class than to the target class when they are steered to the target,
    as measured by nearest neighbours."""
    random_drop: float
    """Largest drop in accuracy along a random direction, averaged over such directions."""
    random_anti_steerable: float
    strength: float
    """Strength at which half of the rows not predicted as the target flip to it, in the units that `units` names."""
    largest_drop: float
    """Drop in accuracy at unlimited strength, at which all rows are predicted as one class."""
    alphas: tuple[float, ...]
    accuracies: tuple[float, ...]
    """Mean accuracy at each strength."""
    random_accuracies: tuple[float, ...]
    shuffled_accuracies: tuple[float, ...]
    effects: tuple[float, ...]
    """How far each row approaches the target class per unit of strength, in [-2, 2]; rows below 0 are anti-steerable.
    """
    units: str
    norm: float
    """Mean length of the rows, which is the unit of strength if `units` is 'norm'."""
    method: str
    exchanged: str
    n_rows: int
    n_splits: int
    n_directions: int
    n_draws: int
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def scores(self) -> tuple[SteeringScore, ...]:
        """Every number that has a chance level."""
        return (self.accuracy, self.max_drop, self.to_target, self.to_source, self.anti_steerable)

    @property
    def headline(self) -> str:
        """How far steering lowers the accuracy of the probe, and whether this drop is above chance."""
        drop = self.max_drop
        if drop.value != drop.value:
            return f"Steering from {self.source} to {self.target} could not be scored: {drop.reason}."
        verdict = f", {drop.verdict} (chance level {drop.chance:.2f}, p = {drop.p_value:.2g})" if drop.has_null else ""
        return (
            f"Steering from {self.source} to {self.target} lowers the accuracy of a probe by at most "
            f"{drop.value:.2f}{verdict}. Random directions lower it by {self.random_drop:.2f}."
        )

    @property
    def random_ratio(self) -> float:
        """Drop in accuracy along the vector, relative to random directions; NaN if those have no effect."""
        return self.max_drop.value / self.random_drop if self.random_drop > 0 else NAN

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per number."""
        return frame_of_numbers(self.scores, full=full)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the accuracy at each strength for the vector, for random directions and for shuffled labels."""
        from shesha.charts import curves

        drawn = {
            f"{self.source} to {self.target}": self.accuracies,
            "random directions": self.random_accuracies,
            "shuffled labels": self.shuffled_accuracies,
        }
        return curves(
            self.alphas,
            {name: curve for name, curve in drawn.items() if curve},
            labels=(f"strength ({_UNITS[self.units]})", "accuracy of the probe"),
            ax=ax,
        )

    def _numbers(self) -> tuple[Part, ...]:
        """Return the numbers, each with its chance level, and how they were obtained."""
        span = f"{self.alphas[0]:g} to {self.alphas[-1]:g} {_UNITS[self.units]}"
        ratio = (
            f" (that of the steering vector is {self.random_ratio:.1f} times as large)" if self.random_drop > 0 else ""
        )
        return (
            *table_of_numbers(self.scores, "Scores", "score"),
            *texts(
                [
                    f"Random directions: max drop {self.random_drop:.3f}{ratio}, anti-steerable "
                    f"{self.random_anti_steerable:.3f}.",
                    f"Half of the rows flip to {self.target} at {self.strength:.3g} {_UNITS[self.units]}.",
                    f"Steering by {self.method}, {self.n_rows:,} rows, {self.n_splits} splits into halves, strengths "
                    f"{span}. Chance level: {self.exchanged} shuffled {self.n_draws} times.",
                ]
            ),
        )


_UNITS = {"raw": "units of the features", "norm": "mean lengths of a row"}


@dataclass(frozen=True)
class SteeringPredictors(Result):
    """Geometric scores of some rows, which may predict how well other rows can be steered."""

    scores: tuple[SteeringScore, ...]
    n_rows: int
    exchanged: str
    n_draws: int
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def __iter__(self) -> Iterator[SteeringScore]:
        """Iterate over the predictors."""
        return iter(self.scores)

    def __getitem__(self, name: str) -> float:
        """Return the value of the predictor with this name."""
        known = {score.name: score.value for score in self.scores}
        if name not in known:
            raise KeyError(f"name must be one of {', '.join(known)}, got {name}")
        return known[name]

    @property
    def headline(self) -> str:
        """Which predictors are beyond chance."""
        tested = [score for score in self.scores if score.has_null]
        names = [score.name for score in tested if score.significant]
        level = f" at {tested[0].alpha:g}" if tested else ""
        named = f": {', '.join(names)}" if names else ""
        return f"{len(names)} of {len(tested)} predictors are beyond chance{level} (uncorrected){named}."

    def values(self) -> dict[str, float]:
        """Return every value by name, for one line in a table of models."""
        return {score.name: score.value for score in self.scores}

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor."""
        return frame_of_numbers(self.scores, full=full)

    def _numbers(self) -> tuple[Part, ...]:
        """Return every predictor with its chance level."""
        drawn = f"{self.n_rows:,} rows. Chance level: {self.exchanged} shuffled {self.n_draws} times."
        return (*table_of_numbers(self.scores, "Predictors", "predictor"), Text(drawn))
