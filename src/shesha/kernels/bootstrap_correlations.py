"""Rank correlations for bootstrap resamples of the rows, without computing or sorting distances again.

A resample is a vector c of row counts. The pair (i, j) has weight c_i c_j; pairs with i = j, whose distance is zero in
both halves, are left out. Ranks are binned once into coarse cells; for each resample, the weighted table of cells gives
the rank correlation. The binning changes all correlations by nearly the same amount, about 1 / cells**2, so it cancels
when a resample is compared with the full data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import native
from shesha.kernels.fixed_point_argsort import Ordering
from shesha.kernels.threads import parallel
from shesha.support.types import Matrix, Vector

Cells = NDArray[np.int32]

CELLS = 128
"""Number of cells along each axis of the rank table. With this size, the tables for 16 resamples fit in the cache."""
_TOGETHER = 16
_BLOCK = 1 << 17
COMPILED_TOGETHER = 16
"""Number of resamples that the compiled loops (cells.c) process together."""
UNDEFINED = CELLS * CELLS
"""Cell number assigned to pairs whose distance is undefined."""


def row_counts(n_rows: int, n_resamples: int, rng: np.random.Generator) -> Matrix:
    """Draw resamples of n_rows rows with replacement: the count of each row, one column per resample."""
    draws = rng.integers(n_rows, size=(n_resamples, n_rows))
    return np.stack([np.bincount(draw, minlength=n_rows) for draw in draws], axis=1).astype(np.float64)


def rank_cells(first: Ordering, second: Ordering) -> Cells:
    """Cell of each pair, from the orderings that `ranks.correlation` uses; tied pairs share a cell."""
    n = len(first.order)
    along_first = _coarse(first.ranks, n)
    along_second = np.empty(n, dtype=np.int32)
    along_second[second.order] = _coarse(second.ranks, n)
    cells = np.empty(n, dtype=np.int32)
    cells[first.order] = along_first * CELLS + along_second
    return cells


def _coarse(ranks: Vector | None, n: int) -> Cells:
    positions = np.arange(n) if ranks is None else ranks
    return np.asarray(positions * (CELLS / n), dtype=np.int32)


def bootstrap_correlations(
    cells: Sequence[Cells], counts: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[tuple[int, Matrix]]:
    """Yield (index of the first resample, correlations of shape (draws, resamples)) for successive groups.

    `cells` holds one array per draw, with the cell of each pair; `counts` holds the row counts, one resample per
    column.
    """
    # Products of counts and their sums are integers, so the compiled loops give identical values in half the memory.
    if native.is_available() and len(pairs[0]) * counts.max(initial=0.0) ** 2 < 2**31:
        yield from _native_correlations(cells, counts, pairs)
        return
    for start in range(0, counts.shape[1], _TOGETHER):
        group = np.ascontiguousarray(counts[:, start : start + _TOGETHER])
        yield start, np.array(list(_tables(cells, group, pairs)))


def _native_correlations(
    cells: Sequence[Cells], counts: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[tuple[int, Matrix]]:
    """Compute correlations in compiled code; each draw's pairs are sorted by cell once for all resamples."""
    firsts = range(0, counts.shape[1], COMPILED_TOGETHER)
    groups = [_weights(counts[:, first : first + COMPILED_TOGETHER]) for first in firsts]
    i, j = (np.ascontiguousarray(side, dtype=np.int64) for side in pairs)

    def correlations(draw: Cells) -> Vector:
        starts, sorted_pairs = np.zeros(UNDEFINED + 3, dtype=np.int64), np.empty((len(i), 2), dtype=np.int32)
        cell = np.ascontiguousarray(draw, dtype=np.int32)
        native.call("shesha_sort_pairs", len(i), UNDEFINED + 1, i, j, cell, starts, sorted_pairs)
        out = np.empty((len(groups), COMPILED_TOGETHER))
        table = np.empty((UNDEFINED, COMPILED_TOGETHER), dtype=np.int32)
        for weights, values in zip(groups, out, strict=True):
            native.call("shesha_cells", UNDEFINED, starts, sorted_pairs, weights, table)
            native.call("shesha_cell_correlations", table, values)
        return out.ravel()[: counts.shape[1]]

    scores = np.array(list(parallel(correlations, cells)))
    for first in firsts:
        yield first, scores[:, first : first + COMPILED_TOGETHER]


def _weights(counts: Matrix) -> NDArray[np.int32]:
    """Row counts for one group of resamples, padded with zero columns."""
    weights = np.zeros((len(counts), COMPILED_TOGETHER), dtype=np.int32)
    weights[:, : counts.shape[1]] = counts
    return weights


def _tables(
    cells: Sequence[Cells], group: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[Vector]:
    """Correlations for one group of resamples, computed from their rank tables without compiled code."""
    tables = np.zeros((len(cells), UNDEFINED + 1, group.shape[1]))
    for start in range(0, len(pairs[0]), _BLOCK):
        stretch = slice(start, start + _BLOCK)
        weights = group[pairs[0][stretch]] * group[pairs[1][stretch]]
        _add_weights(tables, [draw[stretch] for draw in cells], weights)
    return (_table_correlation(table[:UNDEFINED]) for table in tables)


def _add_weights(tables: NDArray[np.float64], cells: Sequence[Cells], weights: Matrix) -> None:
    from scipy.sparse import csc_array

    ones, ends = np.ones(len(weights)), np.arange(len(weights) + 1, dtype=np.int32)
    for table, draw in zip(tables, cells, strict=True):
        # The sparse matrix has one entry per pair; its product adds the weights of all resamples to the pair's cell.
        table += csc_array((ones, draw, ends), shape=(len(table), len(weights)), copy=False) @ weights


def _table_correlation(table: Matrix) -> Vector:
    """Rank correlation from each column of a weighted table of cells."""
    grid = table.reshape(CELLS, CELLS, -1)
    total = grid.sum(axis=(0, 1))
    centred = []
    for axis in (0, 1):
        marginal = grid.sum(axis=1 - axis)
        ranks = np.cumsum(marginal, axis=0) - marginal / 2 - total / 2
        centred.append((ranks, (marginal * ranks**2).sum(axis=0)))
    (x, x_variance), (y, y_variance) = centred
    covariance = (np.einsum("abr,br->ar", grid, y) * x).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance / np.sqrt(x_variance * y_variance))
