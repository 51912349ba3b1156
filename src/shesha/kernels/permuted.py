"""Inner products of condensed matrices under permutations of the rows of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.threads import parallel

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Index = NDArray[np.intp]

LAYERS = 8
"""Matrices interleaved in memory: the entries of one pair of rows fill one cache line."""
_PAIRS = 1 << 13
_ROWS = 32
_NUMBERS = 1 << 15
"""Numbers that a thread gathers at a time, in at most so many rows: they stay in its cache until multiplied."""


def condensed_index(i: Index, j: Index, n: int) -> Index:
    """Position of the pairs (i, j), in either order, in condensed form."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return np.asarray(low * n - low * (low + 1) // 2 + (high - low - 1))


def permuted_inner_products(
    first: Sequence[Vector], second: Sequence[Vector], n: int, orders: Sequence[Index]
) -> Matrix:
    """Inner products of first[k] with second[k] relabelled by each order: shape (len(orders), len(first)).

    All matrices share a permutation, so its index is computed once per pair and serves them all.
    """
    out = np.empty((len(orders), len(first)))
    i, j = np.triu_indices(n, k=1)
    for start in range(0, len(first), LAYERS):
        layers = slice(start, start + LAYERS)
        left = np.stack(first[layers], axis=1)
        # Square, so that all pairs of one row gather from one stretch of memory.
        right = np.zeros((n * n, left.shape[1]))
        right[i * n + j] = right[j * n + i] = np.stack(second[layers], axis=1)

        def products(order: Index, left: Matrix = left, right: Matrix = right) -> Vector:
            total = np.zeros(left.shape[1])
            for at in range(0, len(i), _PAIRS):
                stretch = slice(at, at + _PAIRS)
                moved = np.take(right, order[i[stretch]] * n + order[j[stretch]], axis=0)
                moved *= left[stretch]
                total += moved.sum(axis=0)
            return total

        for draw, row in enumerate(parallel(products, orders)):
            out[draw, layers] = row
    return out


def permuted_grids(
    first: Sequence[Vector], second: Sequence[Vector], n: int, orders: Sequence[Index]
) -> Iterator[Matrix]:
    """For each order, yield the inner products of every first with every second relabelled: (first, second).

    A few rows at a time are gathered, their columns brought in order within the cache, and multiplied
    with all first matrices in one product. Pairs below the diagonal that come along meet zeros.
    """
    n_right = len(second)
    right = np.zeros((n, n, n_right))
    for layer, triangle in enumerate(second):
        _fill_square(right[:, :, layer], triangle)
    height = max(1, min(_ROWS, _NUMBERS // (n * n_right)))
    blocks = [(start, min(start + height, n - 1)) for start in range(0, n - 1, height)]
    left = [_upper_block(first, n, start, stop) for start, stop in blocks]

    def grid(order: Index) -> Matrix:
        total = np.zeros((len(first), n_right))
        rows, moved = np.empty((height, n, n_right)), np.empty(height * n * n_right)
        for (start, stop), own in zip(blocks, left, strict=True):
            some = np.take(right, order[start:stop], axis=0, out=rows[: stop - start], mode="clip")
            shape = (stop - start, n - start - 1, n_right)
            out = moved[: shape[0] * shape[1] * n_right].reshape(shape)
            np.take(some, order[start + 1 :], axis=1, out=out, mode="clip")
            total += own @ out.reshape(-1, n_right)
        return total

    yield from parallel(grid, orders)


def _fill_square(square: Matrix, triangle: Vector) -> None:
    n = len(square)
    at = 0
    for i in range(n - 1):
        row = triangle[at : at + n - i - 1]
        square[i, i + 1 :] = row
        square[i + 1 :, i] = row
        at += n - i - 1


def _upper_block(triangles: Sequence[Vector], n: int, start: int, stop: int) -> Matrix:
    """Rows start to stop of each matrix, columns after start, zeros on and below the diagonal; one line per matrix."""
    block = np.zeros((len(triangles), stop - start, n - start - 1))
    for i in range(start, stop):
        first = i * n - i * (i + 1) // 2
        for own, triangle in zip(block, triangles, strict=True):
            own[i - start, i - start :] = triangle[first : first + n - i - 1]
    return block.reshape(len(triangles), -1)
