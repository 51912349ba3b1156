"""Comparisons between two distances, for all or sampled triplets or quadruplets of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels.condensed_pairs import condensed_index
from shesha.kernels.distances import Metric, distance_rounding, n_pairs, pair_distances
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, View

Shape = Literal["triplets", "quadruplets"]
_TABLE_ROWS = 4096
"""Largest number of rows for which all distances are stored; with more rows, only the compared distances are computed.
"""


@dataclass(frozen=True)
class Comparisons(View):
    """Signs of d(i, j) - d(k, l) for triplets (k = i) or quadruplets of different rows."""

    tuples: Index
    """Row numbers i, j, k and l of each comparison, of shape (4, n_comparisons)."""
    n_rows: int
    tolerance: float
    """Difference below which two distances count as equal."""
    distances: Vector | None
    rows: Matrix | None
    metric: Metric
    sampled: bool
    order: Index | None = None

    @classmethod
    def build(
        cls,
        source: Representation,
        *,
        shape: Shape = "triplets",
        metric: Metric = "euclidean",
        n_samples: int = 200_000,
        seed: Seed = None,
    ) -> Comparisons:
        """Draw triplets or quadruplets that depend only on the seed and the number of rows."""
        n, count = source.n_rows, check.count(n_samples, "n_samples")
        tuples, sampled = draw_tuples(n, shape, count, seed)
        distances: Vector | None = None
        kept: Matrix | None = None
        if source.has_distances_only or n <= _TABLE_ROWS:
            distances, tolerance = source.condensed_distances(metric, squared=not source.has_distances_only)
        else:
            kept = source.standard(metric)
            tolerance = distance_rounding(kept, metric)
        comparisons = cls(tuples, n, tolerance, distances, kept, metric, sampled)
        if not comparisons.signs.any():
            raise NotEstimable("all distances between rows are equal, so comparisons of distances are undefined")
        return comparisons

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the distances or rows, and for the tuples."""
        kept = 8 * n_pairs(n) if n <= _TABLE_ROWS else 8 * n * d
        return kept + 33 * options["n_samples"], 24 * n * d + 48 * options["n_samples"] + 8 * n_pairs(
            min(n, _TABLE_ROWS)
        )

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """1 if the first distance is larger, -1 if the second is larger, and 0 for ties."""
        i, j, k, m = self.tuples if self.order is None else self.order[self.tuples]
        difference = self._distances(i, j) - self._distances(k, m)
        return ((difference > self.tolerance).astype(np.int8) - (difference < -self.tolerance)).astype(np.int8)

    def _distances(self, first: Index, second: Index) -> Vector:
        if self.distances is not None:
            return np.asarray(self.distances[condensed_index(first, second, self.n_rows)])
        assert self.rows is not None
        return pair_distances(self.rows, first, second, self.metric, squared=True)

    def permute(self, order: Index) -> Comparisons:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return replace(self, order=order if self.order is None else self.order[order])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the signs, which can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "signs"}


def draw_tuples(n: int, shape: Shape, n_samples: int, seed: Seed) -> tuple[Index, bool]:
    """Return rows i, j, k, l (one line each), and whether they are only a sample of all comparisons."""
    size = 3 if shape == "triplets" else 4
    if n < size:
        raise NotEstimable(f"{shape} need at least {size} rows, got {n}")
    if 3 * comb(n, size) <= n_samples:
        sets = np.array(list(combinations(range(n), size)), dtype=np.intp).T
        if size == 3:
            a, b, c = sets
            return _stack([(a, b, a, c), (b, a, b, c), (c, a, c, b)]), False
        a, b, c, d = sets
        return _stack([(a, b, c, d), (a, c, b, d), (a, d, b, c)]), False
    rng = generator(seed)
    chosen = np.empty((size, n_samples), dtype=np.intp)
    for place in range(size):
        # Draw a position among the remaining rows, and skip the rows that were already taken.
        draw = rng.integers(n - place, size=n_samples)
        for taken in np.sort(chosen[:place], axis=0):
            draw += draw >= taken
        chosen[place] = draw
    if size == 3:
        i, j, k = chosen
        return np.stack([i, j, i, k]), True
    return chosen, True


def _stack(ways: list[tuple[Index, ...]]) -> Index:
    return np.concatenate([np.stack(way) for way in ways], axis=1)
