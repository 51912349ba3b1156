"""Sorting and ranking of integers that pack a fixed-point key and an index, in compiled loops (ranks.c) or NumPy.

Both give the same results. Work is divided only by the length and content of the vectors, and all sums are sums of
integers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import native
from shesha.kernels.rounding_and_scaling import MAX_SPAN
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Keys, Matrix, Vector

Places = NDArray[np.uint32]
Pairs = NDArray[np.uint32]

_COMPILED_PIECE = 1 << 20
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


def sort_keys_compiled(values: Vector, form: FixedPoint, keys: Keys, *, strip: bool) -> float:
    """Fill `keys` with sorted entries or their order; return the summed squared lengths of linked runs."""
    starts = _dealt(values, form, keys)
    then = _KEEP_INDICES if strip else _KEEP_KEYS
    return _runs(_sort_groups(starts, form, keys, then), form.gap)


def places(values: Vector, form: FixedPoint, keys: Keys) -> tuple[Places, float]:
    """Return the rank of each value and the result of `sort_keys_compiled`; `keys` is used as work memory."""
    out = np.empty(len(values), dtype=np.uint32)
    groups = _sort_groups(_dealt(values, form, keys), form, keys, _PUT_PLACES, out)
    return out, _runs(groups, form.gap)


def sum_rank_products(
    values: Vector, form: FixedPoint, keys: Keys, *, places: Places | None = None, ranks: Vector | None = None
) -> tuple[float, float]:
    """Sum the products of the values' centred ranks with another vector's; also return `sort_keys_compiled`.

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
        sums, stop = np.empty(2, dtype=np.intp), min(start + _COMPILED_PIECE, n)
        part = None if second_ranks is None else second_ranks[start:stop]
        native.call("shesha_products", stop - start, order[start:stop], start, first_ranks, part, n, sums)
        return sums

    return _total(parallel(some, range(0, n, _COMPILED_PIECE)))


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
    ranges = np.empty((-(-len(order) // _COMPILED_PIECE), 2))

    def take(piece: int) -> None:
        part = slice(piece * _COMPILED_PIECE, min((piece + 1) * _COMPILED_PIECE, len(order)))
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
    counts = np.zeros((-(-n // _COMPILED_PIECE), n_windows), dtype=np.intp)

    def count(piece: int) -> None:
        part = order[piece * _COMPILED_PIECE : (piece + 1) * _COMPILED_PIECE]
        native.call("shesha_count_places", len(part), part, shift, counts[piece])

    def deal(piece: int) -> None:
        part = order[piece * _COMPILED_PIECE : (piece + 1) * _COMPILED_PIECE]
        native.call("shesha_deal_places", len(part), part, piece * _COMPILED_PIECE, shift, slots[piece], room)

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
    counts = np.zeros((-(-n // _COMPILED_PIECE), 1 << top), dtype=np.intp)

    def count(piece: int) -> None:
        part = values[piece * _COMPILED_PIECE : (piece + 1) * _COMPILED_PIECE]
        native.call("shesha_count", len(part), part, form.low, form.scale, top, counts[piece])

    def deal(piece: int) -> None:
        part = slice(piece * _COMPILED_PIECE, (piece + 1) * _COMPILED_PIECE)
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
    cuts = np.unique(np.searchsorted(starts, [*range(0, n, _COMPILED_PIECE), n]))

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


_CELLS = 8
"""Number of cells in the lookup table per sorted number."""
_MOST = 8
"""Largest number of sorted numbers per cell for which linear search is faster than bisection."""


def insertion_places(levels: Vector, values: Matrix) -> Index:
    """Count the levels below each value, as `numpy.searchsorted` does; levels are sorted and distinct.

    A table with equally wide cells shows where each search starts, so that only a few levels are compared.
    """
    low, width = float(levels[0]), float(levels[-1]) - float(levels[0])
    n_cells = _CELLS * len(levels)
    if not 0 < width < np.inf:
        return np.searchsorted(levels, values)

    def cells(numbers: Matrix) -> Index:
        # Rounding preserves the order: of two numbers in different cells, the larger one is in the later cell.
        return np.clip((numbers - low) * (n_cells / width), 0, n_cells - 1).astype(np.intp)

    held = np.bincount(cells(levels), minlength=n_cells)
    most = int(held.max())
    if most > _MOST:
        return np.searchsorted(levels, values)
    places = (np.cumsum(held) - held)[cells(values)]
    padded = np.append(levels, np.inf)
    for _ in range(most):
        places += padded[places] < values
    return places


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


_KEY_BITS = 52
"""Number of bits in a fixed-point key, equal to the number of fraction bits of a double."""
_MAX_ERROR = 5e-10
"""Largest acceptable error in a rank correlation due to keys that are coarser than the tolerance."""
_FEW_CLOSE = 0.25
"""If at most this share of the values have nearly equal keys, only those values are sorted again."""
_AT_ONCE = 1 << 18
"""Number of entries that a thread packs or writes at a time."""
_BLOCK = 1 << 15
"""Number of entries per block. It is fixed because the blockwise sums, including rounding, depend on it."""


@dataclass(frozen=True)
class Ordering:
    """The sorting order of a vector, and its ranks, with mean ranks for ties."""

    order: Index
    ranks: Vector | None
    variance: float
    """Sum of squared deviations of the ranks from their mean; 0 when all values tie."""


def value_range(values: Vector) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    return float(values.min()), float(values.max())


def order_values(values: Vector, tolerance: float, keys: Keys) -> Ordering:
    """Sort the values; `keys` is work memory of the same length and is overwritten by the order."""
    n = len(values)
    spread = value_range(values)
    if not spread[1] - spread[0] > tolerance:
        return Ordering(np.arange(n), np.full(n, (n - 1) / 2), 0.0)
    form = fixed_point(values, spread, tolerance)
    if form is None:
        return _exact_ordering(values, tolerance)
    fine = _step(form, spread) <= tolerance
    squares = (sort_keys_compiled if native.is_available() else sort_keys)(values, form, keys, strip=not fine)
    if fine:
        ties = _group_starts(keys >> np.uint64(form.index_bits), np.uint64(form.gap)) if squares > 0 else None
        keys &= np.uint64((1 << form.index_bits) - 1)
        return _ordering_with_ties(keys.view(np.intp), ties)
    if may_stay(squares, form, spread, tolerance, n):
        return _ordering_with_ties(keys.view(np.intp), None)
    return _sort_close_values(values, form, tolerance, keys)


def fixed_point(values: Vector, spread: tuple[float, float], tolerance: float) -> FixedPoint | None:
    """Return the conversion of values to integers; None if it is impossible or if all values tie."""
    low, high = spread
    index_bits = max(1, (len(values) - 1).bit_length())
    key_bits = min(_KEY_BITS, 64 - index_bits)
    step = (high - low) * 2.0**-key_bits
    # A step that is subnormal or infinite does not allow scaling.
    if not (high - low > tolerance and np.finfo(float).tiny < step < np.inf):
        return None
    # The factor is slightly below one, so that the largest value cannot round up and wrap around to the smallest key.
    scale = (1 - 2.0**-50) / (high - low)
    return FixedPoint(low, scale, key_bits, index_bits, max(1, int(np.ceil(tolerance / step))))


def _step(form: FixedPoint, spread: tuple[float, float]) -> float:
    """Difference between two values whose keys differ by one."""
    return (spread[1] - spread[0]) * 2.0**-form.key_bits


def may_stay(squares: float, form: FixedPoint, spread: tuple[float, float], tolerance: float, n: int) -> bool:
    """Whether values with nearly equal keys may stay unsorted; in a run of t, ranks err by at most t / 2."""
    if squares == 0:
        return True
    return _step(form, spread) > tolerance and _is_negligible(squares, n)


def _is_negligible(squares: float, n: int) -> bool:
    """Whether unsorted runs whose squared lengths have this sum hardly change a rank correlation."""
    return 3 * squares / float(n) ** 2 <= _MAX_ERROR


def sort_keys(values: Vector, form: FixedPoint, keys: Keys, *, strip: bool) -> float:
    """Fill `keys` with sorted entries or their order; return the summed squared lengths of linked runs."""
    _pack(values, form, keys)
    sort_in_place(keys, form.key_bits + form.index_bits)
    squares = _squared_runs(_links(keys, np.uint64(form.index_bits), np.uint64(form.gap)))
    if strip:
        keys &= np.uint64((1 << form.index_bits) - 1)
    return squares


def block_bounds(stop: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of each block."""
    return ((low, min(low + _BLOCK, stop)) for low in range(start, stop, _BLOCK))


def _pack(values: Vector, form: FixedPoint, keys: Keys) -> None:
    def pack(first: int) -> None:
        for start, stop in block_bounds(min(first + _AT_ONCE, len(values)), first):
            block = values[start:stop] - form.low
            block *= form.scale
            block += 1.0
            bits = block.view(np.uint64)
            bits <<= np.uint64(12)
            bits >>= np.uint64(64 - form.key_bits)
            bits <<= np.uint64(form.index_bits)
            np.bitwise_or(bits, np.arange(start, stop, dtype=np.uint64), out=keys[start:stop])

    for _ in parallel(pack, range(0, len(values), _AT_ONCE)):
        pass


def _links(keys: Keys, shift: np.uint64, gap: np.uint64) -> Index:
    """Return the positions in the sorted order whose key is within the gap of the next key."""
    links = [
        start + np.flatnonzero(np.diff(keys[start : stop + 1] >> shift) <= gap)
        for start, stop in block_bounds(len(keys))
    ]
    return np.concatenate(links)


def _exact_ordering(values: Vector, tolerance: float) -> Ordering:
    order = np.argsort(values)
    ordered = values[order]
    linked = bool((np.diff(ordered) <= tolerance).any())
    return _ordering_with_ties(order, _group_starts(ordered, np.float64(tolerance)) if linked else None)


def _sort_close_values(values: Vector, form: FixedPoint, tolerance: float, keys: Keys) -> Ordering:
    """Sort by key, then by value among close keys; all other values differ by more than the tolerance."""
    (sort_keys_compiled if native.is_available() else sort_keys)(values, form, keys, strip=False)
    links = _links(keys, np.uint64(form.index_bits), np.uint64(form.gap))
    if len(links) > _FEW_CLOSE * len(values):
        return _exact_ordering(values, tolerance)
    keys &= np.uint64((1 << form.index_bits) - 1)
    order = keys.view(np.intp)
    is_close = np.zeros(len(values), dtype=bool)
    is_close[links] = is_close[links + 1] = True
    close = np.flatnonzero(is_close)
    indices = order[close]
    ordered = values[indices]
    # Runs are consecutive, so one stable sort of all their values sorts each run.
    by_value = np.argsort(ordered, kind="stable")
    order[close], ordered = indices[by_value], ordered[by_value]
    squares = _squared_runs(np.flatnonzero(np.diff(ordered) <= tolerance))
    if _is_negligible(squares, len(values)):
        return _ordering_with_ties(order, None)
    return _ordering_with_ties(order, _spread_starts(close, _group_starts(ordered, np.float64(tolerance)), len(values)))


def _spread_starts(positions: Index, starts: Index, n: int) -> Index:
    """Starts of the groups among all n positions, given those at some positions; the rest are singletons."""
    is_start = np.ones(n, dtype=bool)
    is_start[positions] = False
    is_start[positions[starts[:-1]]] = True
    return np.append(np.flatnonzero(is_start), n)


def _group_starts(ordered: NDArray[np.uint64] | Vector, gap: np.uint64 | np.float64) -> Index:
    """Return the first position of each group of near-ties, and the number of values."""
    linked = np.diff(ordered) <= gap
    links = np.flatnonzero(linked)
    firsts = links[np.diff(links, prepend=-2) != 1]
    lasts = links[np.diff(links, append=len(ordered) + 1) != 1] + 1
    chained = ordered[lasts] - ordered[firsts] > MAX_SPAN * gap
    if chained.any():
        # If a chain of near-ties is too long, its values are grouped by the cells of a fixed grid instead.
        links = links[np.repeat(chained, lasts - firsts)]
        linked[links] = ordered[links] // gap == ordered[links + 1] // gap
    # The arrays are as long as all pairs of rows, so temporary copies would take more memory than the distances.
    edges = np.ones(len(ordered) + 1, dtype=bool)
    np.logical_not(linked, out=edges[1:-1])
    return np.flatnonzero(edges)


def _squared_runs(links: Index) -> float:
    """Sum of the squared lengths of the runs of linked positions."""
    first = np.flatnonzero(np.diff(links, prepend=-2) != 1)
    sizes = np.diff(np.append(first, len(links))).astype(np.float64) + 1
    return float(np.sum(sizes**2))


def _ordering_with_ties(order: Index, ties: Index | None) -> Ordering:
    variance = rank_variance(len(order))
    if ties is None:
        return Ordering(order, None, variance)
    sizes = np.diff(ties)
    middles = sizes - 1.0
    middles /= 2
    middles += ties[:-1]
    ranks = np.repeat(middles, sizes)
    tied = sizes[sizes > 1].astype(np.float64)
    # If all values tie, the variance is set to exactly zero, despite the rounding of both terms.
    return Ordering(order, ranks, variance - float(np.sum(tied**3 - tied)) / 12 if len(sizes) > 1 else 0.0)


def rank_variance(n: int) -> float:
    """Sum of squared deviations of n ranks without ties."""
    return (float(n) ** 3 - n) / 12
