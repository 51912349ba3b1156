"""The nearest rows of each row: their order, distances, ranks, heat trace, and the nearest rows of sampled queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import device_kernels, neighbours as kernel
from shesha.kernels.condensed_matrices import square, take_condensed
from shesha.kernels.distances import PANEL, Metric, condensed_distances, n_pairs
from shesha.kernels.neighbours import distinct_rows, neighbour_distances
from shesha.kernels.pairs import condensed_index
from shesha.kernels.rounding_and_scaling import length_unit, safe_unit
from shesha.kernels.topology import heat_trace
from shesha.support.device_arrays import is_numpy, largest, take_rows, to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.features import Features
from shesha.views.representation import (
    STANDARDS,
    OrderKept,
    Representation,
    RowSource,
    Standard,
    Unordered,
    View,
    standardise,
)

Search = Callable[[Matrix], kernel.Found]
_SPARE = 15
"""Number of neighbours beyond 1.5 k. Four fifths of the rows almost always contain k of this many neighbours."""
_TABLE_ROWS = 4096
"""Largest number of rows for which a table of all ranks is stored; up to half as many, all distances are stored too."""


@dataclass(frozen=True)
class Neighbours(View):
    """The k nearest rows to each row, nearest first, without the row itself.

    A relabelled view shares the results of the original view and only translates row numbers.
    """

    distances_suffice = True

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
    def build_subsets(
        cls,
        source: Representation,
        subsets: Sequence[Index],
        *,
        k: int = 10,
        metric: Standard = "cosine",
        **options: Any,
    ) -> Iterator[Neighbours] | None:
        """Search once for more neighbours than k, and leave out those outside each subset; None if this can differ."""
        if source.has_distances_only or metric not in ("cosine", "correlation"):
            return None
        whole = source.view(Neighbours, k=min(k + k // 2 + _SPARE, source.n_rows - 1), metric=metric)
        if whole.tied or not is_numpy(whole.rows) or any(whole._count_fewest_listed(subset) < k for subset in subsets):
            return None
        return (whole._subset_view(subset, k) for subset in subsets)

    def _count_fewest_listed(self, subset: Index) -> int:
        """Return the smallest number of listed neighbours that are in the subset, over its rows."""
        inside = np.zeros(self.n_rows, dtype=bool)
        inside[subset] = True
        return int(inside[self.lists[subset]].sum(axis=1).min())

    def _subset_view(self, subset: Index, k: int) -> Neighbours:
        """Return the k nearest rows within a subset, numbered by their places in it."""
        assert self.rows is not None
        place = np.full(self.n_rows, -1)
        place[subset] = np.arange(len(subset))
        lists = place[self.lists[subset]]
        nearest = np.argsort(lists < 0, axis=1, kind="stable")[:, :k]
        return Neighbours(np.take_along_axis(lists, nearest, axis=1), self.rows[subset])

    @classmethod
    def _from_search(
        cls, result: kernel.Found, rows: Matrix | None, distances: Vector | None, search: Search | None
    ) -> Neighbours:
        return Neighbours(result.lists, rows, distances, result.tied, search=search, ties=result.ties)

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
        """Number of rows."""
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


MOST_RANKS = 64
"""Largest rank of a neighbour; neighbourhoods of higher ranks depend more on one another."""


@dataclass(frozen=True)
class NeighbourDistances(Unordered):
    """Euclidean distances to the neighbours of ranks 1, 2, 4, ..., 64, without repeated rows."""

    rows: Matrix
    """The distinct rows, in units of `unit`."""
    unit: float
    n_repeated: int
    distances: Matrix
    """Distances of shape (n_distinct_rows, n_ranks), in the same unit as the rows."""

    @classmethod
    def build(cls, source: Representation) -> NeighbourDistances:
        """Compute the distances between all pairs of rows, in panels."""
        rows = source.to_numpy.standard("euclidean")
        if not rows.any():
            raise NotEstimable("all rows are equal")
        distinct = distinct_rows(rows)
        if len(distinct) < 3:
            raise NotEstimable(
                "all rows are equal"
                if len(distinct) == 1
                else f"at least 3 distinct rows are needed, got {len(distinct)}"
            )
        kept = rows[distinct]
        distances = neighbour_distances(kept, cls.powers_of_two_up_to(len(kept) - 1))[0]
        return cls(kept, length_unit(source.to_numpy.rows), len(rows) - len(kept), distances)

    @staticmethod
    def powers_of_two_up_to(n_others: int) -> Index:
        """Powers of two up to the number of other rows, but at most the largest rank."""
        return np.asarray(2 ** np.arange(int(np.log2(min(n_others, MOST_RANKS))) + 1), dtype=np.intp)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the rows, and for panels of distances."""
        return 16 * n * d + 56 * n, 8 * n * d + 64 * 256 * n


_PANEL = 256


@dataclass(frozen=True)
class RowRanks(OrderKept):
    """For each row, the ranks of all other rows by distance, with mean ranks for ties; and its k nearest.

    Rows that tie for the last places among the k nearest get equal shares of these places. If row numbers decided ties
    instead, two representations with ties would agree for that reason alone.
    """

    distances_suffice = True

    ranks: NDArray[np.float32]
    """Matrix whose row i contains the rank of every other row, counted from 1; the diagonal is 0."""
    own: Index
    """Row numbers: each entry of `nearest` is one of the k nearest rows of the row listed here, with the share in
    `shares`."""
    nearest: Index
    shares: Vector
    order: Index | None = None

    @classmethod
    def build(cls, source: Representation, *, k: int = 1, metric: Metric = "euclidean") -> RowRanks:
        """Rank the distances from each row to all others."""
        n = source.n_rows
        if check.count(k, "k") >= n:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {n}")
        condensed, tolerance = source.condensed_distances(metric, squared=not source.has_distances_only)
        if np.ptp(condensed) <= tolerance:
            raise NotEstimable("all distances between rows are equal, so nearest neighbours are undefined")
        distances = square(condensed, n)
        ranks = np.zeros((n, n), dtype=np.float32)
        places = [_rank_panel(distances, start, k, tolerance, ranks) for start in range(0, n, _PANEL)]
        rows, nearest, shares = (np.concatenate(part) for part in zip(*places, strict=True))
        return cls(ranks, rows, nearest, shares)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the ranks, and for the distances while they are ranked."""
        return 4 * n * n + 24 * n * options["k"], 24 * n * d + 16 * n_pairs(n) + 8 * n * n

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ranks)

    def mean_rank_of_nearest(self, other: RowRanks) -> float:
        """Mean rank, in the other representation, of the rows that are nearest in this one."""
        own_ranks, nearest = self.own, self.nearest
        if self.order is not None:
            place = np.empty_like(self.order)
            place[self.order] = np.arange(len(place))
            own_ranks, nearest = place[own_ranks], place[nearest]
        if other.order is not None:
            own_ranks, nearest = other.order[own_ranks], other.order[nearest]
        return float(other.ranks[own_ranks, nearest] @ self.shares / self.shares.sum())


def _rank_panel(
    distances: NDArray[np.float64], start: int, k: int, tolerance: float, out: NDArray[np.float32]
) -> tuple[Index, Index, Vector]:
    """Rank all other rows for a panel of rows; return the k nearest, with fractional ties."""
    block = distances[start : start + _PANEL].copy()
    m, n = block.shape
    rows = np.arange(m)
    block[rows, start + rows] = -np.inf
    order = np.argsort(block, axis=1, kind="stable")
    ordered = np.take_along_axis(block, order, axis=1)
    new = np.ones((m, n), dtype=bool)
    # The row itself comes first and does not tie with any other row.
    new[:, 2:] = np.diff(ordered[:, 1:], axis=1) > tolerance
    places = np.broadcast_to(np.arange(n), (m, n))
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.ones((m, n), dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, places, n)[:, ::-1], axis=1)[:, ::-1]
    np.put_along_axis(out[start : start + m], order, ((first + last) / 2).astype(np.float32), axis=1)
    share = np.clip((k + 1 - first) / (last - first + 1), 0.0, 1.0)
    share[:, 0] = 0.0
    i, j = np.nonzero(share)
    return start + i, order[i, j], share[i, j]


@dataclass(frozen=True)
class QueryNeighbours(Neighbours):
    """The k nearest rows to each query row, among all rows, with the interface of `Neighbours`."""

    chosen: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Row numbers of the queries."""
    among: kernel.RowBlocks | None = None
    """All rows, in the form whose inner products or distances define the metric."""
    closeness: kernel.Closeness = "distance"

    @classmethod
    def from_queries(
        cls, source: RowSource, queries: Index, *, k: int = 10, metric: Standard = "cosine"
    ) -> QueryNeighbours:
        """Search among all rows for the neighbours of the query rows."""
        k = check.count(k, "k")
        if k >= source.n_rows:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {source.n_rows}")
        check.choice(metric, STANDARDS, "metric")
        closeness: kernel.Closeness = "product" if metric == "dot" else "distance"
        among = _standard(source, queries, metric)
        lists = kernel.nearest_to_queries(among, queries, k, closeness)
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
        lists = kernel.nearest_to_queries(self.among, unique, self.k, self.closeness)
        return _ranks(lists[places.ravel()], others.reshape(-1, 1)).reshape(rows.shape)

    def distances_between(self, rows: Index, others: Index) -> Matrix:
        """(Cosine) distances between each row and the other rows on its line."""
        assert self.among is not None
        rows = np.broadcast_to(rows, others.shape)
        out = np.empty(others.shape)
        step = max(1, _GATHERED_FOR_QUERIES // (others.shape[1] * self.rows.shape[1]))  # type: ignore[union-attr]
        for start in range(0, len(others), step):
            some = slice(start, start + step)
            unique, places = np.unique(np.stack([rows[some], others[some]]), return_inverse=True)
            held = self.among.read(unique)
            first, other = places.reshape(2, *others[some].shape)
            difference = held[first] - held[other]
            out[some] = 0.5 * np.einsum("ijk,ijk->ij", difference, difference)
        return out


_GATHERED_FOR_QUERIES = 1 << 24
"""Largest number of values gathered in one step; each step may have to read a stored array completely."""


def _ranks(lists: Index, others: Index) -> Index:
    """Rank of each entry of `others` in the corresponding list; 0 if the list does not contain it."""
    out = np.zeros(others.shape, dtype=np.intp)
    for place in range(lists.shape[1]):
        out[lists[:, place, None] == others] = place + 1
    return out


def _standard(source: RowSource, queries: Index, metric: Standard) -> kernel.RowBlocks:
    unit, origin = 1.0, np.zeros(source.n_features)
    if metric in ("euclidean", "dot"):
        # The order of neighbours depends on neither the unit nor, for distances, the origin. Squares of very large
        # numbers would overflow, and an origin near the rows keeps distances precise.
        unit = safe_unit(np.array([[largest(source.block(start)) for start in source.starts]]))
    if metric == "euclidean":
        origin = np.median(source.read(np.sort(queries)) / unit, axis=0)

    def transform(rows: Matrix, numbers: Index) -> Matrix:
        if metric == "euclidean" or metric == "dot":
            return rows / unit - origin
        return standardise(rows, metric, numbers=numbers)

    def block(start: int) -> Matrix:
        rows = source.block(start)
        return transform(rows, np.arange(start, start + len(rows)))

    return kernel.RowBlocks(source.n_rows, lambda rows: transform(source.read(rows), rows), source.starts, block)


@dataclass(frozen=True)
class HeatTrace(Unordered):
    """Heat trace of the graph of k nearest (Euclidean) neighbours, with one number for each time."""

    distances_suffice = True

    trace: Vector

    @classmethod
    def build(cls, source: Representation, *, k: int = 5) -> HeatTrace:
        """Build the graph and compute its heat trace."""
        return cls(
            heat_trace(source.view(Neighbours, k=k, metric="euclidean", center=False, include_self=False).nearest)
        )

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the neighbours, and for the powers of the graph."""
        kept, working = Neighbours.memory(n, d, **options)
        return kept, working + min(8 * 3 * n * n, 2**30)
