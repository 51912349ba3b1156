"""Distances to the neighbours of given ranks, among all rows or within random halves, panel by panel."""

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
