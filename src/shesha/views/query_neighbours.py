"""The nearest rows to sampled query rows, among all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import query_search
from shesha.kernels.distances import find_undirected_rows, standard_rows
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable
from shesha.views._neighbours import Neighbours
from shesha.views.representation import STANDARDS, Standard
from shesha.views.row_source import RowSource
from shesha.views.undirected_rows_error import UndirectedRowsError


@dataclass(frozen=True)
class QueryNeighbours(Neighbours):
    """The k nearest rows to each query row, among all rows, with the interface of `Neighbours`."""

    chosen: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Row numbers of the queries."""
    among: query_search.Rows | None = None
    """All rows, in the form whose inner products or distances define the metric."""
    closeness: query_search.Closeness = "distance"

    @classmethod
    def from_queries(
        cls, source: RowSource, queries: Index, *, k: int = 10, metric: Standard = "cosine"
    ) -> QueryNeighbours:
        """Search among all rows for the neighbours of the query rows."""
        k = check.count(k, "k")
        if k >= source.n_rows:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {source.n_rows}")
        check.choice(metric, STANDARDS, "metric")
        closeness: query_search.Closeness = "product" if metric == "dot" else "distance"
        among = _standard(source, queries, metric)
        lists = query_search.nearest_to_queries(among, queries, k, closeness)
        # The empty array only signals that features are available for similarities.
        return cls(lists, np.empty((0, source.n_features)), chosen=queries, among=among, closeness=closeness)

    @property
    def queries(self) -> Index:
        """Numbers of the rows whose neighbours are listed."""
        return self.chosen

    def ranks_of_neighbours(self, other: Neighbours) -> NDArray[np.integer]:
        """Rank in this view of each neighbour in `other`; 0 if it is not a neighbour in this view."""
        return _ranks(self.lists, other.nearest)

    def ranks_between(self, rows: Index, others: Index) -> NDArray[np.integer]:
        """Search for the neighbours of `rows`, and return the rank of each row in `others` among them."""
        assert self.among is not None
        rows, others = np.broadcast_arrays(rows, others)
        unique, places = np.unique(rows, return_inverse=True)
        lists = query_search.nearest_to_queries(self.among, unique, self.k, self.closeness)
        return _ranks(lists[places.ravel()], others.reshape(-1, 1)).reshape(rows.shape)

    def distances_between(self, rows: Index, others: Index) -> Matrix:
        """(Cosine) distances between each row and the other rows on its line."""
        assert self.among is not None
        rows = np.broadcast_to(rows, others.shape)
        out = np.empty(others.shape)
        step = max(1, _GATHERED // (others.shape[1] * self.rows.shape[1]))  # type: ignore[union-attr]
        for start in range(0, len(others), step):
            some = slice(start, start + step)
            unique, places = np.unique(np.stack([rows[some], others[some]]), return_inverse=True)
            held = self.among.read(unique)
            first, other = places.reshape(2, *others[some].shape)
            difference = held[first] - held[other]
            out[some] = 0.5 * np.einsum("ijk,ijk->ij", difference, difference)
        return out


_GATHERED = 1 << 24
"""Largest number of values gathered in one step; each step may have to read a stored array completely."""


def _ranks(lists: Index, others: Index) -> Index:
    """Rank of each entry of `others` in the corresponding list; 0 if the list does not contain it."""
    out = np.zeros(others.shape, dtype=np.intp)
    for place in range(lists.shape[1]):
        out[lists[:, place, None] == others] = place + 1
    return out


def _standard(source: RowSource, queries: Index, metric: Standard) -> query_search.Rows:
    if metric == "dot":
        return query_search.Rows(source.n_rows, source.read, source.starts, source.block)
    if metric == "euclidean":
        # Distances do not depend on the origin, and an origin near the rows keeps them precise.
        origin = np.median(source.read(np.sort(queries)), axis=0)
        transform: Callable[[Matrix, Index], Matrix] = lambda rows, _: rows - origin  # noqa: E731
    else:

        def transform(rows: Matrix, numbers: Index) -> Matrix:
            bad = find_undirected_rows(rows, metric)
            if len(bad):
                raise UndirectedRowsError(numbers[bad], metric)
            return standard_rows(rows, metric)

    def block(start: int) -> Matrix:
        rows = source.block(start)
        return transform(rows, np.arange(start, start + len(rows)))

    return query_search.Rows(source.n_rows, lambda rows: transform(source.read(rows), rows), source.starts, block)
