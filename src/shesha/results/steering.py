"""Results of steering and probing, rankings of layers, and correlations of predictors with steering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shesha.report import Columns, Part, texts
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.number import NAN, Number, frame_of_numbers, table_of_numbers
from shesha.support.seeds import CONFIDENCE
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Steerability(Result):
    """How a probe responds when rows other than those it was trained on move along a steering vector."""

    source: str
    target: str
    accuracy: Number
    """Accuracy of the probe without steering."""
    max_drop: Number
    """Accuracy without steering minus the lowest accuracy at any strength."""
    to_target: Number
    """Among the rows not predicted as the target, the share that flips to it at the largest strength."""
    to_source: Number
    """Among the rows not predicted as the source, the share that flips to it at the most negative strength."""
    anti_steerable: Number
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
    def scores(self) -> tuple[Number, ...]:
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

    def _claim(self) -> str:
        return say.listing(
            f"Steering from {self.source} to {self.target}",
            [say.clause(score, confidence=CONFIDENCE) for score in self.scores],
            f"{self.method} direction, {self.n_rows:,} rows, {count(self.n_splits, 'split')} into halves",
            f"random directions lower the accuracy by {say.format_number(self.random_drop)}",
            f"{self.exchanged} shuffled {self.n_draws:,} times",
        )


_UNITS = {"raw": "units of the features", "norm": "mean lengths of a row"}


@dataclass(frozen=True, kw_only=True)
class RankedLayer(Number):
    """One layer of a ranking."""

    rank: int
    chance: float
    """Mean value of this layer for shuffled labels."""
    p_value: float
    """p-value of this layer, which is valid only if the layer was chosen in advance rather than as the best of many."""
    corrected_p_value: float
    """(1 + number of shuffles whose best layer is at least as good) / (number of shuffles + 1)."""
    behind: float
    """How far this layer is behind the best one."""
    behind_low: float
    behind_high: float
    accuracy: float
    max_drop: float
    strength: float
    """Steering strength at which half of the rows flip, relative to the mean length of a row in this layer."""
    norm: float
    n_features: int

    @property
    def is_tied(self) -> bool:
        """Whether the layer may be as good as the best one, because the interval of the difference contains 0."""
        return self.behind_low <= 0


@dataclass(frozen=True)
class LayerRanking(Listed[RankedLayer], Result):
    """Layers ranked from best to worst; the best is compared with the best layer for shuffled labels."""

    ITEMS = "layers"

    by: str
    layers: tuple[RankedLayer, ...]
    """The layers, in the given order."""
    best: Number
    """The largest value of any layer, compared with the largest value for each shuffle of the labels."""
    level: float
    null: tuple[float, ...]
    """The largest value of any layer for each shuffle of the labels."""
    method: str
    exchanged: str
    units: str
    alphas: tuple[float, ...]
    n_rows: int
    n_splits: int
    n_draws: int
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def layers_best_first(self) -> tuple[RankedLayer, ...]:
        """The layers, best first."""
        return tuple(sorted(self.layers, key=lambda layer: layer.rank))

    @property
    def winner(self) -> str:
        """Name of the best layer."""
        return self.layers_best_first[0].name

    @property
    def tied_names(self) -> tuple[str, ...]:
        """The best layer, and those that are not significantly worse."""
        return tuple(layer.name for layer in self.layers_best_first if layer.is_tied)

    @property
    def significant(self) -> bool:
        """Return whether the best layer is better than the best layer for shuffled labels."""
        return reaches_level(self.best.p_value, self.level)

    @property
    def headline(self) -> str:
        """Which layer is best, whether it is above chance, and which others may be as good."""
        best, side = self.layers_best_first[0], "above" if self.significant else "not above"
        ties = [name for name in self.tied_names if name != best.name]
        tied = f" Not significantly worse: {', '.join(ties)}." if ties else ""
        return (
            f"Best layer: {best.name} ({BY[self.by]} {best.value:.3f}), {side} the best of {len(self.layers)} layers "
            f"for shuffled labels (p = {self.best.p_value:.2g}).{tied}"
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per layer, best first."""
        layers = self.layers_best_first
        lead: dict[str, Sequence[Any]] = {
            "rank": [layer.rank for layer in layers],
            "name": [layer.name for layer in layers],
        }
        frame = frame_of_numbers(layers, full=full, lead=lead)
        return frame.assign(behind=[layer.behind for layer in layers], tied=[layer.is_tied for layer in layers])

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw every layer with its interval and chance level, and the threshold for the best layer."""
        from shesha.charts import Series, chance_band, intervals

        names = [layer.name for layer in self.layers]
        ax = intervals(names, {BY[self.by]: Series.of(self.layers)}, label=BY[self.by], ax=ax)
        chance_band(ax, [layer.chance for layer in self.layers], self.null, self.best.threshold)
        return ax

    def _numbers(self) -> tuple[Part, ...]:
        """Return the layers, best first."""
        layers = self.layers_best_first
        gaps = ["tied" if layer.is_tied and layer.rank > 1 else layer.behind for layer in layers]
        further: Columns = {"behind": gaps, "half flip at": [layer.strength for layer in layers]}
        return (
            *table_of_numbers(layers, f"Layers by {BY[self.by]}", "layer", further),
            *texts(
                [
                    f"Best layer for shuffled labels: mean {self.best.chance:.3f}, threshold "
                    f"{self.best.threshold:.3f}. The corrected p compares a layer with the best of all.",
                    f"{BY[self.by].capitalize()} ({self.method}), {self.n_rows:,} rows, {self.n_splits} splits into "
                    f"halves. Chance level: {self.exchanged} shuffled {self.n_draws} times, in the same way for all "
                    "layers.",
                ]
            ),
        )

    def _claim(self) -> str:
        best = self.best
        return say.listing(
            self.headline,
            [say.clause(layer, confidence=CONFIDENCE) for layer in self.layers_best_first],
            f"{self.n_rows:,} rows, {self.exchanged} shuffled {self.n_draws:,} times",
            f"null of the best layer: mean {say.format_number(best.chance)}, sd {say.format_number(best.chance_sd)}",
            others="layers",
        )


BY = {"accuracy": "accuracy of a probe", "max_drop": "max drop", "flips": "share of rows that flip"}
"""The scores by which layers can be ranked, with their names in texts."""
