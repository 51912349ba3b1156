"""Principal directions of a representation, computed from sums over its rows."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from shesha.moments.summed_source import NEEDS_ROWS, SummedSource
from shesha.moments.sums import SideSums, Sums
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis


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
        """Number of inputs."""
        return self.sums.n_rows

    def truncated(self, n_components: int) -> SummedBasis:
        """Return the leading directions only."""
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
    return _keep_above(squares, axes, _storage_rounding(side.squared_norm + n * float(mean @ mean), source, d))


def _decompose_products(products: Matrix) -> tuple[Vector, Matrix]:
    squares, axes = np.linalg.eigh(products)
    return squares[::-1], axes[:, ::-1]


def _keep_above(squares: Vector, axes: Matrix, level: float) -> tuple[Vector, Matrix]:
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
    values, axes = _keep_above(*_decompose_products(across @ products @ across), level)
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
