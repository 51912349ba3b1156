"""Null distributions of measures of distances from a sample of row pairs, for more rows than all pairs allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from shesha.calibration.permutation_scores import Subject, map_orders, null_bytes
from shesha.kernels.distances import Metric, pair_distances
from shesha.kernels.pairs import draw_tuples
from shesha.kernels.rounding_and_scaling import ROUNDING, length_unit
from shesha.measures import Measure
from shesha.measures.expected_cost import MINUTE, exact_seconds
from shesha.measures.sampled_estimates import PairSample, SampledPairs
from shesha.support.memory import memory_budget, readable
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import duration
from shesha.views import Representation

_DISTANCES = 200_000
"""Number of sampled distances. With 200 permutations, they take about 10 s per 100 features."""
_SAMPLING = 21
_COPIES = 12
"""Memory of a draw, in arrays as long as the sample."""


@dataclass(frozen=True)
class SampledNull:
    """The scores of a measure under permutations, all from the same random tuples of rows.

    The tuples do not depend on the data. Permutations of the rows of Y are therefore as probable as the observed
    matching if X and Y are unrelated, and the p-value is exact for the sampled score.
    """

    measure: Measure
    plan: SampledPairs
    rows: tuple[Matrix, Matrix]
    units: tuple[float, float]
    metric: Metric
    tuples: Index
    share: float
    """Share of all pairs that are in the sample; 0 if pairs may repeat."""

    @classmethod
    def draw(cls, measure: Measure, sides: Sequence[Representation], seed: Seed) -> SampledNull:
        """Draw the tuples of rows."""
        plan = measure.sample
        assert isinstance(plan, SampledPairs)
        metric: Metric = plan.metric or measure.parameters["metric"]
        first, second = (side.to_numpy for side in sides)
        units = [length_unit(side.rows) if metric == "euclidean" else 1.0 for side in (first, second)]
        n = first.n_rows
        size = min(_DISTANCES // comb(plan.size, 2), comb(n, plan.size))
        tuples, share = draw_tuples(n, size, plan.size, spawn(seed, _SAMPLING))
        rows = first.standard(metric), second.standard(metric)
        return cls(measure, plan, rows, (units[0], units[1]), metric, tuples, share)

    def scores(self, orders: list[Index]) -> Iterator[Matrix]:
        """Yield the score of the observed matching, which comes first, and of every permutation."""
        first = self._distances(0, self.tuples)
        self._estimate(first, orders[0])

        def score(order: Index) -> Matrix:
            try:
                return np.array([[self._estimate(first, order)[0]]])
            except NotEstimable:
                return np.array([[np.nan]])

        return map_orders(score, orders, max(1, memory_budget() // (_COPIES * 8 * self.tuples.size)))

    def error(self) -> float:
        """Return the standard error of the observed score, as an estimate of the exact one."""
        same = np.arange(len(self.rows[0]))
        _, influence = self._estimate(self._distances(0, self.tuples), same)
        return sqrt((1 - self.share) * float(influence @ influence)) / len(influence)

    def _estimate(self, first: Matrix, order: Index) -> tuple[float, Vector]:
        second = self._distances(1, order[self.tuples])
        tolerances = [
            ROUNDING * (float(np.median(side)) if self.metric == "euclidean" else 1.0) for side in (first, second)
        ]
        sample = PairSample(first, second, len(self.rows[0]), (tolerances[0], tolerances[1]))
        return self.plan.estimate(sample, self.measure.parameters)

    def _distances(self, side: int, tuples: Index) -> Matrix:
        """Return the distances between the rows of each tuple, one column per pair of its members."""
        columns = [
            self.units[side] * pair_distances(self.rows[side], tuples[:, i], tuples[:, j], self.metric)
            for i, j in combinations(range(tuples.shape[1]), 2)
        ]
        return np.stack(columns, axis=1)


def reason_to_sample(subject: Subject, n_draws: int) -> str:
    """Return what the exact null distribution would need, if that is too much and a sample can answer; else nothing."""
    if not can_sample(subject):
        return ""
    assert subject.measure is not None
    need = null_bytes(subject.measure, subject.sides)
    if need > memory_budget():
        return f"exact=True needs {readable(need)} of memory"
    widths = subject.sides[0].shape[1], subject.sides[1].shape[1]
    seconds = exact_seconds(subject.measure, subject.n_rows, widths, n_draws=n_draws)
    return f"exact=True takes about {duration(seconds)}" if seconds > MINUTE else ""


def can_sample(subject: Subject) -> bool:
    """Return whether the measure can be estimated from row pairs, and both sides are matrices of features."""
    measure = subject.measure
    if measure is None or not isinstance(measure.sample, SampledPairs) or subject.covariates is not None:
        return False
    return not measure.sample.lacks(measure.parameters) and all(
        not side.has_distances_only and len(side.shape) == 2 for side in subject.sides
    )


def describe(null: SampledNull, n_rows: int, alpha: float, why: str) -> dict[str, Any]:
    """Return the standard error of a sampled score, and the note that states it."""
    error = null.error()
    what = "pairs" if null.plan.size == 2 else "triples"
    note = (
        f"estimated from {len(null.tuples):,} of {comb(n_rows, null.plan.size):,} {what} of rows, "
        f"+-{norm.ppf(1 - alpha / 2) * error:.1g}{'; ' * bool(why)}{why}"
    )
    return {"sampling_error": error, "notes": (note,)}
