"""What a comparison may add to a number: its chance level, and how far other rows would move it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check
from shesha._random import Seed, spawn
from shesha._warnings import NotEstimable
from shesha.calibration import shared, side_by_side
from shesha.calibration.null import Outcome
from shesha.calibration.orders import drawn_orders
from shesha.comparison._engine import Group, Sides
from shesha.comparison._intervals import drawn_subsets, interval
from shesha.kernels.null_summary import best_value, summarise
from shesha.measures import Measure
from shesha.results import Score
from shesha.views import View

Vector = NDArray[np.float64]
Index = NDArray[np.intp]
_PERMUTING, _LEAVING_OUT = 11, 12
_FLAT = 1e-6
"""Subsets that differ by less than this share of their distance from the value say nothing about it: no more rows than
features are a perfect fit, whichever rows they are."""


@dataclass(frozen=True)
class Evidence:
    """Permutations and subsets of the rows, the same for all measures and pairs."""

    n_rows: int
    orders: tuple[Index, ...]
    subsets: tuple[Index, ...]
    alpha: float
    confidence: float

    @classmethod
    def drawn(cls, n: int, n_permutations: int, alpha: float, confidence: float, seed: Seed) -> Evidence:
        """Draw both from one seed."""
        check.fraction(confidence, "confidence", closed=False)
        orders, _ = drawn_orders(n, n_permutations, alpha, seed=spawn(seed, _PERMUTING))
        return cls(n, tuple(orders), drawn_subsets(n, spawn(seed, _LEAVING_OUT)), alpha, confidence)

    def passes(self, measures: Sequence[Measure], sides: Sides) -> list[list[Measure]]:
        """Divide the measures of a group into those that go through the draws together."""
        if not measures:
            return []
        a, b = (measures[0].look(side) for side in sides)
        return shared(measures, a, b)

    def draws(self, measures: Sequence[Measure], sides: Sides) -> Iterator[list[Outcome]]:
        """Yield the observed scores of such measures, then those of each permutation of the rows."""
        a, b = (measures[0].look(side) for side in sides)
        yield from side_by_side(measures, a, b, self.orders)

    def with_chance(self, measure: Measure, score: Score, draws: Sequence[Outcome]) -> Score:
        """Add the chance level, the p-value and the calibrated score; a draw that failed is an error."""
        for draw in draws:
            if isinstance(draw, Exception):
                raise draw
        values = [float(draw) for draw in draws if not isinstance(draw, Exception)]
        best = best_value(measure.closer, measure.bounds, None)
        found = summarise(values[0], np.array(values[1:]), measure.closer, self.alpha, best)
        return replace(
            score,
            calibrated=found.score,
            p_value=found.p_value,
            threshold=found.threshold,
            null_mean=found.null_mean,
        )

    def on_subsets(self, group: Group, measures: Sequence[Measure], sides: Sides) -> Iterator[list[float]]:
        """Yield the scores of the measures on each subset of the rows; its views are made once for all of them."""

        def scores(subset: Index) -> list[float]:
            try:
                views = [measures[0].look(side.rows_at(subset)) for side in sides]
            except NotEstimable:
                return [np.nan] * len(measures)
            return [_or_nan(measure, *views) for measure in measures]

        kind, options = measures[0].view_key
        first, second = (kind.of_subsets(side, self.subsets, **dict(options)) for side in sides)
        if first is not None and second is not None:
            yield from ([_or_nan(measure, a, b) for measure in measures] for a, b in zip(first, second, strict=True))
            return
        yield from group.side_by_side(scores, self.subsets, sides)

    def with_interval(self, score: Score, on_subsets: Vector) -> Score:
        """Add the interval, or a note why there is none."""
        known = on_subsets[np.isfinite(on_subsets)]
        if len(known) < len(on_subsets) / 2:
            return noted(
                score, f"no interval: {len(known)} of {len(on_subsets)} random subsets of the rows have a value"
            )
        if known.std() < _FLAT * abs(known.mean() - score.value):
            return noted(score, f"no interval: the value is {known[0]:.4g} on every random subset of the rows")
        shares = len(self.subsets[0]), self.n_rows
        low, high = interval(score.value, known, shares, self.confidence, (score.low, score.high))
        return replace(score, interval_low=low, interval_high=high)


def noted(score: Score, note: str) -> Score:
    """Add a note to those that the score has."""
    return replace(score, note="; ".join(filter(None, (score.note, note))))


def _or_nan(measure: Measure, a: View, b: View) -> float:
    try:
        return measure.compared(a, b)
    except Exception:  # The score of all rows has told what is wrong.
        return float("nan")
