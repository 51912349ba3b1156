"""Views computed from sums over rows, for linear measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.spectrum import FourthMoments
from shesha.moments.sums import SideSums, Sums
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Features, Gram, Magnitude, Representation, Spectrum, Variances, View

NEEDS_ROWS = "needs rows, got sums over rows; compare the arrays themselves, or a sample of their rows"


class SummedSource(Representation):
    """A representation of which only the sums over its rows are known."""

    def __init__(self, sums: Sums, index: int, precision: float) -> None:
        super().__init__(np.broadcast_to(np.float64(0), (sums.n_rows, sums.sides[index].n_features)), precision)
        self.sums, self.index = sums, index

    @property
    def side(self) -> SideSums:
        """The sums for this representation alone."""
        return self.sums.sides[self.index]

    @property
    def rows(self) -> Matrix:
        """Raise an error, because there are no rows."""
        raise NotEstimable(NEEDS_ROWS)


class SummedBasis(Basis):
    """Directions in sample space, available only through inner products with other representations."""

    sums: Sums
    index: int
    axes: Matrix
    """Coordinates of the directions (columns) in feature space: orthonormal axes divided by the singular values."""
    constant: Vector | None
    """Component of each direction along the constant vector; None if the columns are centred."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @classmethod
    def from_sums(cls, source: SummedSource, *, centred: bool = True) -> SummedBasis:
        """Compute the directions from the products of the features."""
        side = source.side
        fields: dict[str, Any] = {"sums": source.sums, "index": source.index, "unit": side.unit}
        fields["n_features"] = side.n_features
        if not centred:
            return cls(**fields, **_directions_without_centring(source))
        values, axes = _decompose(side, source)
        if not len(values):
            raise NotEstimable("all rows are equal")
        return cls(**fields, singular_values=values, loadings=axes.T, axes=axes / values, constant=None)

    @property
    def directions(self) -> Matrix:
        """Raise an error, because directions in sample space need the rows."""
        raise NotEstimable(NEEDS_ROWS)

    @property
    def rank(self) -> int:
        """Number of directions."""
        return int(self.axes.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.sums.n_rows

    def truncated(self, n_components: int) -> SummedBasis:
        """Return only the leading directions."""
        k = min(n_components, self.rank)
        kept = {
            "singular_values": self.singular_values[:k],
            "loadings": self.loadings[:k],
            "axes": self.axes[:, :k],
            "constant": None if self.constant is None else self.constant[:k],
        }
        names = ("sums", "index", "unit", "n_features")
        return SummedBasis(**{name: self.__dict__[name] for name in names}, **kept)

    def overlap(self, other: Basis) -> Matrix:
        """Return the cosines between the directions of two representations."""
        assert isinstance(other, SummedBasis)
        return self.cache_for_pair(other, "overlap", lambda: self._overlap(other))

    def _overlap(self, other: SummedBasis) -> Matrix:
        block = self.sums.cross_products(self.index, other.index)[:-1, :-1]
        overlap = self.axes.T @ block @ other.axes
        if self.constant is not None and other.constant is not None:
            overlap += np.outer(self.constant, other.constant)
        return np.asarray(overlap)


def _decompose(side: SideSums, source: SummedSource) -> tuple[Vector, Matrix]:
    """Singular values of the centred rows above rounding level, descending, and their axes (columns)."""
    squares, axes = _decompose_products(side.features)
    mean, n, d = side.mean / side.unit, source.n_rows, side.n_features
    return _drop_small(squares, axes, _storage_rounding(side.squared_norm + n * float(mean @ mean), source, d))


def _decompose_products(products: Matrix) -> tuple[Vector, Matrix]:
    squares, axes = np.linalg.eigh(products)
    return squares[::-1], axes[:, ::-1]


def _drop_small(squares: Vector, axes: Matrix, level: float) -> tuple[Vector, Matrix]:
    # The products contain squared singular values, so their rounding errors hide small singular values.
    hidden = 8 * len(squares) * np.finfo(float).eps * max(float(squares[0]), 0.0)
    rank = int(np.count_nonzero(squares > max(hidden, level**2)))
    return np.sqrt(squares[:rank]), axes[:, :rank]


def _storage_rounding(squared_norm: float, source: SummedSource, d: int) -> float:
    """Size of the singular values that the rounding of the stored numbers can produce."""
    typical = sqrt(squared_norm / (source.n_rows * d))
    return float(source.precision * typical * (sqrt(source.n_rows) + sqrt(d)))


def _directions_without_centring(source: SummedSource) -> dict[str, Any]:
    """Directions in sample space for columns that are not centred.

    Along all feature directions orthogonal to the mean row, the columns are already centred. The one remaining
    direction is that of the mean row, made orthogonal to the others.
    """
    side, n, d = source.side, source.n_rows, source.side.n_features
    mean = side.mean / side.unit
    length, products = float(np.linalg.norm(mean)), side.features
    if length == 0 and side.squared_norm == 0:
        raise NotEstimable("all entries are zero")
    towards = mean / length if length else np.zeros(d)
    across = np.eye(d) - np.outer(towards, towards)
    largest = sqrt(n * length**2 + float(towards @ products @ towards))
    rounding = _storage_rounding(side.squared_norm + n * length**2, source, d)
    level = max(max(n, d) * np.finfo(float).eps * largest, rounding)
    values, axes = _drop_small(*_decompose_products(across @ products @ across), level)
    scaled = axes / values
    constant = np.zeros(len(values))
    if length:
        last = towards - scaled @ (scaled.T @ (products @ towards))
        size = sqrt(n * length**2 + float(last @ products @ last))
        scaled, constant = np.column_stack([last / size, scaled]), np.append(sqrt(n) * length / size, constant)
    # Singular values and loadings are not computed, because nothing needs them for uncentred directions.
    return {
        "axes": scaled,
        "constant": constant,
        "singular_values": np.full(len(constant), np.nan),
        "loadings": np.full((len(constant), d), np.nan),
    }


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
        """Number of rows."""
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
    mean = source.side.mean
    unit = safe_unit(mean)
    return Magnitude(unit * float(np.linalg.norm(mean / unit)))


_BUILDERS: dict[type[View], Callable[..., View]] = {
    Gram: SummedGram.from_sums,
    Basis: SummedBasis.from_sums,
    Features: SummedFeatures,
    Spectrum: _spectrum,
    Magnitude: _magnitude,
    Variances: _variances,
}
