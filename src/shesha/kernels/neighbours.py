"""The k nearest rows of each row; ties are ordered by row number.

The order of ties is arbitrary, but not harmless: two unrelated representations agree if ties in both are broken by the
same row numbers. Therefore a search reports whether there were ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import device_kernels, native
from shesha.kernels import neighbour_candidates as filters
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import PANEL
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
from shesha.support.types import Index, Matrix, Vector

_SPARE = 6
"""Number of candidates beyond k whose distances are computed directly, because distances from Gram matrices are
imprecise for close rows."""
_GRAM_ERROR = 2.0**-45
"""Rounding error in a squared distance computed from a Gram matrix, relative to the squared lengths of the rows."""
_EPS = float(np.finfo(float).eps)
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
    terms: Callable[[Matrix], filters.Terms] | None = None


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

    search = _Search(panel, 2 * _GRAM_ERROR * to_host(squared), exact, rows, filters.distance_terms)
    return _run(search, rows.shape[0], k)


def nearest_by_product(rows: Matrix, k: int, *, include_self: bool = False) -> Found:
    """For each row, list the k rows with the largest inner product with it, largest first."""
    lengths = np.sqrt(to_host(squared_lengths(rows)))
    unit = (4 + np.sqrt(rows.shape[1])) * _EPS

    def panel(chosen: Index) -> Any:
        return (take_rows(rows, chosen) * -1.0) @ rows.T

    def exact(chosen: Index, candidates: Index, near: Matrix | None) -> tuple[Matrix, Matrix]:
        values = _minus_products(rows, chosen, candidates) if near is None else near
        return values, unit * lengths[chosen, None] * lengths[candidates]

    search = _Search(panel, unit * lengths * lengths.max(), exact, rows, filters.product_terms)
    return _run(search, rows.shape[0], k, include_self=include_self)


def nearest_of_distances(condensed: Vector, n: int, k: int) -> Found:
    """For each row, list the k rows at the smallest distance in the given condensed matrix."""
    matrix = square(condensed, n)

    def exact(chosen: Index, candidates: Index, near: Matrix | None) -> tuple[Matrix, Matrix]:
        assert near is not None
        return near, 4 * _EPS * near

    return _run(_Search(lambda chosen: matrix[chosen], np.zeros(n), exact), n, k)


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
    if search.terms is None or n < _FILTERED or not is_numpy(rows) or not filters.serves(rows.shape[1], m + 1):
        return np.arange(n)
    terms = search.terms(rows)
    sample = np.arange(0, n, -(-n // PANEL))
    blocks = ((start, rows[start : start + _FILTERED]) for start in range(0, n, _FILTERED))
    some = filters.candidates_of_some(terms, rows[sample], blocks, m + 1)
    _, settled = _settle(search, sample, some, k)
    # One candidate more than m is sought, because here each row is among its own candidates.
    if np.count_nonzero(settled) < _SETTLED * len(sample):
        return np.arange(n)
    candidates = filters.candidates_of_all(terms, rows, m, include_self=include_self)

    def fill(start: int) -> Index:
        chosen = np.arange(start, min(start + PANEL, n))
        part = filters.Candidates(candidates.places[chosen], candidates.bounds[chosen])
        lists[chosen], settled = _settle(search, chosen, part, k)
        return chosen[~settled]

    return np.concatenate(list(parallel(fill, range(0, n, PANEL))))


def _settle(search: _Search, chosen: Index, filtered: filters.Candidates, k: int) -> tuple[Index, NDArray[np.bool_]]:
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


@elsewhere(device_kernels.squared_distances_to_candidates)
def _squared_distances(rows: Matrix, chosen: Index, candidates: Index) -> Matrix:
    queries = rows[chosen, None, :]
    out = np.empty(candidates.shape)
    step = max(1, (1 << 20) // (len(candidates) * rows.shape[1]))
    for column in range(0, candidates.shape[1], step):
        some = candidates[:, column : column + step]
        difference = rows[some] - queries
        out[:, column : column + step] = np.einsum("ijk,ijk->ij", difference, difference)
    return out


def _minus_products(rows: Matrix, chosen: Index, candidates: Index) -> Matrix:
    return np.asarray(-np.einsum("ijk,ik->ij", rows[candidates], rows[chosen]))


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
