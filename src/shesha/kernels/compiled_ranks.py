"""Compiled loops over sort keys, orders and ranks (ranks.c), whose results equal NumPy's.

Work is divided only by the length and content of the vectors, and all sums are sums of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import native
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Keys, Vector

Places = NDArray[np.uint32]
Pairs = NDArray[np.uint32]

_PIECE = 1 << 20
"""Number of entries in one task for a thread."""
_BUCKET_BITS = 10
"""Log2 of the number of entries in a bucket; it is chosen so that a bucket is sorted within the first-level cache."""
_MOST_BITS = 11
"""Log2 of the number of buckets per pass, limited by the size of the second-level cache."""
_WINDOW_BITS = 15
"""Log2 of the number of entries in a block with random writes; it is chosen so that the block fits in the cache."""
MOST_PLACES = 1 << 32
"""Largest number of entries for which a position and a rank fit into one integer."""
_KEEP_KEYS, _KEEP_INDICES, _PUT_PLACES, _MULTIPLY = range(4)


@dataclass(frozen=True)
class FixedPoint:
    """Conversion of values to integers that hold a key in the upper bits and the index in the lower bits."""

    low: float
    scale: float
    """Factor that maps the difference between a value and `low` into the range [0, 1)."""
    key_bits: int
    index_bits: int
    gap: int
    """Largest difference between two keys that may represent tied values."""


def sort_keys(values: Vector, form: FixedPoint, keys: Keys, *, strip: bool) -> float:
    """Fill `keys` with sorted entries or their order; return the summed squared lengths of linked runs."""
    starts = _dealt(values, form, keys)
    then = _KEEP_INDICES if strip else _KEEP_KEYS
    return _runs(_sort_groups(starts, form, keys, then), form.gap)


def places(values: Vector, form: FixedPoint, keys: Keys) -> tuple[Places, float]:
    """Return the rank of each value and the result of `sort_keys`; `keys` is used as work memory."""
    out = np.empty(len(values), dtype=np.uint32)
    groups = _sort_groups(_dealt(values, form, keys), form, keys, _PUT_PLACES, out)
    return out, _runs(groups, form.gap)


def sum_rank_products(
    values: Vector, form: FixedPoint, keys: Keys, *, places: Places | None = None, ranks: Vector | None = None
) -> tuple[float, float]:
    """Sum the products of the values' centred ranks with another vector's; also return `sort_keys`.

    `places` contains the position of each value in the other vector's order; None if the values are already in that
    order. The other vector's rank at a position is the position itself, or the entry of `ranks` there. `keys` is used
    as work memory.
    """
    groups = _sort_groups(_dealt(values, form, keys, places), form, keys, _MULTIPLY, None, ranks)
    return _total(sums for sums, _ in groups), _runs(groups, form.gap)


def products(order: Index, first_ranks: Vector | None, second_ranks: Vector | None) -> float:
    """Sum the products of centred ranks; `order` lists the second vector's order as first-order positions."""
    n = len(order)

    def some(start: int) -> Index:
        sums, stop = np.empty(2, dtype=np.intp), min(start + _PIECE, n)
        part = None if second_ranks is None else second_ranks[start:stop]
        native.call("shesha_products", stop - start, order[start:stop], start, first_ranks, part, n, sums)
        return sums

    return _total(parallel(some, range(0, n, _PIECE)))


def subset_correlation(rows: Pairs, order: Index, inside: NDArray[np.uint8], place: Places) -> float:
    """Rank correlation over the pairs of marked rows, given the two orders of all pairs, without ties.

    `rows` contains the two row numbers (16 bits each) of each pair, in the first order. `order` lists the pairs in the
    second order, by their positions in the first. `inside` marks the rows. `place` is used as work memory.
    """
    out = np.empty(3, dtype=np.intp)
    native.call("shesha_products_within", len(order), rows, order, inside, place, out)
    n = float(out[2])
    return float(np.clip(_total(iter([out])) / ((n**3 - n) / 12), -1.0, 1.0))


def copy_in_order(values: Vector, order: Index, out: Vector) -> tuple[float, float]:
    """Copy the values in the given order, and return their minimum and maximum."""
    ranges = np.empty((-(-len(order) // _PIECE), 2))

    def take(piece: int) -> None:
        part = slice(piece * _PIECE, min((piece + 1) * _PIECE, len(order)))
        native.call("shesha_take", part.stop - part.start, values, order[part], out[part], ranges[piece])

    _each(take, range(len(ranges)))
    return float(ranges[:, 0].min()), float(ranges[:, 1].max())


def write_ranks(order: Index, ranks: Vector | None, centre: float, scale: float, out: Vector) -> None:
    """Write (rank - centre) * scale for each value."""
    native.call("shesha_put_ranks", len(order), order, 0, ranks, centre, scale, out)


def write_many_ranks(order: Index, ranks: Vector | None, centre: float, scale: float, room: Keys) -> Vector:
    """Write (rank - centre) * scale for each value of a long vector, block by block.

    The only work memory is `room`, which is as long as `order`; the result overwrites `order`.
    """
    n, shift = len(order), max(_WINDOW_BITS, (len(order) - 1).bit_length() - _MOST_BITS)
    n_windows = (n - 1 >> shift) + 1
    starts = np.arange(n_windows + 1) << shift
    starts[-1] = n
    counts = np.zeros((-(-n // _PIECE), n_windows), dtype=np.intp)

    def count(piece: int) -> None:
        part = order[piece * _PIECE : (piece + 1) * _PIECE]
        native.call("shesha_count_places", len(part), part, shift, counts[piece])

    def deal(piece: int) -> None:
        part = order[piece * _PIECE : (piece + 1) * _PIECE]
        native.call("shesha_deal_places", len(part), part, piece * _PIECE, shift, slots[piece], room)

    def write_window(window: int) -> None:
        part = room[starts[window] : starts[window + 1]]
        native.call("shesha_put_dealt_ranks", len(part), part, ranks, centre, scale, out)

    _each(count, range(len(counts)))
    slots = starts[:-1] + np.cumsum(counts, axis=0) - counts
    _each(deal, range(len(counts)))
    out = order.view(np.float64)
    _each(write_window, range(n_windows))
    return out


def _dealt(values: Vector, form: FixedPoint, keys: Keys, indices: Places | None = None) -> Index:
    """Pack keys and indices into buckets by the leading bits of the keys; return the start of each bucket.

    The index of a value is its position in `values`, unless `indices` are given.
    """
    n = len(values)
    top = int(np.clip(n.bit_length() - _BUCKET_BITS, 1, min(_MOST_BITS, form.key_bits)))
    counts = np.zeros((-(-n // _PIECE), 1 << top), dtype=np.intp)

    def count(piece: int) -> None:
        part = values[piece * _PIECE : (piece + 1) * _PIECE]
        native.call("shesha_count", len(part), part, form.low, form.scale, top, counts[piece])

    def deal(piece: int) -> None:
        part = slice(piece * _PIECE, (piece + 1) * _PIECE)
        data, named = values[part], None if indices is None else indices[part]
        bits = form.key_bits, form.index_bits, top
        native.call("shesha_deal", len(data), data, part.start, named, form.low, form.scale, *bits, slots[piece], keys)

    _each(count, range(len(counts)))
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    slots = starts[:-1] + np.cumsum(counts, axis=0) - counts
    _each(deal, range(len(counts)))
    return starts


_Group = tuple[Index, float]
"""Output of `shesha_sort_buckets`: an array of statistics and the sum of squared run lengths."""


def _sort_groups(
    starts: Index, form: FixedPoint, keys: Keys, then: int, places: Places | None = None, ranks: Vector | None = None
) -> list[_Group]:
    n, top = int(starts[-1]), (len(starts) - 1).bit_length() - 1
    cuts = np.unique(np.searchsorted(starts, [*range(0, n, _PIECE), n]))

    def sort(group: int) -> _Group:
        ends = starts[cuts[group] : cuts[group + 1] + 1]
        stats, squares = np.zeros(7, dtype=np.intp), np.zeros(1)
        bits = form.key_bits + form.index_bits - top, form.index_bits, form.gap
        if native.call("shesha_sort_buckets", len(ends) - 1, ends, *bits, keys, then, places, ranks, n, stats, squares):
            raise MemoryError(f"sorting {n:,} values")
        stats[6] = ends[-1] - ends[0]
        return stats, float(squares[0])

    return list(parallel(sort, range(len(cuts) - 1)))


def _runs(groups: list[_Group], gap: int) -> float:
    """Sum the squared lengths of the runs of linked entries, which may continue across groups."""
    total, run, last = 0.0, 0, None
    for (_, _, first_run, last_run, first, own_last, size), squares in groups:
        if last is not None and first - last > gap:
            total, run = total + _square(run), 0
        if first_run == size:
            run += size
        else:
            total, run = total + _square(run + first_run) + squares, last_run
        last = own_last
    return total + _square(run)


def _square(run: int) -> float:
    return float(run) ** 2 if run > 1 else 0.0


def _total(sums: Iterator[Index]) -> float:
    """Combine sums stored as two integers, in units of 2**48 and 1; divide by their common factor of 4."""
    return float(sum((int(some[0]) << 48) + int(some[1]) for some in sums)) / 4


def _each(work: Callable[[int], None], pieces: range) -> None:
    for _ in parallel(work, pieces):
        pass
