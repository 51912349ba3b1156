"""Distances between rows, in panels of fixed size so that the number of threads does not matter."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

import numpy as np

from shesha.kernels import device_kernels, native
from shesha.kernels.condensed_matrices import row_start, write_rows
from shesha.kernels.rounding_and_scaling import CLOSE, ROUNDING, length_unit
from shesha.kernels.threads import parallel, threads_for
from shesha.support import memory as memory
from shesha.support.device_arrays import column_medians, elsewhere, namespace, squared_lengths, to_host
from shesha.support.types import Index, Matrix, Vector

Metric = Literal["cosine", "correlation", "euclidean"]
METRICS: tuple[Metric, ...] = get_args(Metric)

PANEL = 256
"""Number of rows per panel. It is fixed so that results do not depend on the available memory."""
_PAIRS_AT_ONCE = 1 << 18


def standard_rows(X: Matrix, metric: Metric) -> Matrix:
    """Transform rows so that inner products yield the metric; rows without a direction become zero.

    Rows are scaled to unit length for 'cosine', and also centred for 'correlation'. For 'euclidean', division by
    `length_unit` keeps squares within range, and subtracting column medians preserves the precision of data far from
    the origin (a mean could be dominated by a single outlying row).
    """
    xp: Any = namespace(X)
    if metric == "euclidean":
        rows = X / length_unit(X)
        rows -= column_medians(rows)
        return rows
    # Division by each row's largest entry keeps squares within range, whatever the scale of the row.
    rows = X / _or_one(_largest_of_rows(X))
    if metric == "correlation":
        rows -= xp.mean(rows, axis=1, keepdims=True)
        constant = _largest_of_rows(rows) <= 4 * float(np.finfo(float).eps)
        if bool(xp.any(constant)):
            rows = xp.where(constant, xp.zeros_like(rows), rows)
    rows /= _or_one(xp.sqrt(squared_lengths(rows))[:, None])
    return cast(Matrix, rows)


def _largest_of_rows(X: Matrix) -> Any:
    """Largest absolute entry of each row, computed from its maximum and minimum to avoid a copy."""
    xp: Any = namespace(X)
    return xp.maximum(xp.max(X, axis=1, keepdims=True), -xp.min(X, axis=1, keepdims=True))


def _or_one(sizes: Any) -> Any:
    """Replace zeros by 1, so that the sizes can be used as divisors."""
    xp = namespace(sizes)
    return xp.where(sizes > 0, sizes, xp.ones_like(sizes))


def find_undirected_rows(X: Matrix, metric: Metric) -> Index:
    """Rows for which the metric is undefined: zero rows for cosine, constant rows for correlation."""
    if metric == "euclidean":
        return np.empty(0, dtype=np.intp)
    xp = namespace(X)
    low, high = to_host(xp.min(X, axis=1)), to_host(xp.max(X, axis=1))
    if metric == "cosine":
        return np.flatnonzero((low == 0) & (high == 0))
    # The values are halved before subtraction, because the difference of large numbers of opposite sign could overflow.
    return np.flatnonzero(high / 2 - low / 2 <= 2 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high)))


def distance_rounding(rows: Matrix, metric: Metric) -> float:
    """Return the difference below which two (possibly squared) distances count as equal."""
    if metric != "euclidean":
        return ROUNDING
    # With the largest length instead of the median, one outlying row would make all other distances tie.
    return ROUNDING * 2 * float(np.median(to_host(squared_lengths(rows))))


def n_pairs(n: int) -> int:
    """Number of unordered pairs of n rows."""
    return n * (n - 1) // 2


@elsewhere(device_kernels.inner_products)
def inner_products(rows: Matrix) -> tuple[Vector, Vector]:
    """Inner products of all pairs i < j of rows, in condensed order, and of each row with itself."""
    n = len(rows)
    out = np.empty(n_pairs(n))

    def fill(start: int) -> None:
        write_rows(out, n, start, min(start + PANEL, n), rows[start : start + PANEL] @ rows[start:].T)

    for _ in parallel(fill, range(0, n, PANEL), at_once=threads_for(n * rows.size)):
        pass
    return out, squared_lengths(rows)


@elsewhere(device_kernels.condensed_distances)
def condensed_distances(rows: Matrix, metric: Metric, *, squared: bool = False) -> Vector:
    """Distances between all pairs i < j of standard rows, in SciPy's condensed order."""
    n = len(rows)
    memory.require(8 * n_pairs(n), f"the {n_pairs(n):,} distances of {n:,} rows", "pass fewer rows")
    out = np.empty(n_pairs(n))
    lengths = np.einsum("ij,ij->i", rows, rows) if metric == "euclidean" else None
    root = metric == "euclidean" and not squared

    def fill(start: int) -> None:
        stop = min(start + PANEL, n)
        block = rows[start:stop] @ rows[start:].T
        part = out[row_start(start, n) : row_start(stop, n)]
        later = None if lengths is None else lengths[start:]
        # The compiled loop refuses distances that are too imprecise.
        if native.is_available() and not native.call(
            "shesha_put_distances", *block.shape, block, later, CLOSE, int(root), part
        ):
            return
        write_rows(out, n, start, stop, _distances(block, rows, metric, start))
        if root:
            np.sqrt(part, out=part)

    for _ in parallel(fill, range(0, n, PANEL), at_once=threads_for(n * rows.size)):
        pass
    return out


def panel(rows: Matrix, metric: Metric, start: int) -> Matrix:
    """Distances (squared for 'euclidean') from the panel's rows to themselves and to all later rows."""
    return _distances(rows[start : start + PANEL] @ rows[start:].T, rows, metric, start)


def _distances(block: Matrix, rows: Matrix, metric: Metric, start: int) -> Matrix:
    if metric != "euclidean":
        np.subtract(1.0, block, out=block)
        return np.clip(block, 0.0, 2.0, out=block)
    lengths = np.einsum("ij,ij->i", rows[start:], rows[start:])
    scale = lengths[: len(block), None] + lengths
    block *= -2.0
    block += scale
    scale *= CLOSE
    i, j = np.nonzero(block <= scale)
    i, j = i[j > i], j[j > i]
    step = max(1, _PAIRS_AT_ONCE // rows.shape[1])
    for offset in range(0, len(i), step):
        a, b = i[offset : offset + step], j[offset : offset + step]
        difference = rows[start + a] - rows[start + b]
        block[a, b] = np.einsum("ij,ij->i", difference, difference)
    return block


def pair_distances(rows: Matrix, i: Index, j: Index, metric: Metric, *, squared: bool = False) -> Vector:
    """Distances between the given pairs of standard rows."""
    out = np.empty(len(i))
    step = max(1, _PAIRS_AT_ONCE // rows.shape[1])

    def fill(start: int) -> None:
        a, b = rows[i[start : start + step]], rows[j[start : start + step]]
        if metric == "euclidean":
            a -= b
            out[start : start + step] = np.einsum("ij,ij->i", a, a)
        else:
            out[start : start + step] = np.clip(1.0 - np.einsum("ij,ij->i", a, b), 0.0, 2.0)

    for _ in parallel(fill, range(0, len(i), step)):
        pass
    return np.sqrt(out) if metric == "euclidean" and not squared else out
