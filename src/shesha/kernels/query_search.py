"""Nearest rows to each query, among rows that are read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shesha.kernels import neighbour_candidates as filters
from shesha.kernels.neighbours import _EPS, _GRAM_ERROR, _SPARE, _order
from shesha.kernels.threads import parallel
from shesha.support.device_arrays import squared_lengths
from shesha.support.types import Index, Matrix, Vector

Closeness = Literal["distance", "product"]
_TERMS = {"distance": filters.distance_terms, "product": filters.product_terms}


@dataclass(frozen=True)
class Rows:
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


def nearest_to_queries(rows: Rows, queries: Index, k: int, closeness: Closeness) -> Index:
    """For each query i, list the k other rows nearest to row queries[i], nearest first.

    Equally near rows are listed in order of their numbers, as in a search for the neighbours of all rows.
    """
    order = np.argsort(queries, kind="stable")
    query_rows, numbers = rows.read(queries[order]), queries[order]
    lists = np.empty((len(queries), k), dtype=np.intp)
    lists[order] = _search(rows, query_rows, numbers, k, closeness)
    return lists


def _search(rows: Rows, queries: Matrix, numbers: Index, k: int, closeness: Closeness) -> Index:
    lists = np.empty((len(numbers), k), dtype=np.intp)
    settled = np.zeros(len(numbers), dtype=bool)
    m = k + _SPARE + 1
    if filters.serves(queries.shape[1], m) and rows.n_rows > m:
        terms, sound = _TERMS[closeness](queries), True

        def check_blocks() -> Iterator[tuple[int, Matrix]]:
            nonlocal sound
            for start, block in rows.blocks():
                sound = sound and terms.holds(block)
                yield start, block

        candidates = filters.candidates_of_some(terms, queries, check_blocks(), m)
        if sound:
            settled = _settle(rows, queries, numbers, candidates, lists, closeness)
    rest = np.flatnonzero(~settled)
    if len(rest):
        lists[rest] = _search_exactly(rows, queries[rest], numbers[rest], k, closeness)
    return lists


def _settle(
    rows: Rows, queries: Matrix, numbers: Index, filtered: filters.Candidates, lists: Index, closeness: Closeness
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Fill the lists that the exact closeness of the candidates settles; return a mask of these queries."""
    k = lists.shape[1]
    settled = np.isfinite(filtered.bounds)
    # Number of queries whose candidate rows fit in memory together.
    step = max(1, _HELD // (filtered.places.shape[1] * queries.shape[1]))
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


_HELD = 1 << 25
"""Largest number of values from candidate rows held in memory."""


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


def _search_exactly(rows: Rows, queries: Matrix, numbers: Index, k: int, closeness: Closeness) -> Index:
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
