"""Sort packed (key, index) integers: NumPy's sort where it is vectorised, buckets elsewhere.

NumPy sorts 64-bit integers with SIMD instructions on many processors, but is ten times slower on others (for instance,
if the compress-store instruction is microcoded). There, it is three times faster to distribute the integers into small
buckets by counting, and then to run a stable sort that only repairs the order within buckets. Both methods give the
same array; the faster one is determined by a measurement once per process.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.threads import parallel
from shesha.support.types import Index, Keys

_SMALL = 1 << 14
_CACHED = 1 << 21
"""Largest number of keys that fit in the cache; longer arrays are first distributed into groups."""
_GROUP = 1 << 20
_PIECE = 1 << 23
"""Number of keys distributed at a time, which limits the work memory."""
_COARSE_BITS = 12
_MAX_BUCKET_BITS = 22
_PROBE = 1 << 16


def sort_in_place(keys: Keys, n_bits: int) -> None:
    """Sort unsigned integers below 2**n_bits in place."""
    if len(keys) < _SMALL or _numpy_is_faster():
        keys.sort()
    elif len(keys) <= _CACHED or n_bits <= _COARSE_BITS:
        _bucket_sort(keys, n_bits)
    else:
        _sort_in_groups(keys, n_bits)


def repeated_places(numbers: Index | Keys) -> Index:
    """Positions of the numbers that occur more than once."""
    ordered = np.sort(numbers)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(numbers, several, kind="sort")) if len(several) else np.empty(0, dtype=np.intp)


def _bucket_sort(keys: Keys, n_bits: int) -> None:
    bits = min(_MAX_BUCKET_BITS, n_bits, max(1, len(keys).bit_length() - 2))
    keys[:], _ = _dealt_out(keys, n_bits - bits, bits)
    keys.sort(kind="stable")


def _dealt_out(keys: Keys, shift: int, bits: int) -> tuple[Keys, NDArray[np.int32]]:
    """Distribute the keys into buckets by their highest bits; return them with the start of each bucket."""
    from scipy.sparse import csr_array

    bucket = (keys >> np.uint64(shift)).astype(np.int32)
    # Transposing a one-row sparse matrix is a counting sort of its entries by column, in compiled code.
    row = csr_array((keys, bucket, np.array([0, len(keys)], dtype=np.int32)), shape=(1, 1 << bits), copy=False)
    columns = row.tocsc()
    return columns.data, columns.indptr


def _sort_in_groups(keys: Keys, n_bits: int) -> None:
    """Distribute the keys coarsely, then sort groups of neighbouring buckets within the cache."""
    shift = n_bits - _COARSE_BITS
    starts = []
    for start in range(0, len(keys), _PIECE):
        piece = keys[start : start + _PIECE]
        piece[:], first = _dealt_out(piece, shift, _COARSE_BITS)
        starts.append(start + first)
    before = np.sum([first - first[0] for first in starts], axis=0)
    cuts = np.unique(np.searchsorted(before, np.arange(0, len(keys), _GROUP)))
    bounds = [*map(int, cuts), len(before) - 1]
    out = np.empty_like(keys)

    def sort_group(low: int, high: int) -> None:
        group = np.concatenate([keys[first[low] : first[high]] for first in starts])
        if len(group):
            base = np.uint64(low << shift)
            group -= base
            _bucket_sort(group, ((high - low << shift) - 1).bit_length())
            group += base
        out[before[low] : before[high]] = group

    for _ in parallel(lambda k: sort_group(bounds[k], bounds[k + 1]), range(len(bounds) - 1)):
        pass
    keys[:] = out


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
