"""Symmetric matrices stored as upper triangles: sums, centring, products, also under permutations of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import device_kernels, native
from shesha.kernels.pairs import condensed_index
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support import device_arrays
from shesha.support.device_arrays import elsewhere, is_numpy
from shesha.support.types import Index, Matrix, Vector

_BLOCK = 1 << 15
_AT_ONCE = 64


def row_start(i: int, n: int) -> int:
    """Position of the pair (i, i + 1) in condensed form."""
    return i * n - i * (i + 1) // 2


def write_rows(triangle: Vector, n: int, start: int, stop: int, block: NDArray[np.float64]) -> None:
    """Write rows start to stop from a block whose first column is column `start` of the matrix."""
    for i in range(start, stop):
        triangle[row_start(i, n) : row_start(i + 1, n)] = block[i - start, i - start + 1 :]


@elsewhere(device_kernels.row_sums)
def row_sums(triangle: Vector, n: int) -> Vector:
    """Sum of each row of the symmetric matrix, without the diagonal."""

    def partial(start: int) -> Vector:
        sums = np.zeros(n)
        for i in range(start, min(start + _AT_ONCE, n - 1)):
            row = triangle[row_start(i, n) : row_start(i + 1, n)]
            sums[i] += row.sum()
            sums[i + 1 :] += row
        return sums

    total = np.zeros(n)
    for part in parallel(partial, range(0, n - 1, _AT_ONCE)):
        total += part
    return total


@elsewhere(device_kernels.subtract_margins)
def subtract_margins(triangle: Vector, margins: Vector) -> None:
    """Subtract margins[i] + margins[j] from entry (i, j), in place."""
    n = len(margins)

    def subtract(start: int) -> None:
        for i in range(start, min(start + _AT_ONCE, n - 1)):
            row = triangle[row_start(i, n) : row_start(i + 1, n)]
            row -= margins[i + 1 :]
            row -= margins[i]

    for _ in parallel(subtract, range(0, n - 1, _AT_ONCE)):
        pass


def whiten(distances: Vector, n: int) -> None:
    """Divide each part of squared distances by its standard deviation under equal noise of all rows, in place.

    The covariance of distances (i, j) and (k, l) is then proportional to 4, 1 or 0 if they share 2, 1 or 0 rows
    (Diedrichsen et al. 2021). Its eigenvalues are 2n for the mean, n for the deviations of rows, and 2 for the rest,
    to which the scale is fixed.
    """
    sums = row_sums(distances, n)
    mean = device_arrays.total(sums) / (n * (n - 1))
    of_rows = (sums - (n - 1) * mean) / (n - 2)
    subtract_margins(distances, of_rows * (1 - sqrt(2 / n)) + mean * (1 - sqrt(1 / n)) / 2)


@elsewhere(device_kernels.inner)
def inner(a: Vector, b: Vector) -> float:
    """Sum of products of corresponding entries."""
    return _sum(len(a), lambda part: float((a[part] * b[part]).sum()))


@elsewhere(device_kernels.gaussian)
def gaussian(squared: Vector, scale: float) -> Vector:
    """Compute exp(-squared / (2 scale)), overwriting the squared distances."""
    with np.errstate(over="ignore"):
        squared /= scale
    squared *= -0.5
    return np.exp(squared, out=squared)


def squared_difference(a: Vector, b: Vector) -> float:
    """Sum of squared differences of corresponding entries."""

    def total(part: slice) -> float:
        difference = a[part] - b[part]
        difference *= difference
        return float(difference.sum())

    return _sum(len(a), total)


def _sum(size: int, work: Callable[[slice], float]) -> float:
    step = 32 * _BLOCK

    def stretch(start: int) -> float:
        stop = min(start + step, size)
        return sum(work(slice(low, min(low + _BLOCK, stop))) for low in range(start, stop, _BLOCK))

    if size <= step:
        return stretch(0)
    return sum(parallel(stretch, range(0, size, step)))


def largest_eigenvalue(triangle: Vector, n: int) -> float:
    """Largest absolute eigenvalue of a symmetric matrix with zero diagonal.

    The Lanczos method starts from a fixed vector, so results do not depend on the number of threads. The residual
    bounds the error; if it is too large, the whole spectrum is computed.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    with single_threaded_blas():
        if n <= _DENSE:
            return float(np.abs(np.linalg.eigvalsh(square(triangle, n))).max())
        operator = LinearOperator((n, n), matvec=lambda v: times(triangle, np.ravel(v)), dtype=np.float64)
        start = 1.0 + np.sin(np.arange(n))
        try:
            values, vectors = eigsh(operator, k=1, which="LM", v0=start, tol=_TOLERANCE)
        except ArpackError:
            return float(np.abs(np.linalg.eigvalsh(square(triangle, n))).max())
        value, vector = float(values[0]), vectors[:, 0]
        residual = float(np.linalg.norm(times(triangle, vector) - value * vector))
        if residual <= 1e-8 * abs(value):
            return abs(value)
        return float(np.abs(np.linalg.eigvalsh(square(triangle, n))).max())


_DENSE = 512
_TOLERANCE = 1e-9


def times(triangle: Vector, vector: Vector) -> Vector:
    """Multiply the symmetric matrix with zero diagonal by a vector."""
    from scipy.linalg.blas import dtpmv

    # Stored row by row, the strict upper triangle is a packed triangular matrix with n - 1 rows.
    n = len(vector)
    out = np.zeros(n)
    out[:-1] = dtpmv(n - 1, triangle, vector[1:], lower=1, trans=1)
    out[1:] += dtpmv(n - 1, triangle, vector[:-1], lower=1, trans=0)
    return out


@elsewhere(device_kernels.square)
def square(triangle: Vector, n: int) -> NDArray[np.float64]:
    """Return the full symmetric matrix with zero diagonal."""
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, k=1)] = triangle
    return matrix + matrix.T


_NUMBERS = 1 << 16
"""Number of values that a thread gathers in one step, limited by the cache size."""
_TAKEN = 1 << 18
"""Number of entries looked up in one step, which limits the memory for their positions."""
_BAND = 8
"""Number of rows that a thread interleaves at a time."""
_ORDERS = 8
"""Number of permutations per task of a thread."""


@elsewhere(device_kernels.take_condensed)
def take_condensed(triangle: Vector, rows: Index, n: int) -> Vector:
    """Condensed form for a selection of rows, in the given order."""
    m = len(rows)
    out = np.empty(m * (m - 1) // 2, dtype=triangle.dtype)
    step = max(1, _TAKEN // max(1, m))
    for start in range(0, m - 1, step):
        stop = min(start + step, m - 1)
        i, j = np.triu_indices(stop - start, k=1, m=m - start)
        places = condensed_index(rows[i + start], rows[j + start], n)
        np.take(triangle, places, out=out[row_start(start, m) : row_start(stop, m)])
    return out


def permutation_products(first: Vector, second: Vector, n: int, orders: Sequence[Index]) -> Vector:
    """Inner product of a condensed matrix with another one, after each permutation of the latter's rows."""
    return np.array([grid[0, 0] for grid in permutation_grids([first], [second], n, orders)])


def permutation_grids(
    first: Sequence[Vector], second: Sequence[Vector], n: int, orders: Sequence[Index]
) -> Iterator[Matrix]:
    """For each permutation, yield the inner products of every first with every permuted second matrix."""
    if not is_numpy(first[0]):
        return device_kernels.permutation_grids(first, second, n, orders)
    if native.serves_grid(len(first), len(second)):
        return _native_grids(first, second, n, orders)
    return _numpy_grids(first, second, n, orders)


def _native_grids(
    first: Sequence[Vector], second: Sequence[Vector], n: int, orders: Sequence[Index]
) -> Iterator[Matrix]:
    """Gather and multiply in one step, in compiled code."""
    n_left, n_right = len(first), len(second)
    left = native.laid_out([_whole(triangle, n) for triangle in first], native.cell_width(n_right))
    nothing = np.zeros(n * (n - 1) // 2)
    unused = [nothing] * (native.cell_width(n_right) - n_right)
    right = _interleave([*(_whole(triangle, n) for triangle in second), *unused], n)

    def some(start: int) -> Matrix:
        drawn = np.array(orders[start : start + _ORDERS], dtype=np.intp)
        return native.grids(left, n_left, right, drawn, _invert(drawn, n))[:, :, :n_right]

    for totals in parallel(some, range(0, len(orders), _ORDERS)):
        yield from totals


def _whole(triangle: Vector, n: int) -> Vector:
    """Check a triangle before it is passed to the compiled code."""
    if triangle.shape != (n * (n - 1) // 2,):
        raise ValueError(f"each triangle of {n} rows must have {n * (n - 1) // 2} entries, got shape {triangle.shape}")
    return np.ascontiguousarray(triangle, dtype=np.float64)


def _invert(orders: Index, n: int) -> Index:
    """Invert the permutations; raise an error if an order is not a permutation."""
    places = np.full(orders.shape, -1)
    if orders.shape == (len(orders), n) and orders.min() >= 0 and orders.max() < n:
        np.put_along_axis(places, orders, np.arange(n)[None], axis=1)
    if places.min() < 0:
        raise ValueError(f"each order must be a permutation of 0 to {n - 1}, got other values")
    return places


def _numpy_grids(
    first: Sequence[Vector], second: Sequence[Vector], n: int, orders: Sequence[Index]
) -> Iterator[Matrix]:
    """Gather the permuted entries with NumPy, then multiply.

    The entries of all second matrices for one pair of rows are adjacent, so that they are gathered together. A block of
    rows is gathered within the cache and multiplied with all first matrices in one product.
    """
    n_right = len(second)
    right = _interleave(second, n)
    blocks = _stretches(n, n_right)
    left = [_upper_block(first, n, start, stop) for start, stop in blocks]
    longest = max(block.shape[1] for block in left)
    highest = max(stop - start for start, stop in blocks)

    def some(offset: int) -> Matrix:
        drawn = orders[offset : offset + _ORDERS]
        totals = np.zeros((len(drawn), len(first), n_right))
        # Work memory is reused, because allocating new memory pages takes longer than filling them.
        moved, workspace = np.empty((longest, n_right)), np.empty((highest, n, n_right))
        # Each block of the first matrices is used for several orders while it is in the cache.
        for (start, stop), block in zip(blocks, left, strict=True):
            out = moved[: block.shape[1]]
            for total, order in zip(totals, drawn, strict=True):
                # Entries below the diagonal are gathered as well, and meet zeros.
                rows = np.take(right, order[start:stop], axis=0, out=workspace[: stop - start], mode="clip")
                shaped = out.reshape(stop - start, -1, n_right)
                np.take(rows, order[start + 1 :], axis=1, out=shaped, mode="clip")
                total += block @ out
        return totals

    for totals in parallel(some, range(0, len(orders), _ORDERS)):
        yield from totals


def _stretches(n: int, n_right: int) -> list[tuple[int, int]]:
    """Divide the rows of the upper triangle into blocks whose entries fit in the cache."""
    cuts, start, size = [], 0, 0
    for i in range(n - 1):
        size += (n - i - 1) * n_right
        if size >= _NUMBERS or i == n - 2:
            cuts.append((start, i + 1))
            start, size = i + 1, 0
    return cuts


def _interleave(triangles: Sequence[Vector], n: int) -> Matrix:
    """Full square matrices with interleaved entries, of shape (n, n, matrices)."""
    out = np.zeros((n, n, len(triangles)))

    def fill(start: int) -> None:
        # One band of rows from all matrices is transposed within the cache.
        stop = min(start + _BAND, n)
        band = np.zeros((len(triangles), stop - start, n))
        for square, triangle in zip(band, triangles, strict=True):
            for i in range(start, stop):
                square[i - start, i + 1 :] = triangle[row_start(i, n) : row_start(i + 1, n)]
                square[i - start, :i] = triangle[columns[:i] + i]
        out[start:stop] = band.transpose(1, 2, 0)

    # Entry (j, i) with j < i is at position columns[j] + i.
    j = np.arange(n)
    columns = j * n - j * (j + 1) // 2 - j - 1
    for _ in parallel(fill, range(0, n, _BAND)):
        pass
    return out


def _upper_block(triangles: Sequence[Vector], n: int, start: int, stop: int) -> Matrix:
    """Rows start to stop of each upper triangle, one line per matrix, padded with zeros to full rows."""
    block = np.zeros((len(triangles), stop - start, n - start - 1))
    for i in range(start, stop):
        for matrix, triangle in zip(block, triangles, strict=True):
            matrix[i - start, i - start :] = triangle[row_start(i, n) : row_start(i + 1, n)]
    return block.reshape(len(triangles), -1)
