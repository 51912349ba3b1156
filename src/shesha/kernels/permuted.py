"""Inner products of condensed matrices under permutations of the rows of one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.threads import parallel

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Index = NDArray[np.intp]

LAYERS = 8
"""Matrices interleaved in memory: the entries of one pair of rows fill one cache line."""
_PAIRS = 1 << 13


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
