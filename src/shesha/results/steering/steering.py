"""Results of steering and probing, each number with its null distribution for shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import columns, page_width, wrap
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number, frame_of_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class SteeringScore(Number):
    """One number with its interval, compared with its values for shuffled labels."""

    closer: str = "higher"
    """Whether 'higher' or 'lower' values indicate a relation with the labels."""

    def cells(self) -> list[str]:
        """Name, value, interval, chance level and p-value as text."""
        interval = f"{self.low:.3f} to {self.high:.3f}" if self.low == self.low else ""
        chance = [f"{self.chance:.3f}", f"{self.p_value:.2g}"] if self.has_null else ["", ""]
        return [self.name, f"{self.value:.3f}", interval, *chance]

    def _text(self) -> str:
        """Return a text with the number, its interval and its chance level."""
        name, value, interval, chance, p = self.cells()
        interval = f" (95 % {interval})" if interval else ""
        note = f", chance {chance}, p = {p}" if chance else ""
        return f"{name}: {value}{interval}{note}"


def score_table(scores: Sequence[SteeringScore]) -> list[str]:
    """Return the lines of a table of scores."""
    return columns([["", "value", "95 % interval", "chance", "p"], *(score.cells() for score in scores)], "<>>>>")


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
        verdict = (
            f", {_verdict(drop)} (chance level {drop.chance:.2f}, p = {drop.p_value:.2g})" if drop.has_null else ""
        )
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

    def _text(self) -> str:
        """Return a text with the numbers, each with its chance level."""
        span = f"{self.alphas[0]:g} to {self.alphas[-1]:g} {_UNITS[self.units]}"
        ratio = (
            f" (that of the steering vector is {self.random_ratio:.1f} times as large)" if self.random_drop > 0 else ""
        )
        return "\n".join(
            [
                *wrap(self.headline, page_width(), hanging=""),
                "",
                f"Steering from {self.source} to {self.target} ({self.method}), {self.n_rows:,} rows, {self.n_splits} "
                f"splits into halves, strengths {span}",
                *score_table(self.scores),
                f"random directions: max drop {self.random_drop:.3f}{ratio}, "
                f"anti-steerable {self.random_anti_steerable:.3f}",
                f"half of the rows flip to {self.target} at {self.strength:.3g} {_UNITS[self.units]}",
                f"chance level: {self.exchanged} shuffled {self.n_draws} times",
                *(f"note: {note}" for note in self.notes),
            ]
        )


LEVEL = 0.05
"""Significance level that the headlines use."""


def _verdict(score: SteeringScore) -> str:
    return "above chance" if score.p_value <= LEVEL else "not above chance"


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
        names = [score.name for score in tested if score.p_value <= LEVEL]
        named = f": {', '.join(names)}" if names else ""
        return f"{len(names)} of {len(tested)} predictors are beyond chance at {LEVEL:g} (uncorrected){named}."

    def values(self) -> dict[str, float]:
        """Return every value by name, for one line in a table of models."""
        return {score.name: score.value for score in self.scores}

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor."""
        return frame_of_numbers(self.scores, full=full)

    def _text(self) -> str:
        """Return a text with every predictor and its chance level."""
        return "\n".join(
            [
                *wrap(self.headline, page_width(), hanging=""),
                "",
                f"Predictors of steering, {self.n_rows:,} rows; chance level: {self.exchanged} shuffled "
                f"{self.n_draws} times",
                *score_table(self.scores),
                *(f"{score.name}: {score.reason}" for score in self.scores if score.reason),
                *(f"note: {note}" for note in self.notes),
            ]
        )
