"""Singular vectors and values of a representation, and its variance along principal directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.spectrum import FourthMoments, centred_variances, fourth_moments
from shesha.support.device_arrays import is_numpy, namespace, norm, singular_values, take_rows, thin_svd, to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.features import Features
from shesha.views.representation import Representation, View

if TYPE_CHECKING:
    from shesha.views.row_source import Rows


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
class Spectrum(View):
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

    def permute(self, order: Index) -> Spectrum:
        """Return this view, because the order of the rows does not matter."""
        return self


_ENTRIES = 1 << 18
"""Number of values processed together."""


@dataclass(frozen=True)
class Variances(View):
    """Share of the variance along each principal direction, descending; zeros if all rows are equal."""

    shares: Vector
    moments: FourthMoments
    """Sums that correct for a small number of rows or columns."""

    @classmethod
    def build(cls, source: Representation) -> Variances:
        """Compute the shares for rows in memory."""
        rows = source.to_numpy.rows
        return cls(centred_variances(rows), fourth_moments(rows))

    @classmethod
    def from_rows(cls, source: Rows) -> Variances:
        """Compute the shares for rows from any source, in blocks."""
        for start, block in source.blocks(_ENTRIES):
            check.finite(block, source.name, first_row=start)
        return cls(centred_variances(source), fourth_moments(source))

    def permute(self, order: Index) -> Variances:
        """Return this view, because the order of the rows does not matter."""
        return self
