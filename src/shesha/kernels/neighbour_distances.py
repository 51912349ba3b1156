"""Distances to neighbours of given ranks, the dimension that follows from them, and separate clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.distances import PANEL
from shesha.kernels.rounding_and_scaling import CLOSE
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Matrix, Vector

Halves = NDArray[np.bool_]
"""Mask of the rows in the first half, one line per split."""
_SAME_POINT = 2.0**-40
"""Distance, relative to the length of a row, below which two rows count as equal."""


def neighbour_distances(rows: Matrix, ranks: Index, halves: Halves | None = None) -> NDArray[np.float64]:
    """Euclidean distance from each row to its neighbours of given ranks: (1 + splits, rows, ranks).

    In the first table, neighbours are sought among all rows; in each further table, among the rows of the same half. An
    entry is NaN if too few of the nearest rows are in the same half.
    """
    n, splits = len(rows), np.empty((0, len(rows)), dtype=bool) if halves is None else halves
    lengths = np.einsum("ij,ij->i", rows, rows)
    width = min(n - 1, _candidates(int(ranks[-1]), bool(len(splits))))
    out = np.empty((1 + len(splits), n, len(ranks)))

    def fill(start: int) -> None:
        near, neighbours = _nearest(rows, lengths, start, width)
        out[0, start : start + len(near)] = near[:, ranks - 1]
        for table, first in zip(out[1:], splits, strict=True):
            same = first[neighbours] == first[start : start + len(near), None]
            table[start : start + len(near)] = _distances_at_ranks(near, same, ranks)

    for _ in parallel(fill, range(0, n, PANEL)):
        pass
    return np.sqrt(out, out=out)


def _candidates(rank: int, halved: bool) -> int:
    """Number of nearest rows that include `rank` rows of the same half, for all but one row in a billion."""
    return int(2 * rank + 6 * np.sqrt(2 * rank) + 8) if halved else rank


def _nearest(rows: Matrix, lengths: Vector, start: int, width: int) -> tuple[Matrix, Index]:
    """Sorted squared distances from a panel's rows to their nearest rows, and the indices of those rows."""
    panel = rows[start : start + PANEL]
    scale = lengths[start : start + len(panel), None] + lengths
    block = scale - 2.0 * (panel @ rows.T)
    index = np.arange(len(panel))
    block[index, start + index] = np.inf
    nearest = np.argpartition(block, width - 1, axis=1)[:, :width]
    near = np.take_along_axis(block, nearest, axis=1)
    # Distances between close rows are recomputed, because inner products lose precision there.
    i, j = np.nonzero(near <= CLOSE * np.take_along_axis(scale, nearest, axis=1))
    for some in np.array_split(np.arange(len(i)), 1 + i.size * rows.shape[1] // (1 << 22)):
        difference = panel[i[some]] - rows[nearest[i[some], j[some]]]
        near[i[some], j[some]] = np.einsum("ij,ij->i", difference, difference)
    order = np.argsort(near, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(nearest, order, axis=1)


def _distances_at_ranks(near: Matrix, same: NDArray[np.bool_], ranks: Index) -> Matrix:
    """Distances to the neighbours of the given ranks, counted among the rows of the same half only."""
    counts = np.cumsum(same, axis=1)
    place = np.stack([np.argmax(counts == rank, axis=1) for rank in ranks], axis=1)
    return np.where(counts[:, -1:] >= ranks, np.take_along_axis(near, place, axis=1), np.nan)


def distinct_rows(rows: Matrix) -> Index:
    """Return the numbers of the rows that do not repeat an earlier row, up to rounding."""
    nearest = neighbour_distances(rows, np.array([1]))[0, :, 0] ** 2
    same_point = _SAME_POINT**2 * np.einsum("ij,ij->i", rows, rows)
    # The tolerance depends on a row's length, so of two coinciding rows only the longer may be within it; the factor 2
    # makes sure that both are examined.
    repeated = np.flatnonzero(nearest <= 2 * same_point + np.finfo(float).tiny)
    if not len(repeated):
        return np.arange(len(rows))
    some = rows[repeated]
    lengths = np.einsum("ij,ij->i", some, some)
    later = [
        start + i
        for start in range(0, len(some), PANEL)
        for i in _repeats_of_earlier(some, lengths, start, 2 * same_point[repeated])
    ]
    return np.delete(np.arange(len(rows)), repeated[later])


def _repeats_of_earlier(rows: Matrix, lengths: Vector, start: int, same_point: Vector) -> list[int]:
    """Return the rows of a panel that coincide with an earlier row."""
    panel = rows[start : start + PANEL]
    scale = lengths[start : start + len(panel), None] + lengths
    close = scale - 2.0 * (panel @ rows.T) <= CLOSE * scale
    repeats = []
    for i in range(len(panel)):
        before = np.flatnonzero(close[i, : start + i])
        difference = rows[before] - panel[i]
        squared = np.einsum("ij,ij->i", difference, difference)
        if bool((squared <= same_point[start + i] + np.finfo(float).tiny).any()):
            repeats.append(i)
    return repeats


_STEPS = 100
_PRECISION = 1e-13


def dimension_of_ratios(log_ratios: Vector, rank: int) -> float:
    """Maximum likelihood dimension from the logs of the distance ratios (neighbours of rank 2 r and r).

    The log-likelihood of Denti et al. 2022 (Gride) is concave in the dimension d, so Newton steps from the left find
    the only root of its derivative. For r = 1, the root is n / sum(log ratios), the estimate from two nearest
    neighbours. The result is infinite if all ratios are 1, and NaN if there are no ratios.
    """
    total, n = float(log_ratios.sum()), len(log_ratios)
    if total <= 0:
        return float("inf") if n else float("nan")
    # The derivative is convex and falls from infinity to -rank * total. This starting point is not above its root.
    d = n / ((2 * rank - 1) * total)
    for _ in range(_STEPS):
        slope, curvature = _derivatives(d, log_ratios, rank)
        step = slope / curvature
        d -= step
        if abs(step) <= _PRECISION * d:
            break
    return d


def _derivatives(d: float, log_ratios: Vector, rank: int) -> tuple[float, float]:
    """First and second derivative of the log-likelihood with respect to d."""
    x = d * log_ratios
    safe = np.where(x > 1e-8, x, 1.0)
    lost = -np.expm1(-safe)
    # log_ratio / (1 - exp(-x)) and log_ratio^2 exp(-x) / (1 - exp(-x))^2, with their limits at 0.
    pull = np.where(x > 1e-8, log_ratios / lost, 1.0 / d)
    bend = np.where(x > 1e-8, log_ratios**2 * np.exp(-safe) / lost**2, 1.0 / d**2)
    n = len(log_ratios)
    slope = n / d + (rank - 1) * float(pull.sum()) - (2 * rank - 1) * float(log_ratios.sum())
    return slope, -n / d**2 - (rank - 1) * float(bend.sum())


_N_NEAREST = 4
"""Number of nearest rows to which each row is linked. With four, groups of up to four rows join the nearest cluster."""


def separate_clusters(gram: Matrix) -> Index:
    """Cluster label of each row: connected components of the Euclidean nearest-neighbour graph.

    The distances come from the inner products in `gram`. The rows of one cloud are connected, whatever its shape and
    the lengths of its rows, because even outlying rows are linked to their nearest rows. Clusters are separated only by
    gaps that no link crosses, and each has at least five rows.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(gram)
    if n <= _N_NEAREST:
        return np.zeros(n, dtype=np.intp)
    lengths, rows = np.diagonal(gram), np.arange(n)
    squared = lengths[:, None] + lengths - 2 * gram
    np.fill_diagonal(squared, np.inf)
    nearest = np.empty((n, _N_NEAREST), dtype=np.int32)
    for place in range(_N_NEAREST):
        nearest[:, place] = squared.argmin(axis=1)
        squared[rows, nearest[:, place]] = np.inf
    starts = np.arange(0, nearest.size + 1, _N_NEAREST, dtype=np.int32)
    links = csr_array((np.ones(nearest.size), nearest.ravel(), starts), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
