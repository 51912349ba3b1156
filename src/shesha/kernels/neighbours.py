"""The k nearest rows of each row, in order; rows that are equally near come in the order of their numbers.

Which order equals take is arbitrary, but not harmless: two unrelated representations that break ties by the same
numbers agree. So a search tells whether there were any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.kernels import devices, native
from shesha.kernels.distances import PANEL
from shesha.kernels.threads import parallel
from shesha.kernels.triangles import square
from shesha.support.arrays import elsewhere, is_numpy, like_array, namespace, smallest, squared_lengths, to_host
from shesha.support.types import Index, Matrix, Vector

_SPARE = 6
"""Candidates beyond k, whose distances are computed directly: Gram matrices lose digits where rows are close."""
_GRAM_ERROR = 2.0**-45
"""Rounding of a squared distance from a Gram matrix, relative to the squared lengths of the rows."""
_EPS = float(np.finfo(float).eps)
_FEW = 256
"""Up to this many candidates are kept in order while a row is read; more are found by partitioning it."""
_KEPT_TIES = 1 << 23
"""Up to this many candidates of tied rows are kept, so that ties can be broken anew without another search."""


@dataclass(frozen=True)
class Ties:
    """The rows whose neighbours tie, and between whom: what it takes to break the ties another way."""

    rows: Index
    candidates: Index
    """Of shape (m, width): those who may be among the first k of each of these rows."""
    levels: Index
    """Their order: equally near ones share a number. Places to fill up the table have the largest."""

    def break_by(self, place: Index, lists: Index) -> Index:
        """Return the lists with ties broken in the order of `place`, a number for each row."""
        keys = self.levels * len(place) + place[self.candidates]
        order = np.argsort(keys, axis=1)[:, : lists.shape[1]]
        out = lists.copy()
        out[self.rows] = np.take_along_axis(self.candidates, order, axis=1)
        return out


@dataclass(frozen=True)
class Found:
    """The lists of neighbours, and whether ties had to be broken."""

    lists: Index
    tied: bool
    ties: Ties | None = None
    """Between whom, unless there are too many."""


@dataclass(frozen=True)
class _Search:
    """What differs between the kinds of closeness; smaller is closer."""

    panel: Callable[[int], Any]
    """Closeness of the rows of a panel to all rows, wherever they lie; all else is on the host."""
    doubt: Vector
    """Two entries of a row's line in a panel may be in the wrong order if they differ by less."""
    exact: Callable[[int, Index, Matrix], tuple[Matrix, Matrix]]
    """From the first row, candidates and their closeness in the panel: closeness, and what counts as equal."""


def nearest_by_distance(rows: Matrix, k: int) -> Found:
    """Row i lists the k rows at the smallest Euclidean distance from row i, nearest first; itself left out."""
    squared = squared_lengths(rows)
    lengths = np.sqrt(to_host(squared))
    # The sum over features rounds once per feature, as a random walk.
    unit = (4 + np.sqrt(rows.shape[1])) * _EPS

    def panel(start: int) -> Any:
        # Doubling rounds nothing, and a panel is smaller than its products.
        block = (_panel(rows, start) * -2.0) @ rows.T
        block += squared
        return block

    def exact(start: int, candidates: Index, _: Matrix) -> tuple[Matrix, Matrix]:
        found = _squared_distances(rows, start, candidates)
        own = lengths[start : start + len(candidates), None]
        return found, unit * ((own + lengths[candidates]) * np.sqrt(found) + found)

    return _run(_Search(panel, 2 * _GRAM_ERROR * to_host(squared), exact), rows.shape[0], k)


def nearest_by_product(rows: Matrix, k: int, *, include_self: bool = False) -> Found:
    """Row i lists the k rows with the largest inner product with row i, largest first."""
    lengths = np.sqrt(to_host(squared_lengths(rows)))
    unit = (4 + np.sqrt(rows.shape[1])) * _EPS

    def panel(start: int) -> Any:
        return (_panel(rows, start) * -1.0) @ rows.T

    def exact(start: int, candidates: Index, near: Matrix) -> tuple[Matrix, Matrix]:
        return near, unit * lengths[start : start + len(candidates), None] * lengths[candidates]

    return _run(_Search(panel, unit * lengths * lengths.max(), exact), rows.shape[0], k, include_self=include_self)


def nearest_of_distances(condensed: Vector, n: int, k: int) -> Found:
    """Row i lists the k rows at the smallest given distance."""
    whole = square(condensed, n)

    def exact(start: int, candidates: Index, near: Matrix) -> tuple[Matrix, Matrix]:
        return near, 4 * _EPS * near

    search = _Search(lambda start: whole[start : start + PANEL].copy(), np.zeros(n), exact)
    return _run(search, n, k)


def _run(search: _Search, n: int, k: int, *, include_self: bool = False) -> Found:
    lists = np.empty((n, k), dtype=np.intp)

    def fill(start: int) -> _Tied:
        block = search.panel(start)
        if not include_self:
            block = _exclude_self(block, start)
        n_others = n if include_self else n - 1
        lists[start : start + PANEL], tied = _nearest(search, block, k, start, n_others)
        return tied

    tied = {row: found for some in parallel(fill, range(0, n, PANEL)) for row, found in some.items()}
    return Found(lists, bool(tied), _ties(tied))


_Tied = dict[int, tuple[Index, Index]]
"""By row: candidates and their levels."""


def _ties(tied: _Tied) -> Ties | None:
    width = max((len(candidates) for candidates, _ in tied.values()), default=0)
    if not tied or width * len(tied) > _KEPT_TIES:
        return None
    candidates = np.zeros((len(tied), width), dtype=np.intp)
    levels = np.full((len(tied), width), width, dtype=np.intp)
    for at, (some, own) in enumerate(tied.values()):
        candidates[at, : len(some)], levels[at, : len(own)] = some, own
    return Ties(np.array(list(tied), dtype=np.intp), candidates, levels)


def _panel(rows: Any, start: int) -> Any:
    return rows[start : min(start + PANEL, rows.shape[0]), :]


def _exclude_self(block: Any, start: int) -> Any:
    """Put each row infinitely far from itself."""
    if is_numpy(block):
        at = np.arange(len(block))
        block[at, start + at] = np.inf
        return block
    xp, (m, n) = namespace(block), block.shape
    own = xp.arange(n, device=block.device)[None, :] == start + xp.arange(m, device=block.device)[:, None]
    return xp.where(own, xp.full_like(block, float("inf")), block)


def _nearest(search: _Search, block: Any, k: int, start: int, n_others: int) -> tuple[Index, _Tied]:
    n_candidates = min(k + _SPARE, n_others)
    if n_candidates < block.shape[1]:
        candidates = _smallest(block, n_candidates)
        # In the order of their numbers, so that a stable sort leaves equal ones in it.
        candidates.sort(axis=1)
    else:
        candidates = np.broadcast_to(np.arange(n_candidates), block.shape).copy()
    near = to_host(namespace(block).take_along_axis(block, like_array(candidates, block), axis=1))
    order, levels = _order(*search.exact(start, candidates, near), k)
    found = np.take_along_axis(candidates, order[:, :k], axis=1)
    tied = {start + i: (candidates[i, order[i]], own) for i, own in levels.items()}
    if n_candidates == n_others:
        return found, tied
    # Where others may be as near as the k-th, all that may be compete.
    bound = np.partition(near, k - 1, axis=1)[:, k - 1] + 2 * search.doubt[start : start + PANEL]
    for i in np.flatnonzero(near.max(axis=1) <= bound).tolist():
        row = to_host(block[i, :])
        competing = np.flatnonzero(row <= bound[i])[None, :]
        order, levels = _order(*search.exact(start + i, competing, row[competing]), k)
        found[i] = competing[0, order[0, :k]]
        tied.pop(start + i, None)
        if levels:
            tied[start + i] = competing[0, order[0]], levels[0]
    return found, tied


def _smallest(block: Any, m: int) -> Index:
    """Columns of the m smallest entries of each row, in any order; which of equal ones is left open."""
    if not is_numpy(block) or m > _FEW or m >= block.shape[1] or not native.is_available():
        return smallest(block, m)
    columns = np.empty((len(block), m), dtype=np.intp)
    native.call("shesha_smallest", *block.shape, np.ascontiguousarray(block), m, np.empty(m), columns)
    return columns


@elsewhere(devices.squared_distances_to_candidates)
def _squared_distances(rows: Matrix, start: int, candidates: Index) -> Matrix:
    own = rows[start : start + len(candidates), None, :]
    out = np.empty(candidates.shape)
    step = max(1, (1 << 20) // (len(candidates) * rows.shape[1]))
    for column in range(0, candidates.shape[1], step):
        some = candidates[:, column : column + step]
        difference = rows[some] - own
        out[:, column : column + step] = np.einsum("ijk,ijk->ij", difference, difference)
    return out


def _order(values: Matrix, slack: Matrix, k: int) -> tuple[Index, dict[int, Index]]:
    """Sort each row; values that are equal within their slack keep their order.

    Also, for the rows whose first k tie with any: the level of each value in the order, equal ones sharing one.
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
