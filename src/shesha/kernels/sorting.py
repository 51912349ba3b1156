"""Sorting and ranking of integers that pack a fixed-point key and an index, in compiled loops (ranks.c) or NumPy.

Both give the same results. Work is divided only by the length and content of the vectors, and all sums are sums of
integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import native
from shesha.kernels.rounding_and_scaling import MAX_SPAN
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Keys, Mask, Matrix, Vector

Pairs = NDArray[np.uint32]

_COMPILED_PIECE = 1 << 20
"""Number of entries in one task for a thread."""
_BUCKET_BITS = 10
"""Log2 of the number of entries in a bucket; it is chosen so that a bucket is sorted within the first-level cache."""
_MOST_BITS = 11
"""Log2 of the number of buckets per pass, limited by the size of the second-level cache."""
_KEEP_KEYS, _KEEP_INDICES, _MULTIPLY = range(3)


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


def sum_rank_products(values: Vector, form: FixedPoint, keys: Keys, ranks: Vector | None = None) -> tuple[float, float]:
    """Sum the products of the values' centred ranks with another vector's; also return the result of `sort_keys`.

    The values are in the order of the other vector, whose rank at a position is the position itself, or the entry of
    `ranks` there. `keys` is used as work memory.
    """
    groups = _sort_groups(_dealt(values, form, keys), form, keys, _MULTIPLY, ranks)
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


def subset_correlation(rows: Pairs, order: Index, inside: NDArray[np.uint8], place: Pairs) -> float:
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

    def write(start: int) -> None:
        part = slice(start, start + _COMPILED_PIECE)
        own = None if ranks is None else ranks[part]
        native.call("shesha_put_ranks", len(order[part]), order[part], start, own, centre, scale, out)

    _each(write, range(0, len(order), _COMPILED_PIECE))


def _dealt(values: Vector, form: FixedPoint, keys: Keys) -> Index:
    """Pack keys and indices into buckets by the leading bits of the keys; return the start of each bucket."""
    n = len(values)
    top = int(np.clip(n.bit_length() - _BUCKET_BITS, 1, min(_MOST_BITS, form.key_bits)))
    counts = np.zeros((-(-n // _COMPILED_PIECE), 1 << top), dtype=np.intp)

    def count(piece: int) -> None:
        part = values[piece * _COMPILED_PIECE : (piece + 1) * _COMPILED_PIECE]
        native.call("shesha_count", len(part), part, form.low, form.scale, top, counts[piece])

    def deal(piece: int) -> None:
        start, bits = piece * _COMPILED_PIECE, (form.key_bits, form.index_bits, top)
        part = values[start : start + _COMPILED_PIECE]
        native.call("shesha_deal", len(part), part, start, form.low, form.scale, *bits, slots[piece], keys)

    _each(count, range(len(counts)))
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    slots = starts[:-1] + np.cumsum(counts, axis=0) - counts
    _each(deal, range(len(counts)))
    return starts


_Group = tuple[Index, float]
"""Output of `shesha_sort_buckets`: an array of statistics and the sum of squared run lengths."""


def _sort_groups(starts: Index, form: FixedPoint, keys: Keys, then: int, ranks: Vector | None = None) -> list[_Group]:
    n, top = int(starts[-1]), (len(starts) - 1).bit_length() - 1
    cuts = np.unique(np.searchsorted(starts, [*range(0, n, _COMPILED_PIECE), n]))

    def sort(group: int) -> _Group:
        ends = starts[cuts[group] : cuts[group + 1] + 1]
        stats, squares = np.zeros(7, dtype=np.intp), np.zeros(1)
        bits = form.key_bits + form.index_bits - top, form.index_bits, form.gap
        if native.call("shesha_sort_buckets", len(ends) - 1, ends, *bits, keys, then, ranks, n, stats, squares):
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


def positions_of_repeats(numbers: Index | Keys) -> Index:
    """Positions of the numbers that occur more than once."""
    ordered = np.sort(numbers)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(numbers, several, kind="sort")) if len(several) else np.empty(0, dtype=np.intp)


_KEY_BITS = 52
"""Number of bits in a fixed-point key, equal to the number of fraction bits of a double."""
_MAX_ERROR = 5e-10
"""Largest acceptable error in a rank correlation due to keys that are coarser than the tolerance."""
_FEW_CLOSE = 0.25
"""If at most this share of the values have nearly equal keys, only those values are sorted again."""
_BLOCK = 1 << 15
"""Number of entries per block. It is fixed because the blockwise sums, including rounding, depend on it."""


@dataclass(frozen=True)
class Ordering:
    """The sorting order of a vector, and its ranks, with mean ranks for ties."""

    order: Index
    ranks: Vector | None
    variance: float
    """Sum of squared deviations of the ranks from their mean; 0 when all values tie."""

    def unit_ranks(self, places: Index | None = None) -> Vector:
        """Centred ranks of unit length, each at its place, which is its entry in `places` or in the order."""
        n = len(self.order)
        ranked = (np.arange(n, dtype=np.float64) if self.ranks is None else self.ranks) - (n - 1) / 2
        ranked *= 1 / np.sqrt(self.variance)
        out = np.empty(n)
        out[self.order if places is None else places] = ranked
        return out


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
    fine = _key_width(form, spread) <= tolerance
    squares = sort_keys(values, form, keys, strip=not fine)
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


def _key_width(form: FixedPoint, spread: tuple[float, float]) -> float:
    """Difference between two values whose keys differ by one."""
    return (spread[1] - spread[0]) * 2.0**-form.key_bits


def may_stay(squares: float, form: FixedPoint, spread: tuple[float, float], tolerance: float, n: int) -> bool:
    """Whether values with nearly equal keys may stay unsorted; in a run of t, ranks err by at most t / 2."""
    if squares == 0:
        return True
    return _key_width(form, spread) > tolerance and _is_negligible(squares, n)


def _is_negligible(squares: float, n: int) -> bool:
    """Whether unsorted runs whose squared lengths have this sum hardly change a rank correlation."""
    return 3 * squares / float(n) ** 2 <= _MAX_ERROR


def sort_keys(values: Vector, form: FixedPoint, keys: Keys, *, strip: bool) -> float:
    """Fill `keys` with sorted entries or their order; return the summed squared lengths of linked runs."""
    if native.is_available():
        groups = _sort_groups(_dealt(values, form, keys), form, keys, _KEEP_INDICES if strip else _KEEP_KEYS)
        return _runs(groups, form.gap)
    _pack(values, form, keys)
    keys.sort()
    squares = _squared_runs(_links(keys, np.uint64(form.index_bits), np.uint64(form.gap)))
    if strip:
        keys &= np.uint64((1 << form.index_bits) - 1)
    return squares


def block_bounds(stop: int) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of each block."""
    return ((low, min(low + _BLOCK, stop)) for low in range(0, stop, _BLOCK))


def _pack(values: Vector, form: FixedPoint, keys: Keys) -> None:
    scaled = keys.view(np.float64)
    np.subtract(values, form.low, out=scaled)
    scaled *= form.scale
    scaled += 1.0
    keys <<= np.uint64(12)
    keys >>= np.uint64(64 - form.key_bits)
    keys <<= np.uint64(form.index_bits)
    keys |= np.arange(len(keys), dtype=np.uint64)


def _links(keys: Keys, shift: np.uint64, gap: np.uint64) -> Index:
    """Return the positions in the sorted order whose key is within the gap of the next key."""
    # In blocks, because a copy of all keys takes as much memory as the distances.
    links = [
        start + np.flatnonzero(np.diff(keys[start : stop + 1] >> shift) <= gap)
        for start, stop in block_bounds(len(keys))
    ]
    return np.concatenate(links)


def _exact_ordering(values: Vector, tolerance: float) -> Ordering:
    order = np.argsort(values)
    ordered = values[order]
    linked = bool(_links_of(ordered, tolerance).any())
    return _ordering_with_ties(order, _group_starts(ordered, np.float64(tolerance)) if linked else None)


def _sort_close_values(values: Vector, form: FixedPoint, tolerance: float, keys: Keys) -> Ordering:
    """Sort by key, then by value among close keys; all other values differ by more than the tolerance."""
    sort_keys(values, form, keys, strip=False)
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
    squares = _squared_runs(np.flatnonzero(_links_of(ordered, tolerance)))
    if _is_negligible(squares, len(values)):
        return _ordering_with_ties(order, None)
    return _ordering_with_ties(order, _spread_starts(close, _group_starts(ordered, np.float64(tolerance)), len(values)))


def _spread_starts(positions: Index, starts: Index, n: int) -> Index:
    """Starts of the groups among all n positions, given those at some positions; the rest are singletons."""
    is_start = np.ones(n, dtype=bool)
    is_start[positions] = False
    is_start[positions[starts[:-1]]] = True
    return np.append(np.flatnonzero(is_start), n)


def _links_of(ordered: NDArray[np.uint64] | Vector, gap: np.uint64 | float) -> Mask:
    """Return which neighbours of sorted values differ by at most the gap."""
    with np.errstate(over="ignore"):  # An infinite difference exceeds any gap.
        return np.diff(ordered) <= gap


def _group_starts(ordered: NDArray[np.uint64] | Vector, gap: np.uint64 | np.float64) -> Index:
    """Return the first position of each group of near-ties, and the number of values."""
    linked = _links_of(ordered, gap)
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
