"""Exact duplicates among the rows, found by hashing the bits of each row."""

from __future__ import annotations

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


def hash_rows(block: NDArray[np.float64], keys: Hashes) -> Hashes:
    """Hash the bits of each row to 64 bits; the probability of a collision is negligible."""
    bits = (block + 0.0).view(np.uint64)  # -0.0 becomes 0.0.
    # The high bits of a product depend on all bits of its factors, so they are mixed into the low bits.
    mixed = (bits ^ (bits >> np.uint64(29))) * keys
    mixed ^= mixed >> np.uint64(32)
    return np.asarray((mixed * keys[::-1]).sum(axis=1, dtype=np.uint64))


def repeats(hashes: Hashes) -> Index:
    """Return the numbers of the rows whose hash also occurs in an earlier row."""
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1]) + 1
    return np.sort(order[same])


def row_hashes(X: NDArray[Any]) -> Hashes:
    """Hash the rows so that two hashes agree only if one row repeats the other."""
    few = np.unique(np.linspace(0, X.shape[1] - 1, _FEW).astype(np.intp))
    hashes = _hash_rows(X, np.arange(len(X)), few)
    if len(few) < X.shape[1]:
        candidates = positions_of_repeats(hashes)
        # The odd factor makes hashes of full rows differ from hashes of a few columns.
        hashes[candidates] = _hash_rows(X, candidates) * np.uint64(0x9E3779B97F4A7C15)
    return hashes


def _hash_rows(X: NDArray[Any], rows: Index, columns: Index | None = None) -> Hashes:
    keys, step = row_keys(X.shape[1] if columns is None else len(columns)), max(1, _ENTRIES // X.shape[1])
    hashes = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        part = X[some] if columns is None else X[np.ix_(some, columns)]
        hashes[start : start + step] = hash_rows(np.ascontiguousarray(part, dtype=np.float64), keys)
    return hashes
