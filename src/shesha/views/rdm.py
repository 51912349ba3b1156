"""Distances between rows: raw, as centred ranks, within subsets of rows, compared in triplets or quadruplets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, sqrt
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import condensed_matrices, ranks
from shesha.kernels.condensed_matrices import square, take_condensed
from shesha.kernels.distances import (
    PANEL,
    Metric,
    condensed_distances,
    distance_rounding,
    n_pairs,
    pair_distances,
    standard_rows,
)
from shesha.kernels.feature_halves import subset_correlations
from shesha.kernels.pairs import condensed_index
from shesha.support.device_arrays import is_numpy, namespace, spread
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.covariates import Adjusted
from shesha.views.features import Features
from shesha.views.representation import OrderKept, Representation, Symmetric, View, where_estimable

Method = Literal["spearman", "pearson", "rho-a", "tau-a", "corr_cov", "cosine_cov"]
METHODS: tuple[Method, ...] = get_args(Method)
CORRELATIONS: tuple[Method, ...] = ("spearman", "pearson")
RANKED: tuple[Method, ...] = ("spearman", "rho-a", "tau-a")
"""Methods that depend on the order of the distances only."""
WHITENED: tuple[Method, ...] = ("corr_cov", "cosine_cov")
_ROUNDED = 8 * np.finfo(float).eps
_SAME_SUM = 1e-12
"""Relative difference below which two sums of unit ranks count as equal."""
_LEFT = 1e-7
"""If residual ranks are shorter than this share of the ranks, they are rounding errors."""
_EQUAL = "all distances between rows are equal, so the correlation is undefined"


@dataclass(frozen=True)
class RankedRdm(View):
    """Centred ranks of the distances between rows (or the centred distances), scaled to unit length.

    The inner product of two views is the (rank) correlation of their distances. Undefined distances get the mean rank,
    so they do not contribute to it.
    """

    distances_suffice = True

    folding = "columns"

    n_rows: int
    ranks: Vector
    """Centred ranks of all pairs i < j, in condensed order; all NaN if the distances are equal."""

    @classmethod
    def build(cls, source: Representation, *, metric: Metric = "correlation", method: Method = "spearman") -> RankedRdm:
        """Compute the distances between rows, or take the given ones, and rank or centre them."""
        check.choice(method, METHODS, "method")
        if isinstance(source, Adjusted) and source.by_distances:
            if method not in (*CORRELATIONS, "corr_cov"):
                raise NotEstimable(f"covariates cannot be regressed out of distances that {method} compares")
            unit_ranks = source.given.view(RankedRdm, metric=metric, method=method).ranks
            known = Representation(source.covariates.distances, source.precision)
            if np.isnan(unit_ranks).any():
                raise NotEstimable("some distances are missing (NaN), so covariates cannot be regressed out of them")
            return PartialRdm.remove_covariates(unit_ranks, RankedRdm.build(known, method=method).ranks, source.n_rows)
        if source.has_distances_only and source.distances.n_missing:
            return IncompleteRdm.rank_known(*source.condensed_distances(metric, missing=True), source.n_rows, method)
        # Whitening is for squared distances. Given ones are used as they are: cross-validated ones are squares.
        squared = method in RANKED or (method in WHITENED and not source.has_distances_only)
        return cls._scale(*source.condensed_distances(metric, squared=squared), source.n_rows, method)

    @classmethod
    def of_pairs(
        cls, source: Representation, i: Index, j: Index, *, metric: Metric = "correlation", method: Method = "spearman"
    ) -> RankedRdm:
        """Build the view for the given pairs only; it has one entry per pair and cannot be permuted."""
        check.choice(method, METHODS, "method")
        distances, tolerance = source.distances_of_pairs(i, j, metric, squared=method == "spearman")
        if source.has_distances_only and np.isnan(distances).any():
            return IncompleteRdm.rank_known(*source.distances_of_pairs(i, j, metric), source.n_rows, method)
        return cls._scale(distances, tolerance, source.n_rows, method)

    @classmethod
    def _scale(cls, distances: Vector, tolerance: float, n_rows: int, method: Method) -> RankedRdm:
        """Rank, centre or whiten the distances; the vector is overwritten."""
        if method in RANKED:
            rdm = cls.from_distances(distances, n_rows, tolerance, overwrite=True)
            if np.isnan(float(rdm.ranks[0])):
                raise NotEstimable(_EQUAL)
            return rdm._convert_to_method(method)
        if spread(distances) <= tolerance:
            raise NotEstimable(_EQUAL)
        if method in WHITENED:
            condensed_matrices.whiten(distances, n_rows)
        if method != "cosine_cov":
            distances -= namespace(distances).mean(distances)
        distances /= sqrt(condensed_matrices.inner(distances, distances))
        return cls(n_rows, distances)

    @classmethod
    def average(cls, views: Sequence[Self], *, method: Method = "spearman", **options: Any) -> Self:
        """Average the unit-length vectors of the views; for 'spearman', rank the averages again."""
        if any(isinstance(view, IncompleteRdm) for view in views):
            return IncompleteRdm.mean_of_known(views, method)  # type: ignore[return-value]
        mean = _sum([view.ranks for view in views])
        if method in RANKED:
            # Sums of ranks often tie, up to rounding in the factor that scales them to unit length.
            rdm = cls.from_distances(mean, views[0].n_rows, _SAME_SUM * spread(mean))
            if np.isnan(float(rdm.ranks[0])):
                raise NotEstimable(_EQUAL)
            return cls(rdm.n_rows, rdm.ranks)._convert_to_method(method)  # type: ignore[return-value]
        length = sqrt(condensed_matrices.inner(mean, mean))
        if length <= _SAME_SUM:
            raise NotEstimable(_EQUAL)
        return cls(views[0].n_rows, mean / length)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the ranks, and for distances and sort keys while the ranks are computed."""
        copies = 3 if options.get("metric") == "euclidean" else 1
        # Ranking takes most where some of the distances nearly tie.
        return 8 * n_pairs(n), 8 * n * (copies * d + min(PANEL, n)) + 48 * n_pairs(n)

    @classmethod
    def from_rows(cls, rows: NDArray[np.float64], metric: Metric) -> RankedRdm:
        """Rank the distances between standard rows."""
        return cls.from_distances(
            condensed_distances(rows, metric, squared=True), len(rows), distance_rounding(rows, metric)
        )

    @classmethod
    def from_distances(
        cls, distances: Vector, n_rows: int, tolerance: float = 0.0, *, overwrite: bool = False
    ) -> RankedRdm:
        """Rank condensed distances; differences within the tolerance are ties. `overwrite` saves memory."""
        if distances.shape[0] < 2:
            return cls(n_rows, np.full(distances.shape[0], np.nan))
        return cls(n_rows, ranks.unit_ranks(distances, tolerance, distances if overwrite else None))

    def _convert_to_method(self, method: Method) -> RankedRdm:
        """Return the view whose inner products are the correlations of a method that ranks distances."""
        if method == "tau-a":
            return KendallRdm(self.n_rows, self.ranks)
        if method == "rho-a":
            return RankedRdm(self.n_rows, self.ranks * sqrt(ranks.share_of_untied_pairs(self.ranks, 3)))
        return self

    @classmethod
    def build_subsets(
        cls,
        source: Representation,
        subsets: Sequence[Index],
        *,
        metric: Metric = "correlation",
        method: Method = "spearman",
        **options: Any,
    ) -> Iterable[RankedRdm | None] | None:
        """Take the distances of each subset from those of all rows or, if there are many, their coarsened ranks.

        None if the distances or their rounding depend on the other rows.
        """
        if source.n_rows <= _FEW_ROWS:
            if source.has_distances_only or metric == "euclidean":
                return None
            n, squared = source.n_rows, method in (*RANKED, *WHITENED)
            distances, tolerance = source.condensed_distances(metric, squared=squared)
            return where_estimable(
                lambda subset: cls._scale(take_condensed(distances, subset, n), tolerance, len(subset), method), subsets
            )
        if method != "spearman":
            return None
        whole = source.view(RankedRdm, metric=metric, method=method)
        if type(whole) is not RankedRdm or not is_numpy(whole.ranks):
            return None
        return [SubsetRdm(len(subset), whole.ranks, whole, tuple(subsets), k) for k, subset in enumerate(subsets)]

    def permute(self, order: Index) -> Self:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return replace(self, ranks=take_condensed(self.ranks, order, self.n_rows))

    def symmetric(self) -> Symmetric:
        """Return the matrix in the form that inner products with other matrices need."""
        return Symmetric(self.ranks, None, 1.0)

    def inner(self, other: RankedRdm) -> float:
        """Rank correlation with another view of the same rows."""
        if isinstance(other, IncompleteRdm):
            return other.inner(self)
        value = condensed_matrices.inner(self.ranks, other.ranks)
        # Equal ranks must have a correlation of exactly 1, but the length of a unit vector is rounded.
        return value if abs(abs(value) - 1) > _ROUNDED else float(np.sign(value))


@dataclass(frozen=True)
class KendallRdm(RankedRdm):
    """Ranks of distances whose inner product is Kendall's tau-a."""

    def inner(self, other: RankedRdm) -> float:
        """Kendall's tau-a with another view of the same rows."""
        if isinstance(other, IncompleteRdm):
            return other.inner(self)
        return ranks.kendall_tau_a(self.ranks, other.ranks)


_FEW_ROWS = 500
"""Largest number of rows for which the distances within each subset are ranked again."""


@dataclass(frozen=True)
class SubsetRdm(RankedRdm):
    """Ranks of the distances within one of several subsets, from the coarsened ranks of all distances."""

    whole: RankedRdm
    subsets: tuple[Index, ...]
    number: int
    """Number of the subset."""

    def inner(self, other: RankedRdm) -> float:
        """Rank correlation with the view of the same subset of other rows, computed for all subsets at once."""
        assert isinstance(other, SubsetRdm)
        whole = self.whole, other.whole
        correlations = whole[0].cache_for_pair(
            whole[1],
            "subsets",
            lambda: subset_correlations(whole[0].ranks, whole[1].ranks, whole[0].n_rows, self.subsets),
        )
        return float(correlations[self.number])


_FEWEST_PAIRS = 3
"""Smallest number of pairs of rows with distances on both sides that can be correlated."""


@dataclass(frozen=True)
class IncompleteRdm(RankedRdm):
    """Ranks of distances of which some are missing (NaN); the inner product uses the pairs known on both sides."""

    method: Method
    """How distances are compared; they are ranked or centred again among the pairs that are used."""

    @classmethod
    def rank_known(cls, distances: Vector, tolerance: float, n_rows: int, method: Method) -> IncompleteRdm:
        """Rank or centre the known distances."""
        if method in WHITENED:
            raise NotEstimable(f"{method} needs all distances, but some are missing (NaN): leave these rows out")
        known = ~np.isnan(distances)
        values = np.full(len(distances), np.nan)
        if known.any():
            values[known] = RankedRdm._scale(distances[known], tolerance, n_rows, method).ranks
        return cls(n_rows, values, method)

    @classmethod
    def mean_of_known(cls, views: Sequence[RankedRdm], method: Method) -> IncompleteRdm:
        """Average, for each pair of rows, over the views that know its distance."""
        vectors = np.stack([view.ranks for view in views])
        known = ~np.isnan(vectors)
        counts = known.sum(axis=0)
        mean = np.where(known, vectors, 0.0).sum(axis=0) / np.where(counts > 0, counts, np.nan)
        return cls.rank_known(mean, _SAME_SUM * float(np.nanmax(mean) - np.nanmin(mean)), views[0].n_rows, method)

    def inner(self, other: RankedRdm) -> float:
        """Rank correlation with another view over the pairs of rows whose distances both know."""
        known = ~(np.isnan(self.ranks) | np.isnan(other.ranks))
        if (n_known := int(known.sum())) < _FEWEST_PAIRS:
            raise NotEstimable(f"only {n_known} pairs of rows have distances on both sides, {_FEWEST_PAIRS} are needed")
        a, b = (RankedRdm._scale(side.ranks[known], _SAME_SUM, self.n_rows, self.method) for side in (self, other))
        return a.inner(b)


@dataclass(frozen=True)
class PartialRdm(RankedRdm):
    """Residual ranks given the distances between covariates; inner products are partial correlations."""

    known: Vector
    """Ranks of the distances between covariates, centred and scaled to unit length."""

    @classmethod
    def remove_covariates(cls, own: Vector, known: Vector, n_rows: int) -> PartialRdm:
        """Regress the covariates out of centred ranks; raise NotEstimable if nothing remains."""
        residuals = own - condensed_matrices.inner(own, known) * known
        length = sqrt(condensed_matrices.inner(residuals, residuals))
        if length <= _LEFT * sqrt(condensed_matrices.inner(own, own)):
            raise NotEstimable("distances between covariates explain all distances between rows")
        return cls(n_rows, residuals / length, known)

    def permute(self, order: Index) -> PartialRdm:
        """Permute the residuals, then regress the covariates out again."""
        return PartialRdm.remove_covariates(take_condensed(self.ranks, order, self.n_rows), self.known, self.n_rows)


@dataclass(frozen=True)
class Distances(View):
    """Euclidean distances between rows, in the units of the features."""

    distances_suffice = True

    n_rows: int
    condensed: Vector

    folding = "columns"

    @classmethod
    def build(cls, source: Representation) -> Distances:
        """Compute the distances between rows, or take the given ones."""
        distances, _ = source.condensed_distances("euclidean")
        if not source.has_distances_only:
            unit = source.view(Features).unit
            if not np.isfinite(float(distances.max(initial=0.0)) * unit):
                raise NotEstimable("distances between rows exceed the largest number")
            distances *= unit
        return cls(source.n_rows, distances)

    @classmethod
    def average(cls, views: Sequence[Self], **options: Any) -> Self:
        """Average the distances."""
        return cls(views[0].n_rows, _sum([view.condensed for view in views]) / len(views))

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the distances, and for their differences from others."""
        return 24 * n * d + 8 * n_pairs(n), 24 * n * d + 8 * n_pairs(n)

    def permute(self, order: Index) -> Distances:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return Distances(self.n_rows, take_condensed(self.condensed, order, self.n_rows))


def _sum(vectors: Sequence[Vector]) -> Vector:
    total = vectors[0].copy()
    for vector in vectors[1:]:
        total += vector
    return total


_QUANTILE = 0.9


@dataclass(frozen=True)
class DistanceSubsets(OrderKept):
    """Euclidean distances within subsets of the rows, divided by the subset's 0.9 quantile."""

    distances_suffice = True

    subsets: tuple[Index, ...]
    rows: Matrix | None
    distances: Vector | None
    n_rows: int
    order: Index | None = None

    @classmethod
    def build(
        cls, source: Representation, *, n_subsets: int = 10, subset_size: int = 500, seed: Seed = None
    ) -> DistanceSubsets:
        """Draw the subsets from the seed and the number of rows; if there are few rows, one subset has all."""
        n, count = source.n_rows, check.count(n_subsets, "n_subsets")
        size = check.count(subset_size, "subset_size", minimum=3)
        rng = generator(seed)
        subsets = (
            (np.arange(n),) if n <= size else tuple(np.sort(rng.choice(n, size, replace=False)) for _ in range(count))
        )
        if source.has_distances_only:
            return cls(subsets, None, source.condensed_distances("euclidean")[0], n)
        return cls(subsets, standard_rows(source.view(Features).rows, "euclidean"), None, n)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the rows, and for the matrices of one subset."""
        return 32 * n * d, 1000 * min(n, options["subset_size"]) ** 2

    def quantile_scaled_distances(self, subset: int) -> Matrix:
        """Square matrix of the distances within a subset, divided by the 0.9 quantile of its entries."""
        chosen = self.subsets[subset] if self.order is None else self.order[self.subsets[subset]]
        if self.rows is not None:
            triangle = condensed_distances(np.ascontiguousarray(self.rows[chosen]), "euclidean")
        else:
            assert self.distances is not None
            triangle = take_condensed(self.distances, chosen, self.n_rows)
        whole = square(triangle, len(chosen))
        scale = float(np.quantile(whole, _QUANTILE))
        if not scale > 0:
            raise NotEstimable("90 % of the distances within a subset of rows are zero")
        whole /= scale
        return whole


Shape = Literal["triplets", "quadruplets"]
_TABLE_ROWS = 4096
"""Largest number of rows for which all distances are stored; with more rows, only the compared distances are computed.
"""


@dataclass(frozen=True)
class Comparisons(OrderKept):
    """Signs of d(i, j) - d(k, l) for triplets (k = i) or quadruplets of different rows."""

    distances_suffice = True

    tuples: Index
    """Row numbers i, j, k and l of each comparison, of shape (4, n_comparisons)."""
    n_rows: int
    tolerance: float
    """Difference below which two distances count as equal."""
    distances: Vector | None
    rows: Matrix | None
    metric: Metric
    sampled: bool
    order: Index | None = None

    @classmethod
    def build(
        cls,
        source: Representation,
        *,
        shape: Shape = "triplets",
        metric: Metric = "euclidean",
        n_samples: int = 200_000,
        seed: Seed = None,
    ) -> Comparisons:
        """Draw triplets or quadruplets that depend only on the seed and the number of rows."""
        n, count = source.n_rows, check.count(n_samples, "n_samples")
        tuples, sampled = draw_tuples(n, shape, count, seed)
        distances: Vector | None = None
        kept: Matrix | None = None
        if source.has_distances_only or n <= _TABLE_ROWS:
            distances, tolerance = source.condensed_distances(metric, squared=not source.has_distances_only)
        else:
            kept = source.standard(metric)
            tolerance = distance_rounding(kept, metric)
        comparisons = cls(tuples, n, tolerance, distances=distances, rows=kept, metric=metric, sampled=sampled)
        if not comparisons.signs.any():
            raise NotEstimable("all distances between rows are equal, so comparisons of distances are undefined")
        return comparisons

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the distances or rows, and for the tuples."""
        kept = 8 * n_pairs(n) if n <= _TABLE_ROWS else 8 * n * d
        return kept + 33 * options["n_samples"], 24 * n * d + 48 * options["n_samples"] + 8 * n_pairs(
            min(n, _TABLE_ROWS)
        )

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """1 if the first distance is larger, -1 if the second is larger, and 0 for ties."""
        i, j, k, m = self.tuples if self.order is None else self.order[self.tuples]
        difference = self._distances(i, j) - self._distances(k, m)
        return ((difference > self.tolerance).astype(np.int8) - (difference < -self.tolerance)).astype(np.int8)

    def _distances(self, first: Index, second: Index) -> Vector:
        if self.distances is not None:
            return np.asarray(self.distances[condensed_index(first, second, self.n_rows)])
        assert self.rows is not None
        return pair_distances(self.rows, first, second, self.metric, squared=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the signs, which can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "signs"}


def draw_tuples(n: int, shape: Shape, n_samples: int, seed: Seed) -> tuple[Index, bool]:
    """Return rows i, j, k, l (one line each), and whether they are only a sample of all comparisons."""
    size = 3 if shape == "triplets" else 4
    if n < size:
        raise NotEstimable(f"{shape} need at least {size} rows, got {n}")
    if 3 * comb(n, size) <= n_samples:
        sets = np.array(list(combinations(range(n), size)), dtype=np.intp).T
        if size == 3:
            a, b, c = sets
            return _stack([(a, b, a, c), (b, a, b, c), (c, a, c, b)]), False
        a, b, c, d = sets
        return _stack([(a, b, c, d), (a, c, b, d), (a, d, b, c)]), False
    rng = generator(seed)
    chosen = np.empty((size, n_samples), dtype=np.intp)
    for place in range(size):
        # Draw a position among the remaining rows, and skip the rows that were already taken.
        draw = rng.integers(n - place, size=n_samples)
        for taken in np.sort(chosen[:place], axis=0):
            draw += draw >= taken
        chosen[place] = draw
    if size == 3:
        i, j, k = chosen
        return np.stack([i, j, i, k]), True
    return chosen, True


def _stack(ways: list[tuple[Index, ...]]) -> Index:
    return np.concatenate([np.stack(way) for way in ways], axis=1)
