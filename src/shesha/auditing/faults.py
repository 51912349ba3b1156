"""What is wrong with the numbers of a representation, found in one pass over its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.results import Faults
from shesha.views import Rows

_ENTRIES = 1 << 20


def find_faults(X: Rows) -> Faults:
    """Count and name NaN, zero rows, repeated rows and constant columns; X may lie on disk."""
    keys = _row_keys(X.shape[1])
    first = X.read(slice(0, 1))[0]
    constant = np.ones(X.shape[1], dtype=bool)
    bad_entries, bad_rows, zero_rows, hashes = 0, [], [], []
    for start, block in X.blocks(_ENTRIES):
        bad = ~np.isfinite(block)
        bad_entries += int(bad.sum())
        bad_rows.append(start + np.flatnonzero(bad.any(axis=1)))
        zero_rows.append(start + np.flatnonzero(~block.any(axis=1)))
        constant &= (block == first).all(axis=0)
        hashes.append(_hash_rows(block, keys))
    return Faults(
        not_finite=bad_entries,
        not_finite_rows=_plain(np.concatenate(bad_rows)),
        zero_rows=_plain(np.concatenate(zero_rows)),
        duplicate_rows=_plain(_repeats(np.concatenate(hashes))),
        constant_columns=_plain(np.flatnonzero(constant)),
    )


def _row_keys(n_columns: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 1 << 63, n_columns, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _hash_rows(block: NDArray[np.float64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash the bits of each row to 64 bits; chance collisions are out of reach of any real number of rows."""
    bits = (block + 0.0).view(np.uint64)  # -0.0 becomes 0.0.
    # The high bits of a product depend on all bits of its factors: fold them down before summing.
    mixed = (bits ^ (bits >> np.uint64(29))) * keys
    mixed ^= mixed >> np.uint64(32)
    return np.asarray((mixed * keys[::-1]).sum(axis=1, dtype=np.uint64))


def _repeats(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1]) + 1
    return np.sort(order[same])


def _plain(numbers: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(map(int, numbers))
