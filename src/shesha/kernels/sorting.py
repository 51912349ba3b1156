"""Sort packed (key, index) integers: NumPy's sort where it is vectorised, buckets where it is not.

NumPy sorts 64-bit integers with SIMD on many processors and ten times slower on others (those
whose compress-store instruction is microcoded, for instance). One counting pass into buckets
of about one element, then a stable sort that only repairs the order inside them, is three times
faster there. Both give the same array; which one is used is measured once per process.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_PIECE = 1 << 23
"""Keys sorted together: larger arrays are sorted in pieces and merged, which bounds the scratch memory."""
_SMALL = 1 << 14
_PROBE = 1 << 16
_MAX_BUCKET_BITS = 22


def sort_in_place(keys: Keys, n_bits: int) -> None:
    """Sort unsigned integers below 2**n_bits, in place."""
    if len(keys) < _SMALL or _numpy_is_faster():
        keys.sort()
        return
    for start in range(0, len(keys), _PIECE):
        _bucket_sort(keys[start : start + _PIECE], n_bits)
    if len(keys) > _PIECE:
        keys.sort(kind="stable")


def _bucket_sort(keys: Keys, n_bits: int) -> None:
    from scipy.sparse import csr_array

    bits = min(_MAX_BUCKET_BITS, len(keys).bit_length())
    bucket = (keys >> np.uint64(n_bits - bits)).astype(np.int32)
    # Transposing a one-row sparse matrix is a counting sort of its entries by column, in compiled code.
    row = csr_array((keys, bucket, np.array([0, len(keys)], dtype=np.int32)), shape=(1, 1 << bits), copy=False)
    keys[:] = row.tocsc().data
    keys.sort(kind="stable")


@lru_cache(maxsize=1)
def _numpy_is_faster() -> bool:
    keys = np.random.default_rng(0).integers(0, 1 << 62, _PROBE, dtype=np.uint64)
    return _seconds(lambda copy: copy.sort(), keys) <= _seconds(lambda copy: _bucket_sort(copy, 62), keys)


def _seconds(sort: object, keys: Keys) -> float:
    best = np.inf
    for _ in range(3):
        copy = keys.copy()
        start = time.perf_counter()
        sort(copy)  # type: ignore[operator]
        best = min(best, time.perf_counter() - start)
    return best
