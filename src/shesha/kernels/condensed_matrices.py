"""Symmetric matrices stored as upper triangles: sums, centring, products with matrices and vectors.

Work is divided into blocks of fixed size, each summed by one thread, so that results do not depend on the number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import device_kernels
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.device_arrays import elsewhere
from shesha.support.types import Vector

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
