"""What a comparison may add to a number: its chance level, and how far other rows would move it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check
from shesha._random import Seed, spawn
from shesha._warnings import NotEstimable
from shesha.calibration import null_scores
from shesha.calibration.orders import drawn_orders
from shesha.kernels.null_summary import best_value, summarise
from shesha.kernels.threads import parallel
from shesha.measures import Measure
from shesha.results import Score
from shesha.views import Representation, View

Vector = NDArray[np.float64]
Index = NDArray[np.intp]
Sides = tuple[Representation, Representation]

N_HALVES = 100
"""Random halves of the rows behind an interval."""


@dataclass(frozen=True)
class Evidence:
    """Permutations and halves of the rows, the same for all measures and pairs."""

    orders: tuple[Index, ...]
    halves: tuple[Index, ...]
    alpha: float
    confidence: float

    @classmethod
    def drawn(cls, n: int, n_permutations: int, alpha: float, confidence: float, seed: Seed) -> Evidence:
        """Draw both from one seed."""
        check.fraction(confidence, "confidence", closed=False)
        orders, _ = drawn_orders(n, n_permutations, alpha, seed=spawn(seed, _PERMUTING))
        rng = spawn(seed, _HALVING)
        halves = tuple(np.sort(rng.choice(n, (n + 1) // 2, replace=False)) for _ in range(N_HALVES))
        return cls(tuple(orders), halves, alpha, confidence)

    def calibrated(self, measure: Measure, views: tuple[View, View], score: Score) -> Score:
        """Add the null's numbers; measures that do not look at which row is which have none."""
        if not measure.paired:
            return score
        scores = np.array([grid[0, 0] for grid in null_scores(measure, *views, self.orders)])
        found = summarise(
            float(scores[0]), scores[1:], measure.closer, self.alpha, best_value(measure.closer, measure.bounds, None)
        )
        return replace(
            score,
            calibrated=found.score,
            p_value=found.p_value,
            threshold=found.threshold,
            null_mean=found.null_mean,
        )

    def spreads(self, measures: Sequence[Measure], sides: Sides) -> dict[str, Vector]:
        """Scores of each measure on each half of the rows, each half's views made once for all of them."""

        def scores(half: Index) -> list[float]:
            try:
                parts = [side.rows_at(half) for side in sides]
                views = [measures[0].look(part) for part in parts]
            except NotEstimable:
                return [np.nan] * len(measures)
            return [_or_nan(measure, *views) for measure in measures]

        table = np.array(list(parallel(scores, self.halves)))
        return {measure.name: table[:, column] for column, measure in enumerate(measures)}

    def with_interval(self, score: Score, spread: Vector) -> Score:
        """Add the interval: quantiles of the halves' scores, moved to have the value as their mean.

        A half drawn without replacement varies as much around its mean as a sample of all rows does, and pairs
        no row with itself.
        """
        known = spread[np.isfinite(spread)]
        if len(known) < len(spread) / 2:
            return score
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail]) - known.mean() + score.value
        return replace(score, interval_low=float(max(low, score.low)), interval_high=float(min(high, score.high)))


_PERMUTING, _HALVING = 11, 12


def _or_nan(measure: Measure, a: View, b: View) -> float:
    try:
        return measure.compared(a, b)
    except Exception:  # The score of all rows has told what is wrong.
        return float("nan")


def none_for(sides: Iterable[Representation]) -> bool:
    """Whether rows are not inputs, so that exchanging or leaving out rows says nothing about inputs."""
    return any(len(side.shape) > 2 for side in sides)
