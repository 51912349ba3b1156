"""Centred kernel matrices of unit norm, and the singular vectors and values of a representation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import condensed_matrices
from shesha.kernels.condensed_matrices import take_condensed
from shesha.kernels.distances import inner_products, n_pairs
from shesha.kernels.pairs import diagonal_correction
from shesha.kernels.spectrum import FourthMoments, centred_variances, variances_and_moments
from shesha.support import memory
from shesha.support.device_arrays import (
    convert_like,
    is_numpy,
    namespace,
    norm,
    order_statistics,
    singular_values,
    spread,
    squared_lengths,
    take_rows,
    thin_svd,
    to_host,
    total,
)
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.features import Features, centred_rows, compact_rows
from shesha.views.representation import Representation, Symmetric, Unordered, View, where_estimable

if TYPE_CHECKING:
    from shesha.views.representation import Rows


Kernel = Literal["linear", "rbf", "distance"]
KERNELS: tuple[Kernel, ...] = ("linear", "rbf", "distance")
Bandwidth = float | Literal["median", "published"]
_DEGENERATE = 1e-14
"""If centring reduces the norm of a kernel matrix below this share, the matrix is constant up to rounding."""
_CANCELLED = 1e-4
"""The same share for some rows of a matrix that was centred for all rows: below it, 4 of 16 digits are lost."""
_LARGE = 2**26
"""Largest number of bytes for which a copy of the features is kept for other views."""
_SHARE = 16
"""One over this number is the largest share of the memory budget for such a copy."""
_FEATURES = 4096
"""Features whose squares are in memory at a time."""


@dataclass(frozen=True)
class Gram(View):
    """A centred kernel matrix of unit norm.

    With a linear kernel and few features, only the rows are stored and the matrix is never formed; inner products are
    then computed from the p x q cross-products of the features.
    """

    n_rows: int
    unbiased: bool
    factor: Matrix | None
    """Centred rows whose inner products are the entries of the matrix, for the linear kernel."""
    given: tuple[Vector, Vector] | None = None
    """Upper triangle and diagonal of the matrix, if they have already been computed."""
    size: float = 1.0
    """Norm of the matrix. It is above 1 if the features are a sample, because the norm of all features is scaled to 1.
    """

    folding = "columns"

    @classmethod
    def build(
        cls,
        source: Representation,
        *,
        kernel: Kernel = "linear",
        bandwidth: Bandwidth = "median",
        unbiased: bool = False,
        sampled: bool = False,
    ) -> Gram:
        """Compute the kernel, centre it (with zero diagonal if unbiased), and scale it to unit norm.

        With `sampled` (only for the linear kernel), the features count as a sample, and the norm for all features is
        estimated. The distance kernel is the Euclidean distance itself (Sejdinovic et al. 2013).
        """
        check.choice(kernel, KERNELS, "kernel")
        if isinstance(bandwidth, str):
            check.choice(bandwidth, ("median", "published"), "bandwidth")
        else:
            check.positive(bandwidth, "bandwidth")
        if unbiased and source.n_rows < 4:
            raise NotEstimable(f"the unbiased estimator needs at least 4 rows, got {source.n_rows}")
        if kernel == "linear":
            return _linear(source, unbiased, sampled)
        entries = (
            _gaussian(source, bandwidth)
            if kernel == "rbf"
            else _append_diagonal(_distances(source, squared=False), source.n_rows, 0.0)
        )
        return cls(source.n_rows, unbiased, None, _centred(*entries, unbiased))

    @classmethod
    def build_subsets(
        cls, source: Representation, subsets: Sequence[Index], **options: Any
    ) -> Iterator[Gram | None] | None:
        """Take the entries of each subset from the matrix of all rows, and centre them again.

        This gives the matrix of the subset alone, because centring removes what the mean of all rows has changed. None
        if the kernel depends on the other rows, or if the matrix of all rows is never formed.
        """
        if options["kernel"] == "rbf" or options["sampled"]:
            return None
        whole = source.view(cls, **options)
        if whole.given is None and "entries" not in whole.__dict__:
            return None
        return where_estimable(lambda subset: whole._subset_view(subset, source, options), subsets)

    def _subset_view(self, subset: Index, source: Representation, options: Mapping[str, Any]) -> Gram:
        """Return the matrix of some rows, centred anew; from the rows themselves if centring leaves rounding errors."""
        triangle, diagonal = take_condensed(self.entries[0], subset, self.n_rows), take_rows(self.entries[1], subset)
        try:
            given = _centred(triangle, diagonal, self.unbiased, least=_CANCELLED)
        except NotEstimable:
            return Gram.build(source.take_rows(subset), **options)
        return Gram(len(subset), self.unbiased, None, given)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """Whether distances suffice, as they do for every kernel except the linear one."""
        return bool(options["kernel"] != "linear")

    @classmethod
    def average(cls, views: Sequence[Self], **options: Any) -> Self | None:
        """Average the matrices; linear kernels are averaged by concatenating their features."""
        if options.get("sampled"):
            # Repeats have the same features, so concatenating them does not enlarge the sample of features.
            return None
        n, unbiased = views[0].n_rows, views[0].unbiased
        factors = [view.factor for view in views if view.factor is not None]
        if len(factors) == len(views) and sum(factor.shape[1] for factor in factors) < n:
            joined = np.concatenate(factors, axis=1)
            return cls(n, unbiased, joined * _norm_of_mean(cls(n, unbiased, joined)) ** -0.5)
        triangle, diagonal = (np.sum(part, axis=0) for part in zip(*(view.entries for view in views), strict=True))
        norm = _norm_of_mean(cls(n, unbiased, None, (triangle, diagonal)))
        return cls(n, unbiased, None, (triangle / norm, diagonal / norm))

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for the triangle unless a linear kernel of few features avoids it."""
        linear = options["kernel"] == "linear"
        triangle = 0 if linear and 2 * d <= n else 8 * n_pairs(n)
        if not linear:
            return 8 * n * d + triangle, 16 * n * d + triangle
        if _shares_features(n, d):
            return 24 * n * d + triangle, 8 * n * d
        if _needs_no_rows(n, d):
            return triangle, 8 * n * (n + d) - triangle
        # Copies of the features are freed before the triangle is allocated.
        return 8 * n * min(n, d) + triangle, max(0, 8 * n * d - triangle)

    @cached_property
    def entries(self) -> tuple[Vector, Vector]:
        """Upper triangle and diagonal of the matrix."""
        if self.given is not None:
            return self.given
        assert self.factor is not None
        triangle, diagonal = inner_products(self.factor)
        return _centred(triangle, diagonal, True, self.size) if self.unbiased else (triangle, diagonal)

    @cached_property
    def _lengths(self) -> Vector:
        assert self.factor is not None
        return np.asarray(to_host(squared_lengths(self.factor)))

    @property
    def _diagonal(self) -> Vector:
        return self.entries[1] if self.factor is None else self._lengths

    def dense(self) -> Gram:
        """Return the same matrix, stored as entries without the features."""
        return Gram(self.n_rows, self.unbiased, None, self.entries)

    def symmetric(self) -> Symmetric:
        """Return the matrix in the form that inner products with other matrices need."""
        return Symmetric(*self.entries, 2.0)

    def inner(self, other: Gram) -> float:
        """Inner product with another view of the same rows; 1 for equal views."""
        x, y = self.factor, other.factor
        if x is not None and y is not None and x.shape[1] * y.shape[1] < self.n_rows**2:
            # The cross-product of the features is smaller than the matrix.
            inner = total((x.T @ y) ** 2)
            return inner + diagonal_correction(self._lengths, other._lengths) if self.unbiased else inner
        (triangle, diagonal), (other_triangle, other_diagonal) = self.entries, other.entries
        return 2 * condensed_matrices.inner(triangle, other_triangle) + total(diagonal * other_diagonal)

    def mean_inner(self, other: Gram) -> float:
        """Mean inner product over all permutations of the rows (Kazi-Aoual et al. 1995); 0 if unbiased."""
        if self.unbiased:
            return 0.0
        traces = [total(side._diagonal) for side in (self, other)]
        return traces[0] * traces[1] / (self.n_rows - 1)

    def unbiased_alignment(self, other: Gram, inner: float) -> float:
        """Unbiased alignment of two matrices that include their diagonals, given their inner product."""
        a, b = (to_host(side._diagonal) for side in (self, other))
        squares = [1 + diagonal_correction(diagonal, diagonal) for diagonal in (a, b)]
        if self.n_rows < 4 or min(squares) <= _DEGENERATE:
            raise NotEstimable("without its diagonal, the kernel matrix is constant up to rounding")
        return float((inner + diagonal_correction(a, b)) / sqrt(squares[0] * squares[1]))

    def permute(self, order: Index) -> Gram:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        if self.factor is not None:
            return Gram(self.n_rows, self.unbiased, take_rows(self.factor, order), size=self.size)
        triangle, diagonal = self.entries
        return Gram(
            self.n_rows, self.unbiased, None, (take_condensed(triangle, order, self.n_rows), take_rows(diagonal, order))
        )


def _shares_features(n: int, d: int) -> bool:
    """Return whether a copy of the features is kept for other views; the numbers are the same without it."""
    return 8 * n * d <= min(_LARGE, memory.memory_budget() // _SHARE)


def _needs_no_rows(n: int, d: int) -> bool:
    """Return whether a linear kernel is stored without rows, which would take twice the memory of its triangle."""
    return d >= n and not _shares_features(n, d)


def _norm_of_mean(mean: Gram) -> float:
    squared = mean.inner(mean)
    if squared <= _DEGENERATE:
        raise NotEstimable("the mean of the repeats' kernel matrices is zero")
    return sqrt(squared)


def _norm_of_all(squared_norm: float, self_products: float, d: int) -> float:
    """Estimate the squared norm for all features from pairs of different features in a sample of d."""
    if d < 2:
        raise NotEstimable("a sample of features needs at least 2 features, got 1")
    estimate = float((squared_norm - self_products) * d / (d - 1))
    if estimate <= _DEGENERATE * squared_norm:
        raise NotEstimable("different features are unrelated, so the norm of all features cannot be estimated")
    return estimate


def _self_products(centred: Matrix, norm: float) -> float:
    """Contribution to the unbiased squared norm of the Gram matrix from features paired with themselves."""
    xp, (n, d), terms = namespace(centred), centred.shape, []
    for start in range(0, d, _FEATURES):
        squares = (centred[:, start : min(start + _FEATURES, d)] / norm) ** 2
        second, fourth = xp.sum(squares, axis=0), xp.sum(squares**2, axis=0)
        terms.append((1 + 1 / ((n - 1) * (n - 2))) * second**2 - n / (n - 2) * fourth)
    return total(xp.concat(terms) if len(terms) > 1 else terms[0])


def _unit_rows(source: Representation, sampled: bool) -> tuple[Matrix, float, int]:
    """Centred rows of unit norm, the self-products of sampled features, and the number of features."""
    shared = _shares_features(*source.size(Gram.folding))
    if shared:
        features = source.view(Features)
        centred, norm = features.centred, features.centred_norm
    else:
        centred, norm = centred_rows(source)
    if norm == 0:
        raise NotEstimable("all rows are equal")
    self_products, d = _self_products(centred, norm) if sampled else 0.0, int(centred.shape[1])
    if shared:
        return features.compact / norm, self_products, d
    # The centred rows are not shared, so they are rotated and scaled in place, which leaves memory for the triangle.
    rows = compact_rows(centred)
    rows /= norm
    return rows, self_products, d


def _linear(source: Representation, unbiased: bool, sampled: bool) -> Gram:
    rows, self_products, n_features = _unit_rows(source, sampled)
    n, lengths = rows.shape[0], squared_lengths(rows)
    # The norm is computed from the matrix or from the cross-product of the features, whichever is smaller.
    upper = inner_products(rows)[0] if 2 * rows.shape[1] > n else None
    squared_norm = (
        total((rows.T @ rows) ** 2) if upper is None else 2 * condensed_matrices.inner(upper, upper) + total(lengths**2)
    )
    if unbiased:
        diagonal = to_host(lengths)
        squared_norm += diagonal_correction(diagonal, diagonal)
        if squared_norm <= _DEGENERATE:
            raise NotEstimable("without its diagonal, the kernel matrix is constant up to rounding")
    size = sqrt(squared_norm / _norm_of_all(squared_norm, self_products, n_features)) if sampled else 1.0
    entries = None
    if upper is not None:
        scale = squared_norm**-0.5
        upper *= scale
        entries = _centred(upper, lengths * scale, True, size) if unbiased else (upper, lengths * scale)
        if _needs_no_rows(n, n_features):
            return Gram(n, unbiased, None, entries, size)
    rows *= sqrt(size) * squared_norm**-0.25
    gram = Gram(n, unbiased, rows, size=size)
    if entries is not None:
        gram.__dict__["entries"] = entries
    return gram


def _gaussian(source: Representation, bandwidth: Bandwidth) -> tuple[Vector, Vector]:
    squared = _distances(source, squared=True)
    if isinstance(bandwidth, str):
        scale = _median_square(squared, source.n_rows, published=bandwidth == "published")
        if scale <= 0:
            raise NotEstimable("the median distance between rows is zero; pass a bandwidth")
    else:
        unit = 1.0 if source.has_distances_only else source.view(Features).unit
        scale = max((bandwidth / unit) ** 2, np.finfo(float).tiny)
    similarities = condensed_matrices.gaussian(squared, scale)
    if spread(similarities) == 0:
        raise NotEstimable("the bandwidth makes all rows equally similar; pass a bandwidth near the typical distance")
    return _append_diagonal(similarities, source.n_rows, 1.0)


def _distances(source: Representation, *, squared: bool) -> Vector:
    """Euclidean distances; negative ones, which cross-validation gives, have no kernel."""
    if source.has_distances_only and source.distances.has_negative:
        raise NotEstimable("some distances are negative, so they have no kernel; use RSA for cross-validated distances")
    return source.condensed_distances("euclidean", squared=squared)[0]


def _median_square(squared: Vector, n: int, *, published: bool) -> float:
    m = n_pairs(n)
    if not published:
        # For an even number of pairs, the median distance differs from the root of the median squared distance.
        middle = order_statistics(squared, [(m - 1) // 2, m // 2])
        return float(np.sqrt(middle).mean()) ** 2
    # Among the n^2 sorted entries, the n zeros come first, and all other values occur twice.
    rank = (n * n - 1) // 2 - n
    return order_statistics(squared, [rank // 2])[0] if rank >= 0 else 0.0


def _append_diagonal(triangle: Vector, n: int, value: float) -> tuple[Vector, Vector]:
    """Return the triangle together with a diagonal of equal entries."""
    return triangle, convert_like(np.full(n, value), triangle)


def _centred(
    triangle: Vector, diagonal: Vector, unbiased: bool, size: float = 1.0, least: float = _DEGENERATE
) -> tuple[Vector, Vector]:
    """Centre in place: rows sum to zero with the diagonal, or (Szekely and Rizzo 2014) without it."""
    n = diagonal.shape[0]
    before = sqrt(2 * condensed_matrices.inner(triangle, triangle) + total(diagonal**2))
    sums = condensed_matrices.row_sums(triangle, n)
    if unbiased:
        margins = sums / (n - 2) - total(sums) / (2 * (n - 1) * (n - 2))
        diagonal = namespace(diagonal).zeros_like(diagonal)
    else:
        sums = sums + diagonal
        margins = sums / n - total(sums) / (2 * n * n)
        diagonal = diagonal - 2 * margins
    condensed_matrices.subtract_margins(triangle, margins)
    norm = sqrt(2 * condensed_matrices.inner(triangle, triangle) + total(diagonal**2))
    if not norm > least * before:
        raise NotEstimable("all distances between rows are equal, so the centred kernel matrix is zero")
    norm /= size
    triangle /= norm
    return triangle, diagonal / norm


_EQUAL = 1e-9


@dataclass(frozen=True)
class Basis(View):
    """Left singular vectors (columns) and singular values above the rounding level, largest first."""

    directions: Matrix
    singular_values: Vector
    """Singular values, in units of `unit`."""
    unit: float
    n_features: int
    loadings: Matrix
    """Right singular vectors (rows); the features are directions * singular_values @ loadings."""

    @classmethod
    def build(cls, source: Representation, *, centred: bool = True) -> Basis:
        """Decompose the features, centred by default."""
        features = source.view(Features)
        rows = features.centred if centred else features.rows
        u, values, right = _thin_svd(rows)
        rank = int(np.count_nonzero(values > _singular_value_rounding(features, values)))
        if not rank:
            raise NotEstimable("all rows are equal" if centred else "all entries are zero")
        return cls(_leading_directions(u, rank), values[:rank], features.unit, rows.shape[1], right[:rank, :])

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features and directions, and for the work of the decomposition."""
        return 40 * n * d, 40 * n * d + 48 * min(n, d) ** 2

    @property
    def rank(self) -> int:
        """Number of directions."""
        return len(self.singular_values)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.directions.shape[0])

    @cached_property
    def variances(self) -> Vector:
        """Squared singular values, as shares of their sum."""
        squared = (self.singular_values / self.singular_values[0]) ** 2
        return np.asarray(squared / squared.sum())

    def components_for(self, share: float) -> int:
        """Smallest number of leading directions that explain this share of the variance."""
        # A share that equals the requested one up to rounding is sufficient.
        reached = np.cumsum(self.variances) >= share * (1 - 4 * np.finfo(float).eps)
        return self.count_with_ties(int(np.argmax(reached)) + 1 if reached.any() else self.rank)

    def count_with_ties(self, k: int) -> int:
        """Increase a number of leading directions so that it includes all that tie with the last one.

        The order of directions with equal singular values depends only on rounding or on row numbers.
        """
        while k < self.rank and self._is_tied(k):
            k += 1
        return k

    def _is_tied(self, k: int) -> bool:
        """Whether the singular value at position k equals the one before it."""
        return bool(self.variances[k] >= self.variances[k - 1] * (1 - _EQUAL))

    def direction_weights(self, k: int) -> Vector:
        """Weight of each of the k leading directions, which is fractional for ties at the cut-off."""
        k = min(k, self.rank)
        first = last = self.count_with_ties(k)
        if last > k:
            first = k
            while first and self._is_tied(first):
                first -= 1
        weights = np.ones(last)
        weights[first:] = (k - first) / max(1, last - first)
        return weights

    def truncated(self, n_components: int) -> Basis:
        """Return only the leading directions."""
        k = min(n_components, self.rank)
        return Basis(
            _leading_directions(self.directions, k),
            self.singular_values[:k],
            self.unit,
            self.n_features,
            self.loadings[:k, :],
        )

    def overlap(self, other: Basis) -> Matrix:
        """Cosines between the directions of two representations, computed on their device."""
        return self.cache_for_pair(other, "overlap", lambda: self.directions.T @ other.directions)

    def squared_overlap(self, other: Basis) -> Matrix:
        """Squared cosines between the directions of two representations."""
        return self.cache_for_pair(other, "squared overlap", lambda: np.asarray(to_host(self.overlap(other)) ** 2))

    def canonical_correlations(self, other: Basis) -> Vector:
        """Cosines of the principal angles between the spaces that the directions span, largest first."""
        return np.clip(singular_values(self.overlap(other)), 0.0, 1.0)

    def permute(self, order: Index) -> Basis:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return Basis(take_rows(self.directions, order), self.singular_values, self.unit, self.n_features, self.loadings)


def _thin_svd(rows: Matrix) -> tuple[Matrix, Vector, Matrix]:
    """Singular value decomposition; long or wide matrices are first reduced by QR, which is faster."""
    n, d = rows.shape
    qr = namespace(rows).linalg.qr
    if n > 2 * d:
        q, r = qr(rows)
        u, values, right = thin_svd(r)
        return q @ u, values, right
    if d > 2 * n:
        q, r = qr(rows.T)
        u, values, right = thin_svd(r.T)
        return u, values, right @ q.T
    return thin_svd(rows)


def _leading_directions(directions: Matrix, k: int) -> Matrix:
    columns = directions[:, :k]
    return np.ascontiguousarray(columns) if is_numpy(columns) else columns


def _singular_value_rounding(features: Features, values: Vector) -> float:
    """Size of singular values that are due to rounding in the decomposition or in the stored numbers."""
    n, d = features.rows.shape
    decomposition = max(n, d) * np.finfo(float).eps * max(float(values[0]), 1.0)
    typical = norm(features.rows) / float(np.sqrt(n * d))
    return float(max(decomposition, features.precision * typical * (np.sqrt(n) + np.sqrt(d))))


@dataclass(frozen=True)
class Spectrum(Unordered):
    """Squared singular values of the centred rows, largest first, as shares of their sum."""

    variances: Vector

    @classmethod
    def build(cls, source: Representation) -> Spectrum:
        """Compute the spectrum."""
        variances = centred_variances(source.rows)
        if not variances.any():
            raise NotEstimable("all rows are equal")
        return cls(variances)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for a square matrix whose size is the smaller dimension."""
        return 24 * n * d, 16 * n * d + 24 * min(n, d) ** 2


_ENTRIES = 1 << 18
"""Number of values processed together."""


@dataclass(frozen=True)
class Variances(Unordered):
    """Share of the variance along each principal direction, descending; zeros if all rows are equal."""

    shares: Vector
    moments: FourthMoments
    """Sums that correct for a small number of rows or columns."""

    @classmethod
    def build(cls, source: Representation) -> Variances:
        """Compute the shares for rows in memory."""
        return cls(*variances_and_moments(source.to_numpy.rows))

    @classmethod
    def from_rows(cls, source: Rows) -> Variances:
        """Compute the shares for rows from any source, in blocks."""
        source.require_finite()
        return cls(*variances_and_moments(source))
