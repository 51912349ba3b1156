"""Class means of rows and residuals from these means, with the level of rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable


@dataclass(frozen=True)
class ClassedRows:
    """Centred rows, stored as class means plus residuals."""

    codes: Labels
    names: NDArray[Any]
    counts: Vector
    means: Matrix
    within: Matrix
    noise: Vector
    """Rounding error in the entries of each feature; deviations of this size may really be zero."""
    unit: float
    """Power of two by which the rows were divided, so that squares stay within range."""

    @property
    def rows(self) -> Matrix:
        """The rows minus their overall mean."""
        return np.asarray(self.means[self.codes] + self.within)

    @property
    def negligible(self) -> float:
        """Squared length of a row that consists only of rounding errors."""
        return float(self.noise @ self.noise)

    def within_scatter(self) -> float:
        """Sum of squared deviations from the class means; 0 if at rounding level."""
        total = float(np.einsum("ij,ij->", self.within, self.within))
        return total if total > len(self.within) * self.negligible else 0.0

    def between_scatter(self) -> float:
        """Sum, over rows, of the squared length of the mean of the row's class."""
        return float(self.counts @ np.einsum("ij,ij->i", self.means, self.means))

    def principal_axes(self) -> tuple[Vector, Matrix]:
        """Singular values of the rows, and the corresponding directions as columns."""
        rows = self.rows
        n, d = rows.shape
        with single_threaded_blas():
            # The triangular factor has the same singular values and directions, but fewer rows.
            short = np.linalg.qr(rows, mode="r") if n > d else rows
            _, lengths, axes = np.linalg.svd(short, full_matrices=False)
        rounding = np.sqrt(self.negligible / d) * (np.sqrt(n) + np.sqrt(d))
        kept = lengths > max(rounding, lengths[0] * max(n, d) * np.finfo(float).eps)
        if not kept.any():
            raise NotEstimable("all rows are equal up to rounding")
        return lengths[kept], axes[kept].T

    def project(self, axes: Matrix) -> ClassedRows:
        """Return the coordinates along the given directions, which need not have unit length."""
        noise = np.linalg.norm(axes, axis=0) * np.sqrt(self.negligible)
        return replace(self, means=self.means @ axes, within=self.within @ axes, noise=noise)


def class_sums(X: Matrix, codes: Labels) -> Matrix:
    """Sum of the rows of each class."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(X[order], starts, axis=0))


def precision(X: ArrayLike) -> float:
    """Relative rounding error of the stored numbers, which is larger in single precision."""
    dtype = np.asarray(X).dtype
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
