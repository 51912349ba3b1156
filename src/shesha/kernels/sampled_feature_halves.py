"""Distances in both halves of the features, for random pairs of rows in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.distances import Metric
from shesha.kernels.feature_split_frames import haar_columns
from shesha.kernels.pair_influence import spearman_influence
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.threads import parallel
from shesha.support import memory as memory
from shesha.support.types import Index, Matrix, Vector

Rows = Callable[[Index], Matrix]
"""Function that reads the rows with given numbers as finite float64."""

WIDE_FEATURES = 1024
"""Largest number of features of narrow data; the rows of wider data are processed in fewer and larger units."""
_ENTRIES = 1 << 18
"""Number of values gathered in one step, limited by the cache size. It is fixed so that sums do not depend on the
available memory.
"""
_DIRECT = 1 / 16
_OFTEN = 0.5
"""If the distinct rows are at most this share of the drawn rows, their quantities are computed once per distinct row.
"""
_HELD = 1 << 24
"""Largest number of values held in memory for rows that are drawn repeatedly."""


@dataclass(frozen=True)
class SampledPairs:
    """Closeness of each sampled pair in the two halves of each draw (larger is closer; NaN if undefined)."""

    first: Matrix
    second: Matrix


@dataclass(frozen=True)
class Masks:
    """Draws of half of the features, as one column of zeros and ones per draw."""

    first: Matrix

    @staticmethod
    def build(permutations: Sequence[Index]) -> Masks:
        """Mark the first half of each permutation of the features."""
        first = np.zeros((len(permutations[0]), len(permutations)))
        for draw, order in enumerate(permutations):
            first[order[: len(order) // 2], draw] = 1.0
        return Masks(first)

    def __len__(self) -> int:
        """Number of draws."""
        return int(self.first.shape[1])

    @property
    def n_first(self) -> int:
        """Number of features in the first half."""
        return len(self.first) // 2

    def project(self, x: Matrix) -> tuple[Matrix, ...]:
        """Return the features that `inner` needs: the first half for a single draw, all features for several."""
        return (np.take(x, np.flatnonzero(self.first[:, 0]), axis=1) if len(self) == 1 else x,)

    def inner(self, x: tuple[Matrix, ...], y: tuple[Matrix, ...]) -> Matrix:
        """For each draw, the inner products of paired rows over the first half of the features."""
        if len(self) == 1:
            return np.asarray(np.einsum("ij,ij->i", x[0], y[0])[:, None])
        return np.asarray((x[0] * y[0]) @ self.first)

    def second_half(self, x: Matrix, draw: int, metric: Metric) -> Matrix:
        """Restrict rows to the second half of the features in one draw."""
        half = x[:, self.first[:, draw] == 0]
        return half - half.mean(axis=1, keepdims=True) if metric == "correlation" else half


@dataclass(frozen=True)
class Planes:
    """Draws of a random half of all directions, each as an orthonormal basis."""

    bases: tuple[Matrix, ...]

    def __len__(self) -> int:
        """Number of draws."""
        return len(self.bases)

    @staticmethod
    def build(n_features: int, generators: Sequence[np.random.Generator]) -> Planes:
        """For each draw, rotate the axes at random and keep the span of the first half of them."""
        half = n_features // 2
        memory.require(
            8 * n_features * half * len(generators),
            f"{len(generators)} rotations of {n_features:,} features",
            "draw fewer",
        )
        return Planes(tuple(haar_columns(n_features, half, rng) for rng in generators))

    def second_half(self, x: Matrix, draw: int, metric: Metric) -> Matrix:
        """Remove from rows their component in the plane of one draw."""
        basis = self.bases[draw]
        return x - (x @ basis) @ basis.T

    def project(self, x: Matrix) -> tuple[Matrix, ...]:
        """Coordinates of rows in the plane of each draw."""
        return tuple(x @ basis for basis in self.bases)

    def inner(self, x: tuple[Matrix, ...], y: tuple[Matrix, ...]) -> Matrix:
        """For each draw, the inner products of paired rows within its plane."""
        return np.stack([np.einsum("ij,ij->i", a, b) for a, b in zip(x, y, strict=True)], axis=1)


def closeness(rows: Rows, n_features: int, i: Index, j: Index, metric: Metric, draws: Masks | Planes) -> SampledPairs:
    """Compute the closeness in both halves for all pairs and draws, one block of pairs at a time."""
    memory.require(16 * len(draws) * len(i), f"{len(i):,} pairs in {len(draws)} draws", "pass fewer pairs")
    first, second = (np.empty((len(draws), len(i))) for _ in range(2))
    step = max(1, _ENTRIES // n_features)
    often = _often_drawn(rows, n_features, i, j, metric, draws)

    def fill(start: int) -> None:
        stretch = slice(start, start + step)
        if metric == "euclidean":
            a, b = _distances(rows(i[stretch]), rows(j[stretch]), draws)
        elif often is not None:
            side, of_i, of_j = often
            a, b = _cosines(side.take(of_i[stretch]), side.take(of_j[stretch]), metric, draws)
        else:
            x, y = (_Side.build(rows(ids[stretch]), metric, draws) for ids in (i, j))
            a, b = _cosines(x, y, metric, draws)
        first[:, stretch], second[:, stretch] = a.T, b.T

    for _ in parallel(fill, range(0, len(i), step)):
        pass
    return SampledPairs(first, second)


def _distances(x: Matrix, y: Matrix, draws: Masks | Planes) -> tuple[Matrix, Matrix]:
    x -= y
    projected = draws.project(x)
    first = draws.inner(projected, projected)
    second = np.einsum("ij,ij->i", x, x)[:, None] - first
    return -first, -np.maximum(second, 0.0)


@dataclass(frozen=True)
class _Directions:
    """Quantities that convert inner products to cosines, for each row and draw."""

    inverse_first: Matrix
    inverse_second: Matrix
    """Inverse length of each row in the second half; both inverse lengths are NaN for rows without a direction."""
    sums: Matrix | None
    """Sum of each row over the first half of the features, for centring; the sum over both halves is zero."""
    few: NDArray[np.bool_]
    """Marks rows that are nearly zero in the second half, for which that half is computed directly."""

    def take(self, rows: Index) -> _Directions:
        """Return the quantities of the given rows."""
        sums = None if self.sums is None else self.sums[rows]
        return _Directions(self.inverse_first[rows], self.inverse_second[rows], sums, self.few[rows])


@dataclass(frozen=True)
class _Side:
    """Rows with everything that is needed to compute their cosines with any partner."""

    rows: Matrix
    projected: tuple[Matrix, ...]
    directions: _Directions

    @classmethod
    def build(cls, x: Matrix, metric: Metric, draws: Masks | Planes) -> _Side:
        """Compute the quantities that do not depend on the row's partner."""
        if metric == "correlation":
            x -= x.mean(axis=1, keepdims=True)
        projected = draws.project(x)
        return cls(x, projected, _half_directions(x, projected, metric, draws))

    def take(self, rows: Index) -> _Side:
        """Return the rows and quantities at the given positions, in any order."""
        return _Side(self.rows[rows], tuple(matrix[rows] for matrix in self.projected), self.directions.take(rows))


def _often_drawn(
    rows: Rows, n_features: int, i: Index, j: Index, metric: Metric, draws: Masks | Planes
) -> tuple[_Side, Index, Index] | None:
    """Rows that occur in several pairs, with the pairs' positions; None if few rows occur repeatedly."""
    if metric == "euclidean" or len(draws) > 1:
        return None
    both = np.concatenate([i, j])
    n_unique = 1 + np.count_nonzero(np.diff(np.sort(both)))
    if n_unique > _OFTEN * len(both) or n_unique * n_features > _HELD:
        return None
    unique, places = np.unique(both, return_inverse=True)
    return _Side.build(rows(unique), metric, draws), places[: len(i)], places[len(i) :]


def _half_directions(x: Matrix, projected: tuple[Matrix, ...], metric: Metric, draws: Masks | Planes) -> _Directions:
    total = np.einsum("ij,ij->i", x, x)[:, None]
    first = draws.inner(projected, projected)
    second = total - first
    sums = None
    if metric == "correlation" and isinstance(draws, Masks):
        sums = x @ draws.first
        first -= sums**2 / draws.n_first
        second -= sums**2 / (x.shape[1] - draws.n_first)
    few = second < _DIRECT * total
    for draw in map(int, np.flatnonzero(few.any(axis=0))):
        short = np.flatnonzero(few[:, draw])
        rest = draws.second_half(x[short], draw, metric)
        second[short, draw] = np.einsum("ij,ij->i", rest, rest)
    return _Directions(_inverse_length(first, total, metric), _inverse_length(second, total, metric), sums, few)


def _inverse_length(squared: Matrix, total: Matrix, metric: Metric) -> Matrix:
    # Whatever remains of a constant row after centring is a rounding error.
    defined = squared > (np.finfo(float).eps ** 2 * total if metric == "correlation" else 0.0)
    return np.where(defined, 1.0 / np.sqrt(np.where(defined, squared, 1.0)), np.nan)


def _cosines(a: _Side, b: _Side, metric: Metric, draws: Masks | Planes) -> tuple[Matrix, Matrix]:
    x, y, of_x, of_y = a.rows, b.rows, a.directions, b.directions
    first = draws.inner(a.projected, b.projected)
    second = np.einsum("ij,ij->i", x, y)[:, None] - first
    if of_x.sums is not None and of_y.sums is not None and isinstance(draws, Masks):
        product = of_x.sums * of_y.sums
        first -= product / draws.n_first
        second -= product / (x.shape[1] - draws.n_first)
    few = of_x.few | of_y.few
    for draw in map(int, np.flatnonzero(few.any(axis=0))):
        pairs = np.flatnonzero(few[:, draw])
        halves = (draws.second_half(side[pairs], draw, metric) for side in (x, y))
        second[pairs, draw] = np.einsum("ij,ij->i", *halves)
    first *= of_x.inverse_first
    first *= of_y.inverse_first
    second *= of_x.inverse_second
    second *= of_y.inverse_second
    return first, second


@dataclass(frozen=True)
class SampledScore:
    """Rank correlation in one draw, and the influence of each pair that is defined in both halves."""

    score: float
    i: Index
    j: Index
    influence: Vector


def score(
    rows: Rows, n_features: int, pairs: tuple[Index, Index], metric: Metric, draw: Masks | Planes
) -> SampledScore:
    """Correlate the two halves of a single draw over the given pairs."""
    i, j = pairs
    halves = closeness(rows, n_features, i, j, metric, draw)
    a, b = halves.first[0], halves.second[0]
    kept = np.isfinite(a) & np.isfinite(b)
    if not kept.all():
        i, j, a, b = i[kept], j[kept], a[kept], b[kept]
    return correlate_pairs(i, j, a, b, (_level(a, metric), _level(b, metric)) if len(a) else (0.0, 0.0))


def correlate_pairs(i: Index, j: Index, a: Vector, b: Vector, levels: tuple[float, float]) -> SampledScore:
    """Correlate two halves' closeness values (overwritten), given their rounding levels."""
    if len(a) < 2:
        return SampledScore(float("nan"), i, j, np.zeros(len(a)))
    rho, influence = spearman_influence(a, b, levels)
    return SampledScore(rho, i, j, influence)


def _level(closeness: Vector, metric: Metric) -> float:
    return ROUNDING if metric != "euclidean" else ROUNDING * -float(np.median(closeness))
