"""Layers ranked from best to worst, with the best layer compared with permuted labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shesha.report import Part, texts
from shesha.results.base import Result, draws_axes, reaches_level
from shesha.results.number import Number, frame_of_numbers, numeral, table_of_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
class LayerRanking(Result):
    """Layers ranked from best to worst; the best is compared with the best layer for shuffled labels."""

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

    def __iter__(self) -> Iterator[RankedLayer]:
        """Iterate over the layers."""
        return iter(self.layers)

    def __getitem__(self, name: str) -> RankedLayer:
        """Return the result of the layer with this name."""
        known = {layer.name: layer for layer in self.layers}
        if str(name) not in known:
            raise KeyError(f"name must be one of {', '.join(known)}, got {name}")
        return known[str(name)]

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

        series = Series(*([getattr(layer, field) for layer in self.layers] for field in ("value", "low", "high")))
        names = [layer.name for layer in self.layers]
        ax = intervals(names, {BY[self.by]: series}, label=BY[self.by], ax=ax)
        chance_band(ax, [layer.chance for layer in self.layers], self.null, self.best.threshold)
        return ax

    def _numbers(self) -> tuple[Part, ...]:
        """Return the layers, best first."""
        layers = self.layers_best_first
        gaps = ["tied" if layer.is_tied and layer.rank > 1 else numeral(layer.behind) for layer in layers]
        further = {"behind": gaps, "half flip at": [numeral(layer.strength) for layer in layers]}
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


BY = {"accuracy": "accuracy of a probe", "max_drop": "max drop", "flips": "share of rows that flip"}
"""The scores by which layers can be ranked, with their names in texts."""
