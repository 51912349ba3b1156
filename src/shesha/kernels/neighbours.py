"""The k nearest rows of each row, in order; rows that are equally near come in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.distances import PANEL, ROUNDING
from shesha.kernels.threads import parallel

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Index = NDArray[np.intp]

_SPARE = 6
"""Candidates beyond k, whose distances are computed directly: Gram matrices lose digits where rows are close."""


def nearest_by_distance(rows: Matrix, k: int) -> Index:
    """Row i lists the k rows at the smallest Euclidean distance from row i, nearest first; itself left out."""
    lengths = np.einsum("ij,ij->i", rows, rows)
    tolerance = ROUNDING * 2 * float(np.median(lengths))

    def closeness(start: int) -> Matrix:
        block = rows[start : start + PANEL] @ rows.T
        block *= -2.0
        block += lengths
        return block

    return _search(closeness, len(rows), k, tolerance, rows)


def nearest_by_product(rows: Matrix, k: int, *, include_self: bool = False) -> Index:
    """Row i lists the k rows with the largest inner product with row i, largest first."""
    tolerance = ROUNDING * float(np.median(np.einsum("ij,ij->i", rows, rows)))

    def closeness(start: int) -> Matrix:
        block = rows[start : start + PANEL] @ rows.T
        return np.negative(block, out=block)

    return _search(closeness, len(rows), k, tolerance, None, include_self=include_self)


def nearest_of_distances(condensed: Vector, n: int, k: int) -> Index:
    """Row i lists the k rows at the smallest given distance."""
    square = np.zeros((n, n))
    square[np.triu_indices(n, k=1)] = condensed
    square += square.T
    tolerance = ROUNDING * float(condensed.max(initial=0.0))
    return _search(lambda start: square[start : start + PANEL].copy(), n, k, tolerance, None)


def _search(
    closeness: Callable[[int], Matrix],
    n: int,
    k: int,
    tolerance: float,
    rows: Matrix | None,
    *,
    include_self: bool = False,
) -> Index:
    """Search panel by panel; smaller is closer in each panel of closeness."""
    out = np.empty((n, k), dtype=np.intp)

    def fill(start: int) -> None:
        block = closeness(start)
        at = np.arange(len(block))
        if not include_self:
            block[at, start + at] = np.inf
        out[start : start + len(block)] = _nearest(block, k, tolerance, rows, start)

    for _ in parallel(fill, range(0, n, PANEL)):
        pass
    return out


def _nearest(block: Matrix, k: int, tolerance: float, rows: Matrix | None, start: int) -> Index:
    n_candidates = min(k + _SPARE, block.shape[1] - 1)
    candidates = np.argpartition(block, n_candidates - 1, axis=1)[:, :n_candidates]
    # In the order of their numbers, so that a stable sort leaves equal ones in it.
    candidates.sort(axis=1)
    near = np.take_along_axis(block, candidates, axis=1)
    bound = np.partition(near, k - 1, axis=1)[:, k - 1] + tolerance
    exact = near if rows is None else _squared_distances(rows, start, candidates)
    found = np.take_along_axis(candidates, _order(exact, tolerance)[:, :k], axis=1)
    # Where more rows tie with the k-th than there are candidates, all of them compete.
    tied = np.flatnonzero(near.max(axis=1) <= bound) if n_candidates < block.shape[1] - 1 else np.empty(0, dtype=int)
    for i in tied.tolist():
        competing = np.flatnonzero(block[i] <= bound[i])[None, :]
        exact = block[i][competing] if rows is None else _squared_distances(rows, start + i, competing)
        found[i] = competing[0, _order(exact, tolerance)[0, :k]]
    return found


def _squared_distances(rows: Matrix, start: int, candidates: Index) -> Matrix:
    own = rows[start : start + len(candidates), None, :]
    out = np.empty(candidates.shape)
    for column in range(0, candidates.shape[1], _SPARE):
        some = candidates[:, column : column + _SPARE]
        difference = rows[some] - own
        out[:, column : column + _SPARE] = np.einsum("ijk,ijk->ij", difference, difference)
    return out


def _order(values: Matrix, tolerance: float) -> Index:
    """Sort each row; values within the tolerance of the one before tie and keep their order."""
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    groups = np.zeros(values.shape, dtype=np.intp)
    np.cumsum(np.diff(ordered, axis=1) > tolerance, axis=1, out=groups[:, 1:])
    width = int(order.max(initial=0)) + 1
    return np.take_along_axis(order, np.argsort(groups * width + order, axis=1, kind="stable"), axis=1)
