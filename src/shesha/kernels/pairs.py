"""Pairs of rows: in condensed order, drawn at random, and pairs of rows with themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.kernels.sorting import positions_of_repeats
from shesha.support.device_arrays import namespace
from shesha.support.types import Index, Vector


def upper(n: int, like: Any, *, first: int | None = None) -> tuple[Any, Any]:
    """Row indices i < j of all pairs among n rows, or only those with i < first, on the device of `like`."""
    xp = namespace(like)
    places = xp.arange(n, device=like.device)
    i, j = xp.nonzero(places[None, :] > places[: n if first is None else first, None])
    return i, j


def condensed_index(i: Any, j: Any, n: int) -> Any:
    """Position of each pair (i, j), with the rows in either order, in condensed form."""
    xp = namespace(i)
    low, high = xp.minimum(i, j), xp.maximum(i, j)
    return low * n - low * (low + 1) // 2 + (high - low - 1)


def draw_pairs(n_rows: int, n_pairs: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Draw independent, uniform pairs of different rows, sorted by first row so that reading is fast."""
    i = np.sort(rng.integers(n_rows, size=n_pairs))
    j = rng.integers(n_rows - 1, size=n_pairs)
    j += j >= i
    return i, j


def distinct_pairs(n_rows: int, n_pairs: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Draw random pairs i < j without repeats, in random order; n_pairs different pairs must exist."""
    every = n_rows * (n_rows - 1) // 2
    pairs = rng.permutation(every)[:n_pairs] if 2 * n_pairs > every else np.empty(0, dtype=np.intp)
    while len(pairs) < n_pairs:
        pairs = _first_draws(np.concatenate([pairs, rng.integers(every, size=n_pairs + n_pairs // 2)]))[:n_pairs]
    starts = np.arange(n_rows) * n_rows - np.arange(n_rows) * (np.arange(n_rows) + 1) // 2
    i = np.searchsorted(starts, pairs, side="right") - 1
    return i, pairs - starts[i] + i + 1


_DISTINCT = 100
"""If all pairs are at least this many times more than the drawn pairs, repeated draws are rare."""


def draw_tuples(n: int, size: int, width: int, rng: np.random.Generator) -> tuple[Index, float]:
    """Draw pairs or triples of distinct rows; also return the share of all pairs drawn, or 0 if they may repeat."""
    if width == 2 and _DISTINCT * size > n * (n - 1) // 2:
        return np.stack(distinct_pairs(n, size, rng), axis=1), size / (n * (n - 1) // 2)
    i, j = draw_pairs(n, size, rng)
    if width == 2:
        return np.stack([i, j], axis=1), 0.0
    k = rng.integers(n - 2, size=size)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return np.stack([i, j, k], axis=1), 0.0


def _first_draws(drawn: Index) -> Index:
    """Keep only the first occurrence of each number, in the order of the draws."""
    places = positions_of_repeats(drawn)
    kept = np.ones(len(drawn), dtype=np.bool_)
    kept[places] = False
    kept[places[np.unique(drawn[places], return_index=True)[1]]] = True
    return drawn[kept]


def diagonal_correction(a: Vector, b: Vector) -> float:
    """Correction term in the U-statistic for two centred Gram matrices, given their diagonals.

    See Song et al. 2012, eq. 5. Each row of a centred Gram matrix sums to zero, so its sum without the diagonal entry
    is minus that entry.
    """
    n = len(a)
    return -n / (n - 2) * float((a * b).sum()) + float(a.sum() * b.sum()) / ((n - 1) * (n - 2))
