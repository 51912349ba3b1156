"""Variance of a mean over subjects, if both rows and subjects are samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from shesha.support.types import Index, Matrix, Vector

Cube = NDArray[np.float64]


@dataclass(frozen=True)
class RowResamples:
    """Values on one kind of resamples of the rows."""

    values: Cube
    """Value of each subject in each resample, of shape (n_resamples, n_subjects, n_values)."""
    scale: float
    """Variance over samples of rows divided by the variance over these resamples."""
    noise: float
    """Number of times that the variance over resamples counts the contribution of pairs of rows."""

    def take(self, columns: Index) -> RowResamples:
        """Return some of the values."""
        return replace(self, values=self.values[:, :, columns])


@dataclass(frozen=True)
class Resampled:
    """Values of each subject, on all rows and on two kinds of resamples."""

    observed: Matrix
    """Value of each subject, of shape (n_subjects, n_values)."""
    on_rows: tuple[RowResamples, RowResamples]
    """Two kinds of resamples. The second kind overcounts the contribution of pairs of rows more than the first kind."""
    n_units: int
    """Number of rows, or groups of rows, that are resampled."""

    def drop_resamples(self) -> Resampled:
        """Return the observed values alone."""
        first, second = (replace(sample, values=sample.values[:0]) for sample in self.on_rows)
        return replace(self, on_rows=(first, second))

    @property
    def n_resamples(self) -> int:
        """Number of resamples with values; 0 without resampling."""
        return min(len(sample.values) for sample in self.on_rows)

    @property
    def means(self) -> Vector:
        """Mean over subjects."""
        means: Vector = self.observed.mean(axis=0)
        return means

    def take(self, columns: Index) -> Resampled:
        """Return some of the values."""
        first, second = (sample.take(columns) for sample in self.on_rows)
        return Resampled(self.observed[:, columns], (first, second), self.n_units)

    def minus(self, other: Resampled) -> Resampled:
        """Return the differences from other values of the same resamples."""
        first, second = (
            replace(one, values=one.values - two.values) for one, two in zip(self.on_rows, other.on_rows, strict=True)
        )
        return Resampled(self.observed - other.observed, (first, second), self.n_units)

    def differences(self) -> Resampled:
        """Return the differences of all pairs of values, the first minus the second."""
        i, j = np.triu_indices(self.observed.shape[1], k=1)
        return self.take(i).minus(self.take(j))

    @property
    def _row_variances(self) -> tuple[Vector, Vector]:
        """Variance over new rows: of means over subjects, and of single subjects (averaged)."""
        over_means = [sample.scale * sample.values.mean(axis=1).var(axis=0, ddof=1) for sample in self.on_rows]
        over_single = [sample.scale * sample.values.var(axis=0, ddof=1).mean(axis=0) for sample in self.on_rows]
        return self._count_noise_once(*over_means), self._count_noise_once(*over_single)

    def _count_noise_once(self, first: Vector, second: Vector) -> Vector:
        """Extrapolate from two variances that overcount the noise of pairs of rows to one that counts it once."""
        often, more_often = (sample.noise for sample in self.on_rows)
        excess = np.maximum(second - first, 0.0) * (often - 1) / (more_often - often)
        return np.maximum(first - excess, first / often)

    @property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        """Variance over rows, variance over subjects, and their common part."""
        n = len(self.observed)
        over_rows, single = self._row_variances
        if n == 1:
            return over_rows, np.zeros_like(over_rows), np.zeros_like(over_rows)
        over_subjects: Vector = self.observed.var(axis=0, ddof=1) / n
        return over_rows, over_subjects, np.maximum(single - over_rows, 0.0) / (n - 1)

    @property
    def variances(self) -> Vector:
        """Variance of each mean over new rows and new subjects.

        Measurement noise is part of the variance over rows and of the variance over subjects, so their sum counts it
        twice. It is estimated from the variance over rows of single subjects, which exceeds that of their mean. This is
        the limit, over all resamples of subjects, of the dual bootstrap of Schütt et al. (2023).
        """
        over_rows, over_subjects, both = self._parts
        variances: Vector = np.maximum.reduce([over_rows + over_subjects - both, over_rows, over_subjects])
        return variances

    @property
    def freedom(self) -> Vector:
        """Degrees of freedom of the variances by Satterthwaite's rule.

        The degrees of freedom of the rows are halved, because extrapolation makes their variance less certain.
        """
        over_rows, over_subjects, _ = self._parts
        uncertain = 2 * over_rows**2 / (self.n_units - 1) + over_subjects**2 / max(len(self.observed) - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = self.variances**2 / uncertain
        return np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)

    def intervals(self, confidence: float) -> tuple[Vector, Vector]:
        """Return the limits of the intervals of the means."""
        half = t.ppf(0.5 + confidence / 2, self.freedom) * np.sqrt(self.variances)
        return self.means - half, self.means + half

    def p_values(self) -> Vector:
        """Two-sided p-values for means of zero; without variance, NaN, or 1 if the mean is zero."""
        errors = np.sqrt(self.variances)
        scale = np.abs(self.observed).max(axis=0, initial=0.0)
        flat = errors <= 1e-12 * np.maximum(scale, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = 2 * t.sf(np.abs(self.means) / errors, self.freedom)
        # Without variance, a difference from zero cannot be tested.
        return np.where(flat, np.where(np.abs(self.means) > 0, np.nan, 1.0), p_values)
