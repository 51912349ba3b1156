"""Views computed from sums over rows, for linear measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from shesha.kernels.corrected_participation import FourthMoments
from shesha.moments.summed_basis import SummedBasis
from shesha.moments.summed_source import NEEDS_ROWS, SummedSource
from shesha.moments.sums import SideSums, Sums
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Features, Gram, Magnitude, Spectrum, Variances, View

_DEGENERATE = 1e-14
"""If a squared norm is below this share of the terms in its sum, it is a rounding error."""


class SummedRepresentation(SummedSource):
    """One side of sums over rows, with those views for which the sums suffice."""

    def view(self, kind: type[Any], **options: Any) -> Any:
        """Return the view, computed from the sums.

        Raises
        ------
        NotEstimable
            If the view needs the rows themselves.
        """
        build = _BUILDERS.get(kind)
        if build is None:
            raise NotEstimable(NEEDS_ROWS)
        return self.cached((kind, *sorted(options.items())), lambda: build(self, **options))


class SummedGram(Gram):
    """The centred linear kernel matrix, scaled to unit norm and available only through inner products."""

    def __init__(self, source: SummedSource, unbiased: bool) -> None:
        self._set(n_rows=source.n_rows, unbiased=unbiased, factor=None, given=None, size=1.0)
        self._set(sums=source.sums, index=source.index, traces=source.side.squared_norm)
        self._set(norm=1.0)
        squared = self._raw_inner(self)
        if squared <= _DEGENERATE * source.side.squared_norm**2:
            raise NotEstimable(
                "without its diagonal, the kernel matrix is constant up to rounding"
                if unbiased and source.side.squared_norm > 0
                else "all rows are equal"
            )
        self._set(norm=sqrt(squared))

    sums: Sums
    index: int
    traces: float
    norm: float

    def _set(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def from_sums(
        cls, source: SummedSource, *, kernel: str, bandwidth: Any, unbiased: bool, sampled: bool
    ) -> SummedGram:
        """Build the view; raise an error if the kernel is not linear or the view needs rows."""
        if kernel != "linear" or sampled:
            raise NotEstimable(NEEDS_ROWS)
        if unbiased and source.n_rows < 4:
            raise NotEstimable(f"the unbiased estimator needs at least 4 rows, got {source.n_rows}")
        return cls(source, unbiased)

    def inner(self, other: Gram) -> float:
        """Inner product with another view of the same rows; 1 for equal views."""
        assert isinstance(other, SummedGram)
        return self._raw_inner(other) / (self.norm * other.norm)

    def _raw_inner(self, other: SummedGram) -> float:
        block, n = self.sums.cross_products(self.index, other.index), self.n_rows
        inner = float((block[:-1, :-1] ** 2).sum())
        if not self.unbiased:
            return inner
        # Song et al. 2012, eq. 5, as for Gram matrices; the last entry of the block is centred.
        diagonals = float(block[-1, -1]) + self.traces * other.traces / n
        return inner - n / (n - 2) * diagonals + self.traces * other.traces / ((n - 1) * (n - 2))


class SummedFeatures(Features):
    """Features, available only through norms and products with another representation's features."""

    sums: Sums
    index: int

    def __init__(self, source: SummedSource) -> None:
        self.__dict__.update(
            sums=source.sums, index=source.index, unit=source.side.unit, precision=source.precision, side=source.side
        )

    side: SideSums

    @property
    def rows(self) -> Matrix:
        """Raise an error, because there are no rows."""
        raise NotEstimable(NEEDS_ROWS)

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return self.sums.n_rows

    @cached_property
    def centred_norm(self) -> float:
        """Frobenius norm of the centred rows; 0 if all rows are equal up to rounding."""
        squared, mean = self.side.squared_norm, self.side.mean / self.unit
        total = squared + self.n_rows * float(mean @ mean)
        return sqrt(squared) if squared > self.precision**2 * total else 0.0

    @cached_property
    def _deviations(self) -> tuple[Vector, Index]:
        squares = np.diagonal(self.side.features).copy()
        largest = np.abs(self.side.mean) / self.unit
        constant = np.flatnonzero(squares <= self.n_rows * (4 * np.finfo(float).eps * largest) ** 2)
        squares[constant] = 0.0
        return np.sqrt(squares), constant

    @property
    def constant_columns(self) -> Index:
        """Indices of the constant columns."""
        return self._deviations[1]

    def correlations(self, other: Features) -> Matrix:
        """Correlate every column of one side with every column of the other; 0 for constant columns."""
        assert isinstance(other, SummedFeatures)
        block = self.sums.cross_products(self.index, other.index)[:-1, :-1]
        scales = [np.divide(1.0, v, out=np.zeros_like(v), where=v > 0) for v in (self._length, other._length)]
        return np.clip(block * scales[0][:, np.newaxis] * scales[1], -1.0, 1.0)

    @property
    def _length(self) -> Vector:
        return self._deviations[0]

    def nuclear_norm(self, other: Features) -> float:
        """Sum of the singular values of the cross-product between the centred rows of both sides."""
        assert isinstance(other, SummedFeatures)
        block = self.sums.cross_products(self.index, other.index)[:-1, :-1]
        return float(
            self.cache_for_pair(other, "nuclear norm", lambda: float(np.linalg.svd(block, compute_uv=False).sum()))
        )


def _spectrum(source: SummedSource) -> Spectrum:
    side = source.side
    values = np.linalg.eigvalsh(side.features)[::-1]
    values = np.where(values > values[0] * max(source.n_rows, side.n_features) * np.finfo(float).eps, values, 0.0)
    if not values.sum() > 0:
        raise NotEstimable("all rows are equal")
    return Spectrum(values / values.sum())


def _variances(source: SummedSource) -> Variances:
    """Variance shares, with the sums that correct them for few rows or columns."""
    side, shares = source.side, _spectrum(source).variances
    total = side.squared_norm
    lengths = float(side.products[-1, -1]) + total**2 / source.n_rows
    columns = float((np.diagonal(side.features) ** 2).sum())
    return Variances(shares, FourthMoments(source.n_rows, lengths / total**2, columns / total**2, float("nan")))


def _magnitude(source: SummedSource) -> Magnitude:
    return Magnitude(float(np.linalg.norm(source.side.mean)))


_BUILDERS: dict[type[View], Callable[..., View]] = {
    Gram: SummedGram.from_sums,
    Basis: SummedBasis.from_sums,
    Features: SummedFeatures,
    Spectrum: _spectrum,
    Magnitude: _magnitude,
    Variances: _variances,
}
