"""Scores of each group, their standard errors, and the cosine of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.group_sums_by_block import Parts
from shesha.coherence.row_roles import Layout
from shesha.coherence.scores import NO_DIRECTION
from shesha.coherence.shift_summary import Shifts
from shesha.coherence.standard_errors import control_variances, row_variances
from shesha.support.types import Index, Matrix, Vector


@dataclass(frozen=True)
class Evidence:
    """Scores of each group with standard errors, and the cosine of each row."""

    n: Index
    mean_cosine: Vector
    pairwise: Vector
    mean_cosine_error: Vector
    pairwise_error: Vector
    """Standard errors over new samples of rows (or units) of the group and the controls."""
    degrees: Vector
    """Degrees of freedom: number of units minus one."""
    magnitude: Vector
    noise: Vector
    """Expected contribution of noise to the squared magnitude: variance / n, summed over group and controls."""
    spread: Vector
    cosines: Vector
    """Cosine of each row with the mean shift of its group; NaN outside all groups and for zero shifts."""


def evidence(rows: RowPieces, layout: Layout, *, centred: bool = True) -> Evidence:
    """Score every group against the mean of its controls.

    Parameters
    ----------
    rows : RowPieces
        The rows, or shifts from individual references if `centred` is False.
    layout : Layout
    centred : bool
        Whether to subtract from each row the mean of the controls of its block.
    """
    parts = Parts(rows, layout, centred=centred)
    mean = parts.row_sums()[0].sum(axis=1) / parts.n[:, None]
    squared = parts.squared_lengths()
    shifts, projections = _directions(parts, mean, squared)
    off_mean = np.maximum(0.0, squared - 2 * projections + parts.spread_to_rows((mean**2).sum(axis=1)))
    variances, degrees, slopes = row_variances(parts, shifts)
    control_variance, control_noise = control_variances(parts, slopes)
    of_mean, of_pair = np.sqrt(variances + control_variance)
    return Evidence(
        parts.n,
        shifts.mean_cosine,
        shifts.pairwise,
        of_mean,
        of_pair,
        degrees,
        np.linalg.norm(mean, axis=1),
        parts.means(off_mean) / np.maximum(parts.n - 1, 1) + control_noise,
        parts.means(np.sqrt(off_mean)),
        shifts.cosine,
    )


def _directions(parts: Parts, mean: Matrix, squared: Vector) -> tuple[Shifts, Vector]:
    """Return the directions of shifts, and the product of each with the mean shift of its group."""
    lengths, magnitude = np.sqrt(squared), np.linalg.norm(mean, axis=1)
    floor = NO_DIRECTION * float(np.nanmax(lengths[parts.inside]))
    inverse = np.where(lengths > floor, 1 / np.maximum(lengths, 1e-300), 0.0)
    size = np.where(magnitude > floor, magnitude, np.nan)
    (projections,) = parts.products(mean)
    cosine = np.where(inverse > 0, projections * inverse / parts.spread_to_rows(size), np.nan)
    units = parts.row_sums(inverse[None])[0].sum(axis=1)
    n = parts.sums((inverse > 0).astype(np.float64)).sum(axis=1)
    n = np.where(n > 1, n, np.nan)
    mean_cosine = (units * mean).sum(axis=1) / (n * size)
    pairwise = ((units**2).sum(axis=1) - n) / (n * (n - 1))
    return Shifts(mean, size, inverse, cosine, units, n, mean_cosine, pairwise), projections
