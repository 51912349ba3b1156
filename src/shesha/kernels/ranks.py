"""Ranks, and rank correlation without ranks: two sorts of packed integers.

Values that are equal in exact arithmetic differ by rounding once computed, and their order would be
noise. So values closer than the rounding level (`tolerance`) tie, and tied values share their mean rank.

A value becomes a fixed-point key, key and index one integer, and sorting these integers gives the
order. Where the keys are coarser than the tolerance, the possible error is bounded, and the values
themselves are sorted if the bound is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shesha._arrays import elsewhere
from shesha._types import Index, Keys, Vector
from shesha.kernels import devices
from shesha.kernels.precision import MAX_SPAN
from shesha.kernels.sorting import sort_in_place
from shesha.kernels.threads import parallel

_KEY_BITS = 52
"""A double in [1, 2) has 52 fraction bits: its bit pattern is the fixed-point key."""
_MAX_ERROR = 5e-10
"""Largest error in a rank correlation that keys coarser than the tolerance may cause."""
_AT_ONCE = 1 << 18
"""Entries that a thread packs, or writes to their places, at a time."""
_BLOCK = 1 << 15
"""Entries that pass through the cache together. Fixed: sums are taken block by block."""


@dataclass(frozen=True)
class Ordering:
    """The order that sorts a vector, and the mean ranks of the sorted positions where values tie."""

    order: Index
    ranks: Vector | None
    variance: float
    """Sum of squared deviations of the ranks from their mean; 0 when all values tie."""


def spearman(
    a: Vector,
    b: Vector | Callable[[], Vector],
    tolerance: tuple[float, float] = (0.0, 0.0),
    scratch: Vector | None = None,
) -> float:
    """Rank correlation of two vectors, which are overwritten; NaN if either is constant.

    `b` may be a function that computes the vector: it is called when the work memory of `a` is free again.
    """
    first = ordering(a, tolerance[0], (np.empty_like(a) if scratch is None else scratch).view(np.uint64))
    if first.variance == 0:
        return float("nan")
    values = b() if callable(b) else b
    # In the order of `a`, the position is the rank: nothing is scattered.
    np.take(values, first.order, out=a, mode="clip")
    # The order has done its work, and large ones take the memory that sorting needs.
    first = replace(first, order=np.empty(0, dtype=np.intp))
    second = ordering(a, tolerance[1], values.view(np.uint64))
    if second.variance == 0:
        return float("nan")
    return correlation(first, second)


def correlation(first: Ordering, second: Ordering) -> float:
    """Rank correlation of a vector's ordering and that of a vector arranged in the first one's order."""
    n = len(second.order)
    centre = (n - 1) / 2
    total = 0.0
    for start, stop in _blocks(n):
        x = second.order[start:stop] if first.ranks is None else np.take(first.ranks, second.order[start:stop])
        y = np.arange(start, stop) if second.ranks is None else second.ranks[start:stop]
        # A pairwise sum, not a BLAS dot: its rounding does not depend on the number of threads.
        total += float(((x - centre) * (y - centre)).sum())
    return float(np.clip(total / np.sqrt(first.variance * second.variance), -1.0, 1.0))


def midranks(values: Vector, tolerance: float = 0.0) -> tuple[Vector, float]:
    """Ranks from 0 (ties share their mean rank) and their summed squared deviation from the mean."""
    found = ordering(values, tolerance, np.empty(len(values), dtype=np.uint64))
    return _scattered(found, np.empty(len(values)), 0.0, 1.0), found.variance


@elsewhere(devices.unit_ranks)
def unit_ranks(values: Vector, tolerance: float = 0.0, out: Vector | None = None) -> Vector:
    """Centred ranks scaled to unit length; all NaN if the values are equal. `out` may be the values themselves."""
    found = ordering(values, tolerance, np.empty(len(values), dtype=np.uint64))
    scale = 1 / np.sqrt(found.variance) if found.variance > 0 else np.nan
    return _scattered(found, np.empty(len(values)) if out is None else out, (len(values) - 1) / 2, scale)


def _scattered(found: Ordering, out: Vector, centre: float, scale: float) -> Vector:
    """Write (rank - centre) scale to the place of each value."""

    def scatter(start: int) -> None:
        stop = min(start + _AT_ONCE, len(out))
        ranks = np.arange(start, stop, dtype=np.float64) if found.ranks is None else found.ranks[start:stop] + 0.0
        ranks -= centre
        ranks *= scale
        out[found.order[start:stop]] = ranks

    for _ in parallel(scatter, range(0, len(out), _AT_ONCE)):
        pass
    return out


def ordering(values: Vector, tolerance: float, keys: Keys) -> Ordering:
    """Sort the values; `keys` is work memory of the same length and becomes the order."""
    n = len(values)
    low, high = float(values.min()), float(values.max())
    if not high - low > tolerance:
        return Ordering(np.arange(n), np.full(n, (n - 1) / 2), 0.0)
    index_bits = max(1, (n - 1).bit_length())
    key_bits = min(_KEY_BITS, 63 - index_bits)
    step = (high - low) * 2.0**-key_bits
    # Denormal numbers cannot be scaled.
    if not np.finfo(float).tiny < step < np.inf:
        return _exact_ordering(values, tolerance)
    _pack(values, low, high - low, key_bits, index_bits, keys)
    sort_in_place(keys, key_bits + index_bits)
    gap = np.uint64(max(1, int(np.ceil(tolerance / step))))
    links = _links(keys, np.uint64(index_bits), gap)
    ties = None
    if step <= tolerance and len(links):
        ties = _group_starts(keys >> np.uint64(index_bits), gap)
    elif _error_bound(links, n) > _MAX_ERROR:
        return _exact_ordering(values, tolerance)
    keys &= np.uint64((1 << index_bits) - 1)
    return _with_ties(keys.view(np.intp), ties)


def _blocks(stop: int, start: int = 0) -> Iterator[tuple[int, int]]:
    return ((at, min(at + _BLOCK, stop)) for at in range(start, stop, _BLOCK))


def _pack(values: Vector, low: float, span: float, key_bits: int, index_bits: int, keys: Keys) -> None:
    # Well below one: the largest value must not round up to 2 and wrap around to the smallest key.
    scale = (1 - 2.0**-50) / span

    def pack(first: int) -> None:
        for start, stop in _blocks(min(first + _AT_ONCE, len(values)), first):
            block = values[start:stop] - low
            block *= scale
            block += 1.0
            bits = block.view(np.uint64)
            bits <<= np.uint64(12)
            bits >>= np.uint64(64 - key_bits)
            bits <<= np.uint64(index_bits)
            np.bitwise_or(bits, np.arange(start, stop, dtype=np.uint64), out=keys[start:stop])

    for _ in parallel(pack, range(0, len(values), _AT_ONCE)):
        pass


def _links(keys: Keys, shift: np.uint64, gap: np.uint64) -> Index:
    """Return the sorted positions whose key is within the gap of the next one."""
    found = [
        start + np.flatnonzero(np.diff(keys[start : stop + 1] >> shift) <= gap) for start, stop in _blocks(len(keys))
    ]
    return np.concatenate(found)


def _exact_ordering(values: Vector, tolerance: float) -> Ordering:
    order = np.argsort(values)
    ordered = values[order]
    linked = bool((np.diff(ordered) <= tolerance).any())
    return _with_ties(order, _group_starts(ordered, np.float64(tolerance)) if linked else None)


def _group_starts(ordered: NDArray[np.uint64] | Vector, gap: np.uint64 | np.float64) -> Index:
    linked = np.diff(ordered) <= gap
    starts = np.flatnonzero(np.concatenate(([True], ~linked)))
    ends = np.append(starts[1:], len(ordered)) - 1
    chained = ordered[ends] - ordered[starts] > MAX_SPAN * gap
    if chained.any():
        # Dense data: fall back to a fixed grid, whose cells cannot grow.
        cell = ordered // gap
        linked &= ~np.repeat(chained, ends - starts + 1)[1:] | (cell[1:] == cell[:-1])
        starts = np.flatnonzero(np.concatenate(([True], ~linked)))
    return np.append(starts, len(ordered))


def _error_bound(links: Index, n: int) -> float:
    """Bound the change of a rank correlation by leaving linked positions as they fall: t of them move by t / 2."""
    first = np.flatnonzero(np.diff(links, prepend=-2) != 1)
    sizes = np.diff(np.append(first, len(links))).astype(np.float64) + 1
    return float(3 * np.sum(sizes**2)) / float(n) ** 2


def _with_ties(order: Index, ties: Index | None) -> Ordering:
    n = len(order)
    variance = (float(n) ** 3 - n) / 12
    if ties is None:
        return Ordering(order, None, variance)
    sizes = np.diff(ties)
    ranks = np.repeat(ties[:-1] + (sizes - 1) / 2, sizes)
    tied = sizes[sizes > 1].astype(np.float64)
    # All tied: exactly zero, whatever the rounding of the two terms.
    return Ordering(order, ranks, variance - float(np.sum(tied**3 - tied)) / 12 if len(sizes) > 1 else 0.0)


def pearson(a: Vector, b: Vector, tolerance: tuple[float, float] = (0.0, 0.0)) -> float:
    """Linear correlation of two vectors, which are overwritten; NaN if either is constant within its tolerance."""
    for values, level in ((a, tolerance[0]), (b, tolerance[1])):
        if not values.max() - values.min() > level:
            return float("nan")
        values -= values.mean()
        values /= np.abs(values).max()
    products = [sum(float((x[s:e] * y[s:e]).sum()) for s, e in _blocks(len(a))) for x, y in ((a, b), (a, a), (b, b))]
    return float(np.clip(products[0] / np.sqrt(products[1] * products[2]), -1.0, 1.0))
