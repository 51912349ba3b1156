"""Exact duplicates among the rows, found by hashing the bits of each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.sorting import positions_of_repeats
from shesha.support.types import Index

Hashes = NDArray[np.uint64]

_ENTRIES = 1 << 18
_FEW = 16
"""Number of evenly spaced columns that are hashed first; only rows that agree in them are hashed in full."""


@lru_cache(maxsize=2)
def row_keys(n_columns: int) -> Hashes:
    """Return one random odd number per column."""
    return np.random.default_rng(0).integers(0, 1 << 63, n_columns, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def hash_rows(block: NDArray[Any]) -> Hashes:
    """Hash the bits of each row to 64 bits; the probability of a collision is negligible."""
    keys = row_keys(block.shape[1])
    bits = (np.ascontiguousarray(block, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0.
    # The high bits of a product depend on all bits of its factors, so they are mixed into the low bits.
    mixed = (bits ^ (bits >> np.uint64(29))) * keys
    mixed ^= mixed >> np.uint64(32)
    return np.asarray((mixed * keys[::-1]).sum(axis=1, dtype=np.uint64))


def few_columns(n_columns: int) -> Index:
    """Return the columns that are hashed first."""
    return np.unique(np.linspace(0, n_columns - 1, _FEW).astype(np.intp))


def repeats(hashes: Hashes) -> Index:
    """Return the numbers of the rows whose hash also occurs in an earlier row."""
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1]) + 1
    return np.sort(order[same])


def row_hashes(X: NDArray[Any]) -> Hashes:
    """Hash the rows so that two hashes agree only if one row repeats the other."""
    few, step = few_columns(X.shape[1]), max(1, _ENTRIES // X.shape[1])
    starts = range(0, len(X), step)
    hashes = [hash_rows(X[start : start + step, few]) for start in starts]
    return complete_hashes(X.__getitem__, X.shape[1], np.concatenate(hashes or [np.empty(0, dtype=np.uint64)]))


def complete_hashes(read: Callable[[Index], NDArray[Any]], n_columns: int, hashes: Hashes) -> Hashes:
    """Replace hashes of `few_columns` by those of all columns where rows agree in the few."""
    if n_columns > _FEW:
        candidates, step = positions_of_repeats(hashes), max(1, _ENTRIES // n_columns)
        for start in range(0, len(candidates), step):
            some = candidates[start : start + step]
            # The odd factor makes hashes of full rows differ from hashes of a few columns.
            hashes[some] = hash_rows(read(some)) * np.uint64(0x9E3779B97F4A7C15)
    return hashes
