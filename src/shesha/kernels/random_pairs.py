"""Draw random pairs of rows, with or without repeats."""

from __future__ import annotations

import numpy as np

from shesha.kernels.packed_sort import repeated_places
from shesha.support.types import Index


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


def _first_draws(drawn: Index) -> Index:
    """Keep only the first occurrence of each number, in the order of the draws."""
    places = repeated_places(drawn)
    kept = np.ones(len(drawn), dtype=np.bool_)
    kept[places] = False
    kept[places[np.unique(drawn[places], return_index=True)[1]]] = True
    return drawn[kept]
