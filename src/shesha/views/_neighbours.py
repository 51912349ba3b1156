"""The nearest rows of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import device_kernels
from shesha.kernels import neighbours as kernel
from shesha.kernels.condensed_matrices import square
from shesha.kernels.condensed_pairs import condensed_index
from shesha.kernels.distances import PANEL, condensed_distances
from shesha.kernels.permutation_products import take_condensed
from shesha.support.device_arrays import is_numpy, largest, take_rows, to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views._features import Features
from shesha.views.representation import STANDARDS, Representation, Standard, View

Search = Callable[[Matrix], kernel.Found]
_TABLE_ROWS = 4096
"""Largest number of rows for which a table of all ranks is stored; up to half as many, all distances are stored too."""


@dataclass(frozen=True)
class Neighbours(View):
    """The k nearest rows to each row, nearest first, without the row itself.

    A relabelled view shares the results of the original view and only translates row numbers.
    """

    lists: Index
    """Matrix whose row i contains the numbers of the neighbours of row i."""
    rows: Matrix | None
    """Rows whose inner products define the metric; None if only distances were given."""
    distances: Vector | None = None
    """Condensed distances, if only distances were given."""
    tied: bool = False
    """Whether ties between equally near rows were broken by row number."""
    search: Search | None = None
    """Function that searches for neighbours among rows; None if only distances were given."""
    ties: kernel.Ties | None = None
    """The tied rows, if ties can be broken again without a new search."""

    @classmethod
    def build(
        cls,
        source: Representation,
        *,
        k: int = 10,
        metric: Standard = "cosine",
        center: bool = False,
        include_self: bool = False,
    ) -> Neighbours:
        """Search for neighbours among all rows; `center` subtracts column means first."""
        k = check.count(k, "k")
        if k >= source.n_rows:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {source.n_rows}")
        check.boolean(center, "center")
        check.boolean(include_self, "include_self")
        check.choice(metric, STANDARDS, "metric")
        if source.has_distances_only:
            distances, _ = source.condensed_distances("euclidean")
            if np.ptp(distances) == 0:
                raise NotEstimable("all distances between rows are equal, so nearest neighbours are undefined")
            return cls._from_search(kernel.nearest_of_distances(distances, source.n_rows, k), None, distances, None)
        if metric == "dot":
            features = source.view(Features)
            rows = features.centred if center else features.rows
            search: Search = partial(kernel.nearest_by_product, k=k, include_self=include_self)
        else:
            rows, search = source.standard(metric), partial(kernel.nearest_by_distance, k=k)
        if _all_equal(rows):
            raise NotEstimable("all rows are equal, so nearest neighbours are undefined")
        return cls._from_search(search(rows), rows, None, search)

    @classmethod
    def _from_search(
        cls, result: kernel.Found, rows: Matrix | None, distances: Vector | None, search: Search | None
    ) -> Neighbours:
        return Neighbours(result.lists, rows, distances, result.tied, search, result.ties)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for rows, neighbours and tables, and for panels of distances or candidates."""
        k = check.count(options["k"], "k")
        tables = n * n if n <= _TABLE_ROWS else 0
        centred = bool(options.get("center", False))
        copies = 2 if centred else 1
        medians = 8 * n * d if centred or options.get("metric") == "euclidean" else 0
        working = 64 * n * (k + 10) + max(32 * PANEL * n, 4 * n * d)
        return 8 * n * d * copies + 24 * n * k + 3 * tables, medians + working

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return len(self.lists)

    @property
    def queries(self) -> Index:
        """Numbers of the rows whose neighbours are listed, which are all rows."""
        return np.arange(self.n_rows)

    @property
    def k(self) -> int:
        """Number of neighbours of each row."""
        return int(self.lists.shape[1])

    @property
    def nearest(self) -> Index:
        """Matrix whose row i contains the numbers of the neighbours of row i."""
        return self.lists

    @cached_property
    def rank_major_lists(self) -> Index:
        """Matrix whose row r contains the neighbour of rank r of every row, for faster look-ups."""
        return np.ascontiguousarray(self.nearest.T)

    def ranks_between(self, rows: Index, others: Index) -> NDArray[np.integer[Any]]:
        """Rank (from 1) of each row in `others` among the neighbours of its partner in `rows`; 0 if absent."""
        if self.n_rows <= _TABLE_ROWS:
            return np.asarray(self._rank_table.take(rows * self.n_rows + others))
        codes, order = self._edge_codes
        wanted = rows * self.n_rows + others
        places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[places] == wanted, order[places] % self.k + 1, 0)

    def ranks_of_neighbours(self, other: Neighbours) -> NDArray[np.integer[Any]]:
        """Rank in this view of each neighbour in `other`, of shape (n, k); 0 if it is not a neighbour here."""
        return self.ranks_between(np.arange(self.n_rows), other.rank_major_lists).T

    def distances_between(self, rows: Index, others: Index) -> Matrix:
        """(Cosine) distances between pairs of rows, where both index arrays have shape (n, m)."""
        if self.n_rows <= _TABLE_ROWS // 2:
            return np.asarray(self._distance_table.take(rows * self.n_rows + others))
        out = np.empty(others.shape)
        step = max(1, _GATHERED // max(1, others.shape[1] * (1 if self.rows is None else self.rows.shape[1])))
        for start in range(0, len(others), step):
            stretch = slice(start, start + step)
            out[stretch] = self._distances(rows[stretch], others[stretch])
        return out

    def products(self) -> Matrix:
        """Inner product of each row with each of its neighbours, of shape (n, k)."""
        return self._products

    def products_with_rank(self, rows: Index, ranks: NDArray[np.integer[Any]]) -> Vector:
        """Inner product of each given row with its neighbour of the given rank."""
        return np.asarray(self._products[rows, ranks - 1])

    def invariant(self, key: str, number: Callable[[Neighbours], float]) -> float:
        """Return a number that does not depend on the row order, computed once for the original view."""
        if key not in self._numbers:
            self._numbers[key] = number(self)
        return self._numbers[key]

    @cached_property
    def _numbers(self) -> dict[str, float]:
        return {}

    @cached_property
    def _rank_table(self) -> NDArray[np.integer[Any]]:
        table = np.zeros((self.n_rows, self.n_rows), dtype=np.uint8 if self.k < 256 else np.uint16)
        table[np.arange(self.n_rows)[:, None], self.lists] = np.arange(1, self.k + 1)
        return table.ravel()

    @cached_property
    def _edge_codes(self) -> tuple[Index, Index]:
        codes = (np.arange(self.n_rows)[:, None] * self.n_rows + self.lists).ravel()
        order = np.argsort(codes, kind="stable")
        return codes[order], order

    @cached_property
    def _distance_table(self) -> Vector:
        n = self.n_rows
        triangle = self.distances
        if triangle is None:
            assert self.rows is not None
            triangle = to_host(condensed_distances(self.rows, "euclidean", squared=True))
            triangle *= 0.5
        return square(triangle, n).ravel()

    @cached_property
    def _products(self) -> Matrix:
        assert self.rows is not None
        if not is_numpy(self.rows):
            return device_kernels.products_with_lists(self.rows, self.lists)
        out = np.empty(self.lists.shape)
        step = max(1, _GATHERED // (self.k * self.rows.shape[1]))
        for start in range(0, self.n_rows, step):
            stretch = slice(start, start + step)
            out[stretch] = np.einsum("ijk,ik->ij", self.rows[self.lists[stretch]], self.rows[stretch])
        return out

    def _distances(self, rows: Index, others: Index) -> Matrix:
        if self.rows is not None:
            # Half the squared distance between unit rows is precise even if the rows are close.
            if not is_numpy(self.rows):
                return 0.5 * device_kernels.squared_distances_between(self.rows, rows, others)
            difference = self.rows[others] - self.rows[rows]
            return np.asarray(0.5 * np.einsum("ijk,ijk->ij", difference, difference))
        assert self.distances is not None
        rows = np.broadcast_to(rows, others.shape)
        itself = rows == others
        index = condensed_index(np.where(itself, 0, rows), np.where(itself, 1, others), self.n_rows)
        return np.where(itself, 0.0, self.distances[index])

    def permute(self, order: Index) -> Neighbours:
        """Reorder the rows: row i of the result is row order[i] of this view.

        Ties are broken by the new row numbers. If both sides of a comparison broke ties by corresponding row numbers,
        they would agree for that reason alone.
        """
        if not self.tied:
            return Relabelled(self.lists, self.rows, self.distances, original=self, order=order)
        if self.ties is not None:
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            broken = Neighbours(self.ties.break_ties(place, self.lists), self.rows, self.distances)
            return Relabelled(
                broken.lists, self.rows, self.distances, tied=True, original=broken, order=order, own=self
            )
        if self.rows is not None and self.search is not None:
            rows = take_rows(self.rows, order)
            return self._from_search(self.search(rows), rows, None, self.search)
        assert self.distances is not None
        moved = take_condensed(self.distances, order, self.n_rows)
        return self._from_search(kernel.nearest_of_distances(moved, self.n_rows, self.k), None, moved, None)


_GATHERED = 1 << 21
"""Largest number of values gathered in one step."""


def _all_equal(rows: Matrix) -> bool:
    """Whether all rows equal the first row, up to rounding."""
    tolerance = 8 * np.finfo(float).eps * largest(rows)
    first = rows[:1, :]
    # The array API standard does not allow slices that go beyond the end.
    n = rows.shape[0]
    return all(largest(rows[start : min(start + PANEL, n), :] - first) <= tolerance for start in range(0, n, PANEL))


@dataclass(frozen=True)
class Relabelled(Neighbours):
    """Neighbours with reordered rows, where row i is row order[i] of the original."""

    original: Neighbours | None = None
    order: Index | None = None
    own: Neighbours | None = None
    """The neighbours with ties broken by row number, if `original` has ties broken for the new order."""

    @property
    def _original(self) -> tuple[Neighbours, Index]:
        assert self.original is not None and self.order is not None
        return self.original, self.order

    @cached_property
    def nearest(self) -> Index:
        """Matrix whose row i contains the numbers of the neighbours of row i."""
        original, order = self._original
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return np.asarray(place[original.nearest[order]])

    def ranks_of_neighbours(self, other: Neighbours) -> NDArray[np.integer[Any]]:
        """Look up the ranks under the original row numbers."""
        original, order = self._original
        return original.ranks_between(order, order.take(other.rank_major_lists)).T

    def ranks_between(self, rows: Index, others: Index) -> NDArray[np.integer[Any]]:
        """Look up the ranks under the original row numbers."""
        original, order = self._original
        return original.ranks_between(order.take(rows), order.take(others))

    def distances_between(self, rows: Index, others: Index) -> Matrix:
        """Look up the distances under the original row numbers."""
        original, order = self._original
        return original.distances_between(order[rows], order[others])

    def products(self) -> Matrix:
        """Rearrange the products of the original."""
        original, order = self._original
        return np.asarray(original.products()[order])

    def products_with_rank(self, rows: Index, ranks: NDArray[np.integer[Any]]) -> Vector:
        """Look up the products under the original row numbers."""
        original, order = self._original
        return original.products_with_rank(order[rows], ranks)

    def invariant(self, key: str, number: Callable[[Neighbours], float]) -> float:
        """Return the number of the original, which is the same."""
        return self._original[0].invariant(key, number)

    def permute(self, order: Index) -> Neighbours:  # type: ignore[override]
        """Reorder the rows of the original again."""
        original, first_order = self._original
        return (self.own or original).permute(first_order[order])
