"""Score each group, with standard errors, and compute the cosine of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.group_sums_by_block import Parts
from shesha.coherence.row_roles import Layout
from shesha.coherence.scores import NO_DIRECTION
from shesha.coherence.shift_summary import Shifts
from shesha.coherence.standard_errors import control_variances, row_variances
from shesha.coherence.unit_pairs import PAIR, UnitSums
from shesha.support.types import Index, Matrix, Vector


@dataclass(frozen=True)
class Evidence:
    """Scores of each group with standard errors, and the cosine of each row."""

    n: Index
    mean_cosine: Vector
    pairwise: Vector
    mean_cosine_error: Vector
    pairwise_error: Vector
    """Standard errors of both scores, over new samples of the group's rows (or units) and of the controls."""
    degrees: Vector
    """Degrees of freedom: the number of units (or rows) minus one."""
    magnitude: Vector
    noise: Vector
    """Noise expected in the squared magnitude: variance / n, added over the group and the controls."""
    spread: Vector
    cosines: Vector
    """Cosine between each row's shift and its group's mean shift; NaN outside groups and for zero shifts."""
    squares: Vector
    """Sum of the squared lengths of the shifts of each group."""
    units: UnitSums | None = None
    """Sums over the sampling units, if rows were sampled in units."""


def evidence(rows: RowPieces, layout: Layout, *, centred: bool = True) -> Evidence:
    """Score every group relative to the mean of its controls.

    Parameters
    ----------
    rows : RowPieces
        The rows; if `centred` is False, their shifts from individual references.
    layout : Layout
    centred : bool
        Whether to subtract from each row the mean of the controls in its block.
    """
    parts = Parts(rows, layout, centred=centred)
    mean = parts.row_sums()[0].sum(axis=1) / parts.n[:, None]
    squared = parts.squared_lengths()
    shifts, projections = _directions(parts, mean, squared)
    off_mean = np.maximum(0.0, squared - 2 * projections + parts.spread_to_rows((mean**2).sum(axis=1)))
    variances, degrees, slopes = row_variances(parts, shifts)
    units = None if layout.unit is None else UnitSums.build(parts, shifts.inverse)
    if units is not None:
        # Rows of a unit share its own effects, so only pairs of rows from different units count.
        shifts = replace(shifts, pairwise=units.mean_cosines(parts.shape[0]))
        variances[PAIR] = units.jackknife_variances(parts.shape[0])
        # Leaving out a unit leaves out its controls as well, if it has any.
        slopes[PAIR] = 0.0 if layout.is_paired else units.slopes(parts, shifts)
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
        parts.sums(squared).sum(axis=1),
        units,
    )


def _directions(parts: Parts, mean: Matrix, squared: Vector) -> tuple[Shifts, Vector]:
    """Return the directions of the shifts, and the inner product of each with its group's mean shift."""
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
