"""Variance of a mean over subjects when both rows and subjects are samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from shesha.support.types import Index, Matrix, Vector

Cube = NDArray[np.float64]


@dataclass(frozen=True)
class RowResamples:
    """Values on one of the two kinds of resamples of the rows."""

    values: Cube
    """Value of each subject in each resample, of shape (n_resamples, n_subjects, n_values)."""
    scale: float
    """Factor that converts the variance over these resamples to the variance over samples of rows."""
    noise: float
    """How many times the variance over resamples counts the contribution of pairs of rows."""

    def take(self, columns: Index) -> RowResamples:
        """Return the same resamples for a selection of the values."""
        return replace(self, values=self.values[:, :, columns])


@dataclass(frozen=True)
class Resampled:
    """Values for each subject, on all rows and on two kinds of resamples."""

    observed: Matrix
    """Values for each subject, of shape (n_subjects, n_values)."""
    on_rows: tuple[RowResamples, RowResamples]
    """Two kinds of resamples. The second kind overcounts the contribution of pairs of rows more than the first."""
    n_units: int
    """Number of units that are resampled: rows, or groups of rows."""

    def drop_resamples(self) -> Resampled:
        """Return only the observed values."""
        first, second = (replace(sample, values=sample.values[:0]) for sample in self.on_rows)
        return replace(self, on_rows=(first, second))

    @property
    def n_resamples(self) -> int:
        """Number of resamples that have values; 0 without resampling."""
        return min(len(sample.values) for sample in self.on_rows)

    @property
    def means(self) -> Vector:
        """Mean over subjects."""
        means: Vector = self.observed.mean(axis=0)
        return means

    def take(self, columns: Index) -> Resampled:
        """Return the same results for a selection of the values."""
        first, second = (sample.take(columns) for sample in self.on_rows)
        return Resampled(self.observed[:, columns], (first, second), self.n_units)

    def minus(self, other: Resampled) -> Resampled:
        """Return the differences between these values and others on the same resamples."""
        first, second = (
            replace(one, values=one.values - two.values) for one, two in zip(self.on_rows, other.on_rows, strict=True)
        )
        return Resampled(self.observed - other.observed, (first, second), self.n_units)

    def differences(self) -> Resampled:
        """Return the differences for all pairs of values, the first minus the second."""
        i, j = np.triu_indices(self.observed.shape[1], k=1)
        return self.take(i).minus(self.take(j))

    @property
    def _row_variances(self) -> tuple[Vector, Vector]:
        """Variance over new rows, for means over subjects and for single subjects (averaged)."""
        over_means = [sample.scale * sample.values.mean(axis=1).var(axis=0, ddof=1) for sample in self.on_rows]
        over_single = [sample.scale * sample.values.var(axis=0, ddof=1).mean(axis=0) for sample in self.on_rows]
        return self._count_noise_once(*over_means), self._count_noise_once(*over_single)

    def _count_noise_once(self, first: Vector, second: Vector) -> Vector:
        """Extrapolate from two variances that overcount the noise of pairs to one that counts it once."""
        often, more_often = (sample.noise for sample in self.on_rows)
        excess = np.maximum(second - first, 0.0) * (often - 1) / (more_often - often)
        return np.maximum(first - excess, first / often)

    @property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        """Variance over rows, variance over subjects, and the part that both contain."""
        n = len(self.observed)
        over_rows, single = self._row_variances
        if n == 1:
            return over_rows, np.zeros_like(over_rows), np.zeros_like(over_rows)
        over_subjects: Vector = self.observed.var(axis=0, ddof=1) / n
        return over_rows, over_subjects, np.maximum(single - over_rows, 0.0) / (n - 1)

    @property
    def variances(self) -> Vector:
        """Variance of each mean over new rows and new subjects.

        Measurement noise is part of both the variance over rows and the variance over subjects, so their sum counts it
        twice. The common part is estimated from single subjects, whose variance over rows exceeds that of their mean.
        The result is the limit of the dual bootstrap of Schütt et al. (2023) for all resamples of subjects.
        """
        over_rows, over_subjects, both = self._parts
        variances: Vector = np.maximum.reduce([over_rows + over_subjects - both, over_rows, over_subjects])
        return variances

    @property
    def freedom(self) -> Vector:
        """Degrees of freedom of the variances, by Satterthwaite's rule.

        The degrees of freedom for the rows are halved, because the extrapolation makes their variance less certain.
        """
        over_rows, over_subjects, _ = self._parts
        uncertain = 2 * over_rows**2 / (self.n_units - 1) + over_subjects**2 / max(len(self.observed) - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = self.variances**2 / uncertain
        return np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)

    def intervals(self, confidence: float) -> tuple[Vector, Vector]:
        """Return the lower and upper limits of the intervals for the means."""
        half = t.ppf(0.5 + confidence / 2, self.freedom) * np.sqrt(self.variances)
        return self.means - half, self.means + half

    def p_values(self, side: Literal["two-sided", "below", "above"] = "two-sided") -> Vector:
        """P-values for means of zero, two-sided or for one side; without variance, NaN, or 1 for a mean of zero."""
        errors = np.sqrt(self.variances)
        scale = np.abs(self.observed).max(axis=0, initial=0.0)
        flat = errors <= 1e-12 * np.maximum(scale, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.means / errors
            tail = {"two-sided": np.abs(z), "below": -z, "above": z}[side]
            p_values = (2 if side == "two-sided" else 1) * t.sf(tail, self.freedom)
        # Without variance, a difference from zero cannot be tested.
        return np.where(flat, np.where(np.abs(self.means) > 0, np.nan, 1.0), p_values)
