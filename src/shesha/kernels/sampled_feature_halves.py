"""Distances in both halves of the features for random pairs of rows, in memory or on disk, and their null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.kernels.feature_halves import haar_columns
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.sorting import order_values, positions_of_repeats
from shesha.kernels.threads import parallel
from shesha.support import memory as memory
from shesha.support.types import Index, Matrix, Vector


def spearman_influence(a: Vector, b: Vector, tolerance: tuple[float, float]) -> tuple[float, Vector]:
    """Rank correlation, and the influence of each entry on it; the vectors are overwritten.

    Let u and v be the ranks scaled to (0, 1). The influence is 12 [(u - 1/2)(v - 1/2) + A(u) + B(v)] - 3 rho, where
    A(u) is the sum of (v' - 1/2) over entries with u' >= u, divided by n, and B(v) is the same with u and v swapped.
    Ties are broken arbitrarily, because they are rare among distances between distinct rows.
    """
    n = len(a)
    first = order_values(a, tolerance[0], np.empty(n, dtype=np.uint64))
    if first.variance == 0:
        return float("nan"), a
    np.take(b, first.order, out=a, mode="clip")
    second = order_values(a, tolerance[1], b.view(np.uint64))
    if second.variance == 0:
        return float("nan"), a
    rho = ranks.correlation(first, second)
    u = (np.arange(n) + (0.5 - n / 2)) / n
    v, by_second, total = a, np.take(u, second.order), np.empty(n)
    v[second.order] = u
    _write_means_of_larger(v, out=total)
    v *= u
    total += v
    _write_means_of_larger(by_second, out=by_second)
    v[second.order] = by_second
    total += v
    total *= 12
    total -= 3 * rho
    v[first.order] = total
    return rho, v


def _write_means_of_larger(values: Vector, out: Vector) -> None:
    np.cumsum(values[::-1], out=out[::-1])
    out /= len(values)


def standard_errors(
    influence: Vector, i: Index, j: Index, drawn: Index | None = None, share: float = 0.0
) -> tuple[float, float]:
    """Standard errors of the mean, for the sampling of pairs and for the sampling of both pairs and rows.

    The first treats the pairs as independent draws from all pairs of these rows. If a pair may have been scored several
    times, `drawn` gives the drawn pair behind each score; if pairs were drawn without replacement, `share` is the
    fraction of all pairs that was drawn. The second adds the products of pairs that share a row (dyadic-robust: Aronow,
    Samii and Assenova 2015). If `i` and `j` are group codes from 0 instead of row numbers, it accounts for the sampling
    of groups.
    """
    own_part = (1 - share) * _sum_of_squares(influence, drawn)
    size = int(max(i.max(initial=0), j.max(initial=0))) + 1
    if size > 2 * len(i):
        # Renumber the rows, because rows without pairs would only take memory.
        codes = np.unique(np.concatenate([i, j]), return_inverse=True)[1]
        i, j, size = codes[: len(i)], codes[len(i) :], 2 * len(i)
    n_influences = len(influence)
    per_row = np.bincount(i, weights=influence, minlength=size)
    cross_pairs = i != j
    if not cross_pairs.all():
        # A pair within one group must be counted only once for this group.
        influence, i, j = influence[cross_pairs], i[cross_pairs], j[cross_pairs]
    per_row += np.bincount(j, weights=influence, minlength=size)
    numbers = np.minimum(i, j).astype(np.int64, copy=False)
    numbers *= size
    numbers += np.maximum(i, j)
    # The product of two pairs that share both rows was counted twice, once for each row.
    shared = float((per_row**2).sum()) - _sum_of_squares(influence, numbers)
    return np.sqrt(own_part) / n_influences, np.sqrt(max(shared, own_part)) / n_influences


def _sum_of_squares(values: Vector, numbers: Index | None) -> float:
    """Sum the values that share a number, square and total the sums; without numbers, square each value."""
    total = float((values**2).sum())
    places = np.empty(0, dtype=np.intp) if numbers is None else positions_of_repeats(numbers)
    if len(places):
        assert numbers is not None
        several = values[places]
        sums = np.bincount(np.unique(numbers[places], return_inverse=True)[1], weights=several)
        total += float((sums**2).sum()) - float((several**2).sum())
    return total


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
class PairedHalves:
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


def closeness(rows: Rows, n_features: int, i: Index, j: Index, metric: Metric, draws: Masks | Planes) -> PairedHalves:
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
    return PairedHalves(first, second)


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


Cube = NDArray[np.float64]

_BLOCK, _WIDE_BLOCK = 16, 64
"""Number of rows per block, for narrow rows and for wide rows."""


def row_matching_correlations(
    rows: Matrix,
    n_pairs: int,
    metric: Metric,
    draw: Masks | Planes,
    partners: Sequence[Index],
    rng: np.random.Generator,
) -> Vector:
    """Rank correlation between distances in the first half and those of the rows' partners in the second.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Finite features.
    n_pairs : int
        Smallest number of pairs of rows; all matchings use the same pairs.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance to compute within each half.
    draw : Masks or Planes
        The draw of a single partition of the features.
    partners : sequence of arrays of shape (n_rows,)
        For each matching, the partner of each row: the row whose second half is matched with its first half.

    Returns
    -------
    array of shape (n_partners,)
        Correlations; NaN if fewer than two pairs are defined or if all distances in a half are equal.
    """
    size = _BLOCK if rows.shape[1] <= WIDE_FEATURES else _WIDE_BLOCK
    i, j = np.triu_indices(size, k=1)
    ids = rng.integers(len(rows), size=(-(-n_pairs // len(i)), size))
    first_half = rows @ draw.bases[0] if isinstance(draw, Planes) else rows[:, draw.first[:, 0] > 0]
    of_first = _closeness(first_half, metric)
    of_second = _closeness(draw.second_half(rows, 0, "cosine"), metric)
    different = (ids[:, i] != ids[:, j]).ravel()

    def closeness(of_half: Callable[[Index], Cube], blocks: Index) -> Vector:
        step = max(1, _ENTRIES // (size * rows.shape[1]))
        parts = [of_half(blocks[start : start + step])[:, i, j] for start in range(0, len(blocks), step)]
        return np.concatenate(parts).ravel()

    first = closeness(of_first, ids)

    def correlation(order: Index) -> float:
        second = closeness(of_second, order[ids])
        kept = different & np.isfinite(first) & np.isfinite(second)
        a, b = first[kept], second[kept]
        return ranks.spearman(a, b, (_level(a, metric), _level(b, metric))) if len(a) > 1 else float("nan")

    return np.array([correlation(order) for order in partners])


def _closeness(half: Matrix, metric: Metric) -> Callable[[Index], Cube]:
    """Return a function that computes the closeness of all pairs in each block; larger means closer."""
    if metric == "euclidean":
        half = half - half.mean(axis=0)
        lengths = np.einsum("ij,ij->i", half, half)

        def distances(blocks: Index) -> Cube:
            block_lengths = lengths[blocks]
            return np.asarray(2 * _products(half[blocks]) - block_lengths[:, :, None] - block_lengths[:, None, :])

        return distances
    total = np.einsum("ij,ij->i", half, half)
    if metric == "correlation":
        half = half - half.mean(axis=1, keepdims=True)
    squared = np.einsum("ij,ij->i", half, half)
    # What remains of a constant row after centring is a rounding error.
    defined = squared > (np.finfo(float).eps ** 2 * total if metric == "correlation" else 0.0)
    half = half * np.where(defined, 1.0 / np.sqrt(np.where(defined, squared, 1.0)), np.nan)[:, None]
    return lambda blocks: _products(half[blocks])


def _products(blocks: Cube) -> Cube:
    return np.asarray(blocks @ blocks.transpose(0, 2, 1))
