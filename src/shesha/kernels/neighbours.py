"""The k nearest rows of each row or query, distances to them, and the dimension that follows from these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import device_kernels, native
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import PANEL
from shesha.kernels.repeated_rows import row_hashes
from shesha.kernels.rounding_and_scaling import CLOSE, length_unit
from shesha.kernels.threads import parallel
from shesha.support.device_arrays import (
    convert_like,
    elsewhere,
    is_numpy,
    namespace,
    smallest,
    squared_lengths,
    take_rows,
    to_host,
)
from shesha.support.memory import memory_budget
from shesha.support.types import Index, Labels, Mask, Matrix, Vector

Halves = NDArray[np.bool_]
"""Mask of the rows in the first half, one line per split."""
_SAME_POINT = 2.0**-40
"""Distance, relative to the length of a row, below which two rows count as equal."""
_COPIED = 0.02
"""Distance of copies that were encoded again, relative to the spread of the rows, which half precision causes."""


def neighbour_distances(rows: Matrix, ranks: Index, halves: Halves | None = None) -> NDArray[np.float64]:
    """Euclidean distance from each row to its neighbours of given ranks: (1 + splits, rows, ranks).

    In the first table, neighbours are sought among all rows; in each further table, among the rows of the same half. An
    entry is NaN if too few of the nearest rows are in the same half.
    """
    n, splits = len(rows), np.empty((0, len(rows)), dtype=bool) if halves is None else halves
    lengths = np.einsum("ij,ij->i", rows, rows)
    width, most = n - 1, int(ranks[-1])
    # Twice as many rows contain enough of the same half, for all but one row in a billion.
    width = min(width, int(2 * most + 6 * np.sqrt(2 * most) + 8) if len(splits) else most)
    out = np.empty((1 + len(splits), n, len(ranks)))

    def fill(start: int) -> None:
        near, neighbours = _nearest_distances(rows, lengths, start, width)
        out[0, start : start + len(near)] = near[:, ranks - 1]
        for table, first in zip(out[1:], splits, strict=True):
            # Ranks are counted among the rows of the same half only.
            counts = np.cumsum(first[neighbours] == first[start : start + len(near), None], axis=1)
            place = np.stack([np.argmax(counts == rank, axis=1) for rank in ranks], axis=1)
            distances = np.take_along_axis(near, place, axis=1)
            table[start : start + len(near)] = np.where(counts[:, -1:] >= ranks, distances, np.nan)

    for _ in parallel(fill, range(0, n, PANEL)):
        pass
    return np.sqrt(out, out=out)


def _nearest_distances(rows: Matrix, lengths: Vector, start: int, width: int) -> tuple[Matrix, Index]:
    """Sorted squared distances from a panel's rows to their nearest rows, and the indices of those rows."""
    panel = rows[start : start + PANEL]
    scale = lengths[start : start + len(panel), None] + lengths
    block = scale - 2.0 * (panel @ rows.T)
    index = np.arange(len(panel))
    block[index, start + index] = np.inf
    nearest = np.argpartition(block, width - 1, axis=1)[:, :width]
    near = np.take_along_axis(block, nearest, axis=1)
    # Distances between close rows are recomputed, because inner products lose precision there.
    i, j = np.nonzero(near <= CLOSE * np.take_along_axis(scale, nearest, axis=1))
    for some in np.array_split(np.arange(len(i)), 1 + i.size * rows.shape[1] // (1 << 22)):
        difference = panel[i[some]] - rows[nearest[i[some], j[some]]]
        near[i[some], j[some]] = np.einsum("ij,ij->i", difference, difference)
    order = np.argsort(near, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(nearest, order, axis=1)


def distinct_rows(rows: Matrix) -> Index:
    """Return the numbers of the rows that do not repeat an earlier row, up to rounding."""
    nearest = neighbour_distances(rows, np.array([1]))[0, :, 0] ** 2
    same_point = _SAME_POINT**2 * np.einsum("ij,ij->i", rows, rows)
    # The tolerance depends on a row's length, so of two coinciding rows only the longer may be within it; the factor 2
    # makes sure that both are examined.
    repeated = np.flatnonzero(nearest <= 2 * same_point + np.finfo(float).tiny)
    if not len(repeated):
        return np.arange(len(rows))
    some = rows[repeated]
    lengths = np.einsum("ij,ij->i", some, some)
    later = [
        start + i
        for start in range(0, len(some), PANEL)
        for i in _repeats_of_earlier(some, lengths, start, 2 * same_point[repeated])
    ]
    return np.delete(np.arange(len(rows)), repeated[later])


def _repeats_of_earlier(rows: Matrix, lengths: Vector, start: int, same_point: Vector) -> list[int]:
    """Return the rows of a panel that coincide with an earlier row."""
    panel = rows[start : start + PANEL]
    scale = lengths[start : start + len(panel), None] + lengths
    close = scale - 2.0 * (panel @ rows.T) <= CLOSE * scale
    repeats = []
    for i in range(len(panel)):
        before = np.flatnonzero(close[i, : start + i])
        difference = rows[before] - panel[i]
        squared = np.einsum("ij,ij->i", difference, difference)
        if bool((squared <= same_point[start + i] + np.finfo(float).tiny).any()):
            repeats.append(i)
    return repeats


_STEPS = 100
_PRECISION = 1e-13


def dimension_of_ratios(log_ratios: Vector, rank: int) -> float:
    """Maximum likelihood dimension from the logs of the distance ratios (neighbours of rank 2 r and r).

    The log-likelihood of Denti et al. 2022 (Gride) is concave in the dimension d, so Newton steps from the left find
    the only root of its derivative. For r = 1, the root is n / sum(log ratios), the estimate from two nearest
    neighbours. The result is infinite if all ratios are 1, and NaN if there are no ratios.
    """
    total, n = float(log_ratios.sum()), len(log_ratios)
    if total <= 0:
        return float("inf") if n else float("nan")
    # The derivative is convex and falls from infinity to -rank * total. This starting point is not above its root.
    d = n / ((2 * rank - 1) * total)
    for _ in range(_STEPS):
        slope, curvature = _derivatives(d, log_ratios, rank)
        step = slope / curvature
        d -= step
        if abs(step) <= _PRECISION * d:
            break
    return d


def _derivatives(d: float, log_ratios: Vector, rank: int) -> tuple[float, float]:
    """First and second derivative of the log-likelihood with respect to d."""
    x = d * log_ratios
    safe = np.where(x > 1e-8, x, 1.0)
    lost = -np.expm1(-safe)
    # log_ratio / (1 - exp(-x)) and log_ratio^2 exp(-x) / (1 - exp(-x))^2, with their limits at 0.
    pull = np.where(x > 1e-8, log_ratios / lost, 1.0 / d)
    bend = np.where(x > 1e-8, log_ratios**2 * np.exp(-safe) / lost**2, 1.0 / d**2)
    n = len(log_ratios)
    slope = n / d + (rank - 1) * float(pull.sum()) - (2 * rank - 1) * float(log_ratios.sum())
    return slope, -n / d**2 - (rank - 1) * float(bend.sum())


_N_NEAREST = 4
"""Number of nearest rows to which each row is linked. With four, groups of up to four rows join the nearest cluster."""


def separate_clusters(gram: Matrix) -> Index:
    """Cluster label of each row: connected components of the Euclidean nearest-neighbour graph.

    The distances come from the inner products in `gram`. The rows of one cloud are connected, whatever its shape and
    the lengths of its rows, because even outlying rows are linked to their nearest rows. Clusters are separated only by
    gaps that no link crosses, and each has at least five rows.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(gram)
    if n <= _N_NEAREST:
        return np.zeros(n, dtype=np.intp)
    lengths, rows = np.diagonal(gram), np.arange(n)
    squared = lengths[:, None] + lengths - 2 * gram
    np.fill_diagonal(squared, np.inf)
    nearest = np.empty((n, _N_NEAREST), dtype=np.int32)
    for place in range(_N_NEAREST):
        nearest[:, place] = squared.argmin(axis=1)
        squared[rows, nearest[:, place]] = np.inf
    starts = np.arange(0, nearest.size + 1, _N_NEAREST, dtype=np.int32)
    links = csr_array((np.ones(nearest.size), nearest.ravel(), starts), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


Single = NDArray[np.float32]
_BLOCK = 2048
"""Number of rows and of columns in the block of products that one thread computes."""
_MOST = 64
"""Largest number of candidates per row for which sorted lists are faster than partitioning."""
_WIDEST = 1 << 16
"""Largest number of features for which the bound on rounding errors is tight enough."""
_UNIT = 2.0**-24
_EPS = float(np.finfo(float).eps)
_TINY = 2.0**-110
"""Largest possible loss through underflow in a sum of products of numbers near 1."""
_FAR = 2.0**40
"""Largest entry, in units of the rows, for which single-precision bounds are valid."""


@dataclass(frozen=True)
class Candidates:
    """The candidates for each row, and a lower bound on the closeness values of all other rows."""

    places: Index
    bounds: Vector


@dataclass(frozen=True)
class Terms:
    """Factors of lower bounds of a closeness: the bound of i and j is left[i] @ right[j]."""

    unit: float
    """A power of two near the largest absolute entry of the rows."""
    right: Callable[[Matrix], Single]
    left: Callable[[Single], Single]

    def candidates(self, places: Index, values: Single) -> Candidates:
        """Return the lists, with each last entry converted to a bound in units of the rows (-inf if unfilled)."""
        last = values[:, -1].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            bounds = (last - _TINY) * self.unit * self.unit
        return Candidates(places, np.where(np.isfinite(last), bounds, -np.inf))

    def holds(self, rows: Matrix) -> bool:
        """Return whether the bounds are also valid for these rows."""
        return float(np.abs(rows).max(initial=0.0)) <= _FAR * self.unit


def serves(n_features: int, n_candidates: int) -> bool:
    """Whether candidates can be found this way, and faster than by partitioning."""
    return native.provides("shesha_enter_tile") and n_candidates <= _MOST and n_features <= _WIDEST


def distance_terms(rows: Matrix) -> Terms:
    """Lower bounds on squared distances: (|x|^2 + |y|^2) (1 - c) - 2 xy, for centred rows.

    A sum of d + 2 products of rounded numbers has an error of at most (d + 5) rounding units times the sum of the
    absolute products, which is at most twice |x|^2 + |y|^2.
    """
    mean, unit = rows.mean(axis=0), length_unit(rows)
    loss = 2.1 * (rows.shape[1] + 5) * _UNIT
    mean_length = float(np.sqrt(mean @ mean)) / unit

    def right(some: Matrix) -> Single:
        out = np.empty((len(some), rows.shape[1] + 2), dtype=np.float32)
        centred = (some - mean) / unit
        squared = squared_lengths(centred)
        out[:, :-2] = centred
        out[:, -2] = 1.0
        # Centring adds rounding errors that are proportional to the size of the uncentred rows.
        out[:, -1] = squared * (1 - loss) - 16 * _EPS * (np.sqrt(squared) + 2 * mean_length) ** 2
        return out

    def left(some: Single) -> Single:
        out = some * np.float32(-2.0)
        out[:, -2], out[:, -1] = some[:, -1], 1.0
        return out

    return Terms(unit, right, left)


def product_terms(rows: Matrix) -> Terms:
    """Lower bounds on the negative inner product: -xy - c |x| |y|."""
    unit = length_unit(rows)
    loss = 1.1 * (rows.shape[1] + 5) * _UNIT

    def right(some: Matrix) -> Single:
        out = np.empty((len(some), rows.shape[1] + 1), dtype=np.float32)
        scaled = some / unit
        out[:, :-1], out[:, -1] = scaled, np.sqrt(squared_lengths(scaled))
        return out

    def left(some: Single) -> Single:
        out = -some
        out[:, -1] *= np.float32(loss)
        return out

    return Terms(unit, right, left)


def candidates_of_all(terms: Terms, rows: Matrix, m: int, *, include_self: bool = False) -> Candidates:
    """Find m candidates for each row among all rows; the product of two rows is used for both of them."""
    n = len(rows)
    right = np.concatenate([terms.right(rows[start : start + _BLOCK]) for start in range(0, n, _BLOCK)])
    values, places, bounds = _empty_lists(n, m)
    blocks = -(-n // _BLOCK)

    def enter(pair: tuple[int, int]) -> None:
        first, second = (block * _BLOCK for block in pair)
        columns = slice(second, second + _BLOCK)
        tile = np.empty((PANEL, len(bounds[columns])), dtype=np.float32)
        for start in range(first, min(first + _BLOCK, n), PANEL):
            panel = slice(start, min(start + PANEL, first + _BLOCK, n))
            some = tile[: panel.stop - start]
            np.matmul(terms.left(right[panel]), right[columns].T, out=some)
            lists = values[panel], places[panel], values[columns], places[columns], bounds[columns]
            native.call("shesha_enter_tile", *some.shape, some, m, start, second, int(include_self), *lists)
            bounds[panel] = values[panel, -1]

    for around in range(blocks):
        # Pairs of blocks whose numbers have the same sum modulo the number of blocks are disjoint, so no two threads
        # write to the same list.
        pairs = [(i, (around - i) % blocks) for i in range(blocks) if i <= (around - i) % blocks]
        for _ in parallel(enter, pairs):
            pass
    return terms.candidates(places, values)


def candidates_of_some(terms: Terms, queries: Matrix, blocks: Iterable[tuple[int, Matrix]], m: int) -> Candidates:
    """Find m candidates for each query among the rows of all blocks (number of the first row, rows)."""
    left = terms.left(terms.right(queries))
    values, places, _ = _empty_lists(len(queries), m)

    for start, rows in blocks:
        right, first = terms.right(rows), start

        def enter(offset: int, right: Single = right, first: int = first) -> None:
            panel = slice(offset, offset + PANEL)
            tile = left[panel] @ right.T
            lists = values[panel], places[panel], None, None, None
            native.call("shesha_enter_tile", *tile.shape, tile, m, offset, first, 0, *lists)

        for _ in parallel(enter, range(0, len(left), PANEL)):
            pass
    return terms.candidates(places, values)


def _empty_lists(n: int, m: int) -> tuple[Single, Index, Single]:
    infinity = np.float32(np.inf)
    return np.full((n, m), infinity), np.zeros((n, m), dtype=np.intp), np.full(n, infinity)


_SPARE = 6
"""Number of candidates beyond k whose distances are computed directly, because distances from Gram matrices are
imprecise for close rows."""
_GRAM_ERROR = 2.0**-45
"""Rounding error in a squared distance computed from a Gram matrix, relative to the squared lengths of the rows."""

_FEW = 256
"""Largest number of candidates kept in sorted lists; larger numbers are found by partitioning."""
_FILTERED = 4096
"""Smallest number of rows for which candidates are first found in single precision."""
_NEARLY = 4.0
"""Multiple of the rounding error below which two candidates count as near-ties."""
_SETTLED = 0.5
"""Single-precision candidates are used only if they settle at least this share of a sample of rows."""
_KEPT_TIES = 1 << 23
"""Largest number of candidates stored for tied rows, so that ties can be broken again without a new search."""


@dataclass(frozen=True)
class Ties:
    """The rows that have tied neighbours, and the tied candidates, so that ties can be broken differently."""

    rows: Index
    candidates: Index
    """Candidates for the k nearest rows, for each row with ties, of shape (m, width)."""
    levels: Index
    """Rank of each candidate: tied candidates share a number, and padding has the largest number."""

    def break_ties(self, place: Index, lists: Index) -> Index:
        """Return the lists with ties broken by `place`, which gives the position of each row in the new order."""
        keys = self.levels * len(place) + place[self.candidates]
        order = np.argsort(keys, axis=1)[:, : lists.shape[1]]
        out = lists.copy()
        out[self.rows] = np.take_along_axis(self.candidates, order, axis=1)
        return out

    def prefer(self, others: Index, lists: Index) -> Index:
        """Return the lists with ties broken in favour of the entries of other lists of the same rows."""
        is_other = (self.candidates[:, :, None] == others[self.rows][:, None]).any(axis=2)
        order = np.argsort(2 * self.levels + ~is_other, axis=1, kind="stable")[:, : lists.shape[1]]
        out = lists.copy()
        out[self.rows] = np.take_along_axis(self.candidates, order, axis=1)
        return out


@dataclass(frozen=True)
class Found:
    """The lists of neighbours, and information about the ties that were broken."""

    lists: Index
    tied: bool
    ties: Ties | None = None
    """The tied candidates; None if there are no ties or too many to store."""


@dataclass(frozen=True)
class _Search:
    """Functions for one kind of closeness, where smaller values mean closer."""

    panel: Callable[[Index], Any]
    """Function that returns the closeness of some rows to all rows, on any device."""
    doubt: Vector
    """For each row, the difference below which rounding may have swapped two entries of a line."""
    exact: Callable[[Index, Index, Matrix | None], tuple[Matrix, Matrix]]
    """Maps row numbers, candidates and their closeness in the panel to exact closeness values and their tolerance."""
    rows: Any = None
    """Rows of the data; None if there are no single-precision bounds for this kind of closeness."""
    terms: Callable[[Matrix], Terms] | None = None


def nearest_by_distance(rows: Matrix, k: int) -> Found:
    """For each row, list the k other rows at the smallest Euclidean distance, nearest first."""
    squared = squared_lengths(rows)
    lengths = np.sqrt(to_host(squared))
    # The rounding errors of the sum over features grow like a random walk.
    unit = (4 + np.sqrt(rows.shape[1])) * _EPS

    def panel(chosen: Index) -> Any:
        # Doubling is exact, and it is faster for the chosen rows than for their products.
        block = (take_rows(rows, chosen) * -2.0) @ rows.T
        block += squared
        return block

    def exact(chosen: Index, candidates: Index, _: Matrix | None) -> tuple[Matrix, Matrix]:
        squares = _squared_distances(rows, chosen, candidates)
        chosen_lengths = lengths[chosen, None]
        return squares, unit * ((chosen_lengths + lengths[candidates]) * np.sqrt(squares) + squares)

    search = _Search(panel, 2 * _GRAM_ERROR * to_host(squared), exact, rows, distance_terms)
    return _run(search, rows.shape[0], k)


def nearest_by_product(rows: Matrix, k: int, *, include_self: bool = False) -> Found:
    """For each row, list the k rows with the largest inner product with it, largest first."""
    lengths = np.sqrt(to_host(squared_lengths(rows)))
    unit = (4 + np.sqrt(rows.shape[1])) * _EPS

    def panel(chosen: Index) -> Any:
        return (take_rows(rows, chosen) * -1.0) @ rows.T

    def exact(chosen: Index, candidates: Index, near: Matrix | None) -> tuple[Matrix, Matrix]:
        values = -np.einsum("ijk,ik->ij", rows[candidates], rows[chosen]) if near is None else near
        return values, unit * lengths[chosen, None] * lengths[candidates]

    search = _Search(panel, unit * lengths * lengths.max(), exact, rows, product_terms)
    return _run(search, rows.shape[0], k, include_self=include_self)


def nearest_of_distances(condensed: Vector, n: int, k: int) -> Found:
    """For each row, list the k rows at the smallest distance in the given condensed matrix."""
    matrix = square(condensed, n)

    def exact(chosen: Index, candidates: Index, near: Matrix | None) -> tuple[Matrix, Matrix]:
        assert near is not None
        return near, 4 * _EPS * near

    return _run(_Search(lambda chosen: matrix[chosen], np.zeros(n), exact), n, k)


def shared_entries(lists: Index, others: Index) -> Mask:
    """Return which entries of each list of row numbers are in the other list of the same row, in any place."""
    n_lists = len(lists)
    # Numbers of different lists differ, so that one search finds all.
    first = np.arange(n_lists)[:, None] * (1 + max(int(lists.max()), int(others.max())))
    return np.isin(lists + first, others + first)


def label_copies(*sides: Matrix) -> Labels | None:
    """Number rows so that those that are equal on one side, and nearly on the others, have one number; None if no are.

    Rows that only one side distinguishes, such as those of a model that did not collapse, are no copies.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(sides[0])
    rows, firsts = [], []
    for side in sides:
        _, first, inverse = np.unique(row_hashes(side), return_index=True, return_inverse=True)
        repeated = np.flatnonzero(first[inverse] != np.arange(n))
        rows.append(repeated)
        firsts.append(first[inverse[repeated]])
    pairs = np.concatenate(rows), np.concatenate(firsts)
    if not len(pairs[0]):
        return None
    near = np.ones(len(pairs[0]), dtype=bool)
    for side in sides:
        spread = float(np.sqrt(squared_lengths(side - side.mean(axis=0)).mean()))
        near &= np.sqrt(squared_lengths(side[pairs[0]] - side[pairs[1]])) <= _COPIED * spread
    graph = coo_array((np.ones(int(near.sum())), (pairs[0][near], pairs[1][near])), (n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def name_copies(lists: Index, labels: Labels | None) -> Index:
    """Return lists in which copies of a row are its first copy, its second copy and so on, whichever they are.

    A search has no reason to prefer one of several equal vectors, so that lists of copies agree.
    """
    if labels is None:
        return lists
    chosen, places = labels[lists], np.arange(lists.shape[1])
    order = np.argsort(chosen, axis=1, kind="stable")
    is_other = np.diff(np.take_along_axis(chosen, order, axis=1), axis=1, prepend=-1) != 0
    earlier = np.empty_like(chosen)
    np.put_along_axis(earlier, order, places - np.maximum.accumulate(np.where(is_other, places, 0), axis=1), axis=1)
    return np.asarray(chosen * lists.shape[1] + earlier)


def _run(search: _Search, n: int, k: int, *, include_self: bool = False) -> Found:
    lists = np.empty((n, k), dtype=np.intp)
    n_others = n if include_self else n - 1
    rest = _fill_settled_rows(search, lists, include_self=include_self)

    def fill(start: int) -> _Tied:
        chosen = rest[start : start + PANEL]
        block = search.panel(chosen)
        if not include_self:
            block = _exclude_self(block, chosen)
        lists[chosen], tied = _nearest(search, block, k, chosen, n_others)
        return tied

    tied = {row: tie for some in parallel(fill, range(0, len(rest), PANEL)) for row, tie in some.items()}
    return Found(lists, bool(tied), _ties(tied))


def _fill_settled_rows(search: _Search, lists: Index, *, include_self: bool) -> Index:
    """Fill the lists of rows whose candidates settle them with certainty; return the other rows' numbers."""
    (n, k), rows = lists.shape, search.rows
    m = k + _SPARE
    if search.terms is None or n < _FILTERED or not is_numpy(rows) or not serves(rows.shape[1], m + 1):
        return np.arange(n)
    terms = search.terms(rows)
    sample = np.arange(0, n, -(-n // PANEL))
    blocks = ((start, rows[start : start + _FILTERED]) for start in range(0, n, _FILTERED))
    some = candidates_of_some(terms, rows[sample], blocks, m + 1)
    _, settled = _settle(search, sample, some, k)
    # One candidate more than m is sought, because here each row is among its own candidates.
    if np.count_nonzero(settled) < _SETTLED * len(sample):
        return np.arange(n)
    candidates = candidates_of_all(terms, rows, m, include_self=include_self)

    def fill(start: int) -> Index:
        chosen = np.arange(start, min(start + PANEL, n))
        part = Candidates(candidates.places[chosen], candidates.bounds[chosen])
        lists[chosen], settled = _settle(search, chosen, part, k)
        return chosen[~settled]

    return np.concatenate(list(parallel(fill, range(0, n, PANEL))))


def _settle(search: _Search, chosen: Index, filtered: Candidates, k: int) -> tuple[Index, NDArray[np.bool_]]:
    """Return the first k candidates of some rows, and whether they are certainly the neighbours (no ties)."""
    candidates = np.sort(filtered.places, axis=1)
    values, slack = search.exact(chosen, candidates, None)
    order, tied = _order(values, _NEARLY * slack, k)
    last = order[:, k - 1 : k]
    limit = (np.take_along_axis(values, last, axis=1) + _NEARLY * slack.max(axis=1, keepdims=True))[:, 0]
    settled = filtered.bounds > limit
    settled[list(tied)] = False
    return np.take_along_axis(candidates, order[:, :k], axis=1), settled


_Tied = dict[int, tuple[Index, Index]]
"""Candidates and their tie levels, by row."""


def _ties(tied: _Tied) -> Ties | None:
    width = max((len(candidates) for candidates, _ in tied.values()), default=0)
    if not tied or width * len(tied) > _KEPT_TIES:
        return None
    candidates = np.zeros((len(tied), width), dtype=np.intp)
    levels = np.full((len(tied), width), width, dtype=np.intp)
    for row, (some, row_levels) in enumerate(tied.values()):
        candidates[row, : len(some)], levels[row, : len(row_levels)] = some, row_levels
    return Ties(np.array(list(tied), dtype=np.intp), candidates, levels)


def _exclude_self(block: Any, chosen: Index) -> Any:
    """Set the distance of each row from itself to infinity."""
    if is_numpy(block):
        block[np.arange(len(block)), chosen] = np.inf
        return block
    xp, n = namespace(block), block.shape[1]
    self_mask = xp.arange(n, device=block.device)[None, :] == convert_like(chosen, block)[:, None]
    return xp.where(self_mask, xp.full_like(block, float("inf")), block)


def _nearest(search: _Search, block: Any, k: int, chosen: Index, n_others: int) -> tuple[Index, _Tied]:
    n_candidates = min(k + _SPARE, n_others)
    if n_candidates < block.shape[1]:
        candidates = _smallest(block, n_candidates)
        # Candidates are sorted by row number, so that a stable sort by distance keeps tied rows in this order.
        candidates.sort(axis=1)
    else:
        candidates = np.broadcast_to(np.arange(n_candidates), block.shape).copy()
    near = to_host(namespace(block).take_along_axis(block, convert_like(candidates, block), axis=1))
    order, levels = _order(*search.exact(chosen, candidates, near), k)
    nearest = np.take_along_axis(candidates, order[:, :k], axis=1)
    tied = {int(chosen[i]): (candidates[i, order[i]], row_levels) for i, row_levels in levels.items()}
    if n_candidates == n_others:
        return nearest, tied
    # If rows outside the candidates may be as near as the k-th neighbour, all rows that compete are compared exactly.
    bound = np.partition(near, k - 1, axis=1)[:, k - 1] + 2 * search.doubt[chosen]
    for i in np.flatnonzero(near.max(axis=1) <= bound).tolist():
        row = to_host(block[i, :])
        competing = np.flatnonzero(row <= bound[i])[None, :]
        number = int(chosen[i])
        order, levels = _order(*search.exact(chosen[i : i + 1], competing, row[competing]), k)
        nearest[i] = competing[0, order[0, :k]]
        tied.pop(number, None)
        if levels:
            tied[number] = competing[0, order[0]], levels[0]
    return nearest, tied


def _smallest(block: Any, m: int) -> Index:
    """Columns of the m smallest entries of each row, in any order; ties are broken arbitrarily."""
    if not is_numpy(block) or m > _FEW or m >= block.shape[1] or not native.is_available():
        return smallest(block, m)
    columns = np.empty((len(block), m), dtype=np.intp)
    native.call("shesha_smallest", *block.shape, np.ascontiguousarray(block), m, np.empty(m), columns)
    return columns


_GATHERED = 1 << 15
"""Number of values that are gathered at once, so that they stay in the cache."""


@elsewhere(device_kernels.squared_distances_to_candidates)
def _squared_distances(rows: Matrix, chosen: Index, candidates: Index) -> Matrix:
    out = np.empty(candidates.shape)
    step = max(1, _GATHERED // (candidates.shape[1] * rows.shape[1]))
    for start in range(0, len(chosen), step):
        some = slice(start, start + step)
        difference = rows[candidates[some]]
        difference -= rows[chosen[some], None, :]
        np.einsum("ijk,ijk->ij", difference, difference, out=out[some])
    return out


def _order(values: Matrix, slack: Matrix, k: int) -> tuple[Index, dict[int, Index]]:
    """Sort each row; values that are equal within the tolerance keep their order.

    For rows with ties that involve the first k, also return the level of each sorted value; tied values share a level.
    """
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    equal = np.diff(ordered, axis=1) <= np.take_along_axis(slack, order, axis=1)[:, 1:]
    rows = np.flatnonzero(equal[:, :k].any(axis=1))
    if not len(rows):
        return order, {}
    groups = np.zeros(values.shape, dtype=np.intp)
    np.cumsum(~equal, axis=1, out=groups[:, 1:])
    width = values.shape[1]
    order = np.take_along_axis(order, np.argsort(groups * width + order, axis=1, kind="stable"), axis=1)
    return order, {int(row): groups[row] for row in rows}


Closeness = Literal["distance", "product"]
_TERMS = {"distance": distance_terms, "product": product_terms}


@dataclass(frozen=True)
class RowBlocks:
    """Rows that can be read selectively or block by block."""

    n_rows: int
    read: Callable[[Index], Matrix]
    """Function that returns the rows with the given numbers, which must be in increasing order."""
    starts: Iterable[int]
    """Numbers of the first rows of the blocks."""
    block: Callable[[int], Matrix]

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield each block with the number of its first row, while the next block is read in the background."""
        starts = list(self.starts)
        yield from zip(starts, parallel(self.block, starts), strict=True)


def nearest_to_queries(rows: RowBlocks, queries: Index, k: int, closeness: Closeness) -> Index:
    """For each query i, list the k other rows nearest to row queries[i], nearest first.

    Equally near rows are listed in order of their numbers, as in a search for the neighbours of all rows.
    """
    order = np.argsort(queries, kind="stable")
    query_rows, numbers = rows.read(queries[order]), queries[order]
    lists = np.empty((len(queries), k), dtype=np.intp)
    lists[order] = _search(rows, query_rows, numbers, k, closeness)
    return lists


def _search(rows: RowBlocks, queries: Matrix, numbers: Index, k: int, closeness: Closeness) -> Index:
    lists = np.empty((len(numbers), k), dtype=np.intp)
    settled = np.zeros(len(numbers), dtype=bool)
    m = k + _SPARE + 1
    if serves(queries.shape[1], m) and rows.n_rows > m:
        terms, sound = _TERMS[closeness](queries), True

        def check_blocks() -> Iterator[tuple[int, Matrix]]:
            nonlocal sound
            for start, block in rows.blocks():
                sound = sound and terms.holds(block)
                yield start, block

        candidates = candidates_of_some(terms, queries, check_blocks(), m)
        if sound:
            settled = _settle_queries(rows, queries, numbers, candidates, lists, closeness)
    rest = np.flatnonzero(~settled)
    if len(rest):
        lists[rest] = _search_exactly(rows, queries[rest], numbers[rest], k, closeness)
    return lists


def _settle_queries(
    rows: RowBlocks, queries: Matrix, numbers: Index, filtered: Candidates, lists: Index, closeness: Closeness
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Fill the lists that the exact closeness of the candidates settles; return a mask of these queries."""
    k = lists.shape[1]
    settled = np.isfinite(filtered.bounds)
    # Number of queries whose candidate rows fit in memory together.
    held_entries = min(_HELD, memory_budget() // _SHARE)
    step = max(1, held_entries // (filtered.places.shape[1] * queries.shape[1]))
    for start in range(0, len(queries), step):
        some = slice(start, start + step)
        candidates = np.sort(filtered.places[some], axis=1)
        unique, inverse = np.unique(candidates, return_inverse=True)
        held = rows.read(unique)
        for i, line in enumerate(inverse.reshape(candidates.shape), start):
            values, slack = _closeness(queries[i], held[line], closeness)
            values[candidates[i - start] == numbers[i]] = np.inf
            order, tied = _order(values[None], 4 * slack[None], k)
            lists[i] = candidates[i - start, order[0, :k]]
            settled[i] &= not tied and filtered.bounds[i] > values[order[0, k - 1]] + 4 * slack.max()
    return settled


_HELD, _SHARE = 1 << 25, 64
"""Largest number of values from candidate rows held in memory, also as a share of the bytes of the memory budget."""


def _closeness(query: Matrix, others: Matrix, closeness: Closeness) -> tuple[Vector, Vector]:
    """Closeness of the query to other rows (smaller is closer), and the tolerance for ties."""
    unit = (4 + np.sqrt(len(query))) * _EPS
    lengths, query_length = np.sqrt(squared_lengths(others)), float(np.sqrt(query @ query))
    if closeness == "product":
        return -(others @ query), unit * query_length * lengths
    squares = squared_lengths(others - query)
    return squares, unit * ((query_length + lengths) * np.sqrt(squares) + squares)


@dataclass
class _Nearest:
    """The nearest rows to one query found so far, in order of row number."""

    places: Index
    values: Vector
    slack: Vector

    def bound(self, k: int) -> float:
        """Closeness value that another row must not exceed to be among the first k."""
        return float(np.partition(self.values, k - 1)[k - 1]) if len(self.values) >= k else np.inf

    def add(self, places: Index, values: Vector, slack: Vector, k: int) -> None:
        """Add rows with larger numbers, and drop rows that can no longer be among the first k."""
        self.places = np.concatenate([self.places, places])
        self.values, self.slack = np.concatenate([self.values, values]), np.concatenate([self.slack, slack])
        if len(self.places) > 2 * (k + _SPARE):
            kept = np.sort(_order(self.values[None], self.slack[None], k)[0][0, : k + _SPARE])
            self.places, self.values, self.slack = self.places[kept], self.values[kept], self.slack[kept]


def _search_exactly(rows: RowBlocks, queries: Matrix, numbers: Index, k: int, closeness: Closeness) -> Index:
    """Search in double precision, for queries whose candidates do not settle the order."""
    empty = np.empty(0)
    nearest = [_Nearest(np.empty(0, dtype=np.intp), empty, empty) for _ in numbers]
    lengths = squared_lengths(queries)
    for start, block in rows.blocks():
        sizes = squared_lengths(block)
        near = -(queries @ block.T)
        doubt = _GRAM_ERROR * (lengths[:, None] + sizes)
        if closeness == "distance":
            near = 2 * near + sizes + lengths[:, None]
        for i, lists in enumerate(nearest):
            if start <= numbers[i] < start + len(block):
                near[i, numbers[i] - start] = np.inf
            last = float(np.partition(near[i] + doubt[i], k - 1)[k - 1]) if len(block) >= k else np.inf
            bound = min(lists.bound(k), last)
            slack = 2 * doubt[i]
            some = np.flatnonzero((near[i] - slack <= bound) & np.isfinite(near[i]))
            if len(some):
                lists.add(start + some, *_closeness(queries[i], block[some], closeness), k)
    return np.array([lists.places[_order(lists.values[None], lists.slack[None], k)[0][0, :k]] for lists in nearest])
