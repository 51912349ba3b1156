"""Covariance of response noise, with shrinkage that makes it invertible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support.types import Labels, Matrix, Vector

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Noise:
    """An invertible noise covariance, stored as a factor."""

    factor: Matrix
    """Lower triangular Cholesky factor of the covariance."""
    shrinkage: float
    """Shrinkage intensity: the weight of the common variance in the estimate."""

    def weighted(self, rows: Matrix) -> Matrix:
        """Multiply rows by the inverse covariance."""
        return np.asarray(cho_solve((self.factor, True), rows.T, check_finite=False).T)

    def whitened(self, rows: Matrix) -> Matrix:
        """Whiten rows, so that their inner products are weighted by the inverse noise covariance."""
        return np.asarray(solve_triangular(self.factor, rows.T, lower=True, check_finite=False).T)


def residuals(rows: Matrix, codes: Labels) -> tuple[Matrix, int]:
    """Subtract each condition's mean, drop rows of code -1; return the residuals and degrees of freedom."""
    kept = codes >= 0
    rows, codes = rows[kept], codes[kept]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.diff(starts, append=len(rows))
    means = np.add.reduceat(rows[order], starts, axis=0) / counts[:, None]
    noise = rows[order] - np.repeat(means, counts, axis=0)
    # In channels that are constant within conditions, rounding errors are set to zero, because they would become
    # divisors.
    noise[:, np.abs(noise).max(axis=0, initial=0.0) <= 4 * _EPS * len(rows) * np.abs(rows).max(axis=0, initial=0.0)] = 0
    return noise, len(rows) - len(starts)


def additive_residuals(rows: Matrix, codes: Labels, parts: Labels) -> tuple[Matrix, int, Matrix]:
    """Residuals from the sum of a condition's and a part's mean, their degrees of freedom, and rows without offsets.

    A constant that is added to all rows of a part changes neither the residuals nor the rows without offsets. Offsets
    are fitted by least squares; rows of code -1 are left out of the residuals.
    """
    kept = codes >= 0
    inside, dof = residuals(rows, codes)
    indicator = (parts[:, None] == np.unique(parts[kept])).astype(np.float64)
    deviations, _ = residuals(indicator, codes)
    offsets, _, rank, _ = np.linalg.lstsq(deviations, inside, rcond=1e-9)
    return inside - deviations @ offsets, dof - int(rank), rows - indicator @ offsets


def estimate_noise(left: Matrix, dof: int, n_channels: int, shrinkage: float | None) -> Noise | None:
    """Estimate the covariance of residuals, shrunk towards equal variances; None if there is no noise.

    Parameters
    ----------
    left : array of shape (n_rows, n_columns)
        Residuals, possibly expressed in a basis of the space that they span.
    dof : int
        Degrees of freedom of the residuals, at least 1.
    n_channels : int
        Number of channels before the change of basis.
    shrinkage : float or None
        Shrinkage intensity in (0, 1]; None means the intensity recommended by Ledoit and Wolf (2004).
    """
    covariance = left.T @ left
    mean = float(np.trace(covariance)) / n_channels
    if not mean > 0:
        return None
    intensity = ledoit_wolf(left, covariance, n_channels, dof) if shrinkage is None else shrinkage
    covariance *= (1 - intensity) / dof
    covariance[np.diag_indices(len(covariance))] += intensity * mean / dof
    try:
        factor, _ = cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return Noise(factor, intensity)


def ledoit_wolf(left: Matrix, products: Matrix, n_channels: int, dof: int | None = None) -> float:
    """Shrinkage intensity of Ledoit and Wolf (2004), from the rows and the sum of their outer products.

    Residuals have fewer degrees of freedom than rows, so they are scaled up to the length of independent rows.
    """
    n, unit = dof or len(left), length_unit(left)
    # Fourth powers of small numbers would underflow; division by a power of two is exact.
    left, products = left / unit, products / unit / unit
    squared = float(np.einsum("ij,ij->", products, products)) / n**2
    lengths: Vector = np.einsum("ij,ij->i", left, left)
    distance = squared - (float(lengths.sum()) / n) ** 2 / n_channels
    error = (float(lengths @ lengths) / n * (len(left) / n) - squared) / n
    return min(1.0, max(0.0, error / distance)) if distance > 0 else 1.0
