"""Measures for the benchmark whose value is the calibrated score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.calibration.permutation_scores import null_scores
from shesha.measures import Measure
from shesha.nulls.null_summary import summarise
from shesha.support.seeds import generator
from shesha.views import View

N_PERMUTATIONS = 99


@dataclass(frozen=True)
class CalibratedMeasure(Measure):
    """A measure whose value is its calibrated score: 0 at chance, 1 for perfect agreement."""

    of: Measure | None = None

    def compare_views(self, a: View, b: View) -> float:
        """Return the calibrated score of two views, using the same permutations for every pair."""
        assert self.of is not None
        orders = list(_orders(int(a.n_rows)))  # type: ignore[attr-defined]
        scores = np.array([grid[0, 0] for grid in null_scores(self.of, a, b, orders)])
        best = self.of.bounds[1] if self.of.closer == "higher" else self.of.bounds[0]
        return summarise(float(scores[0]), scores[1:], self.of.closer, 0.05, float(best)).score

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the measure that is calibrated."""
        return calibrated, (self.of,)


def calibrated(measure: Measure) -> CalibratedMeasure:
    """Return the calibrated variant of a measure, which must have a value for perfect agreement."""
    best = measure.bounds[1] if measure.closer == "higher" else measure.bounds[0]
    if not measure.paired or not np.isfinite(best):
        raise ValueError(
            f"measure must compare rows and have a best possible value to be calibrated, got {measure.name}"
        )
    attrs = {name: getattr(measure, name) for name in ("function", "view", "symmetric", "invariant", "family", "cost")}
    kept = ("formula", "reference", "equal_widths", "needs_features", "view_options", "options")
    attrs |= {name: getattr(measure, name) for name in kept}
    return CalibratedMeasure(name=f"calibrated {measure.name}", closer="higher", bounds=(0.0, 1.0), of=measure, **attrs)


@lru_cache(maxsize=4)
def _orders(n_rows: int) -> tuple[NDArray[np.intp], ...]:
    rng = generator(0)
    return tuple(rng.permutation(n_rows) for _ in range(N_PERMUTATIONS))
