"""Standard errors of scores, from the influence of each row and control, without resampling.

A bootstrap would raise the mean cosine, because it repeats rows and repeated shifts agree with one another. Instead,
the influence of each row is computed: the derivative of the score with respect to the row's weight. The variance of the
score is the sum of squared influences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.group_sums_by_block import Parts
from shesha.coherence.shift_summary import Shifts
from shesha.support.types import Index, Matrix, Vector

_HELD_CONTROLS = 4096
"""Maximum number of controls, evenly spaced, from which the standard error of their mean is computed."""


def row_variances(parts: Parts, shifts: Shifts) -> tuple[Matrix, Vector, NDArray[np.float64]]:
    """Return the variances of both scores over a group's rows, their degrees of freedom, and slopes.

    Parameters
    ----------
    parts : Parts
    shifts : Shifts

    Returns
    -------
    variances : array of shape (2, n_groups)
        Of the mean cosine and of the pairwise cosine.
    degrees : array of shape (n_groups,)
        Degrees of freedom: the number of units minus one.
    slopes : array of shape (2, n_groups, n_blocks, n_features)
        Derivatives of both scores with respect to the reference of each block.
    """
    direction = shifts.mean / shifts.size[:, None]
    # The derivative of the mean cosine with respect to the direction of the mean shift is the component of the mean
    # unit shift that is orthogonal to this direction.
    across = shifts.units / shifts.directed[:, None] - shifts.mean_cosine[:, None] * direction
    to_units, to_across = parts.products(shifts.units, across)
    to_units *= shifts.inverse
    there, cosine = shifts.inverse > 0, np.nan_to_num(shifts.cosine)
    n, directed, size = (parts.spread_to_rows(values) for values in (parts.n, shifts.directed, shifts.size))
    # The components of shifts that are orthogonal to the mean shift have mean zero, so the second term needs no
    # centring.
    of_mean = np.where(there, cosine - parts.spread_to_rows(shifts.mean_cosine), 0.0) * n / directed + to_across / size
    of_pair = np.where(there, (to_units - 1) / (directed - 1) - parts.spread_to_rows(shifts.pairwise), 0.0)
    of_pair *= n / directed
    variances, degrees = _variances(parts, np.stack([of_mean, of_pair]))
    # This is the jackknife factor for a mean over pairs, each of which contains two rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two rows form a single pair, whose cosine has no standard error.
        variances[1] *= 4 * ((shifts.directed - 1) / (shifts.directed - 2)) ** 2
    return variances, degrees, _slopes(parts, shifts, across, np.stack([cosine, to_units]))


def _slopes(parts: Parts, shifts: Shifts, across: Matrix, projections: Matrix) -> NDArray[np.float64]:
    """Return the derivatives of both scores with respect to the references."""
    turned = parts.row_sums(projections * shifts.inverse**2)
    total = parts.sums(shifts.inverse)[:, :, None]
    n, size = shifts.directed[:, None, None], shifts.size[:, None]
    direction = shifts.mean / size
    share = (parts.sizes / parts.n[:, None])[:, :, None]
    turned[0] = (turned[0] - total * direction[:, None]) / n - share * (across / size)[:, None]
    turned[1] = 2 * (turned[1] - total * shifts.units[:, None]) / (n * (n - 1))
    return turned


def _variances(parts: Parts, values: Matrix) -> tuple[Matrix, Vector]:
    """Return the variance of each group's mean value; values of a unit are summed before squaring."""
    group, values, n_groups = parts.group, values[:, parts.inside], parts.shape[0]
    if parts.layout.unit is not None:
        codes, unit_codes = np.unique(np.stack([group, parts.layout.unit[parts.inside]]), axis=1, return_inverse=True)
        values = np.stack([np.bincount(unit_codes.ravel(), row, codes.shape[1]) for row in values])
        group = codes[0]
    n_units = np.bincount(group, minlength=n_groups).astype(np.float64)
    squares = np.stack([np.bincount(group, row**2, n_groups) for row in values])
    spare = n_units / np.where(n_units > 1, n_units - 1, np.nan)
    return squares * spare / parts.n**2, n_units - 1


def control_variances(parts: Parts, slopes: NDArray[np.float64]) -> tuple[Matrix, Vector]:
    """Return the variances of both scores and of the mean shift due to the sampling of controls.

    Parameters
    ----------
    parts : Parts
    slopes : array of shape (2, n_groups, n_blocks, n_features)

    Returns
    -------
    variances : array of shape (2, n_groups)
        Of the mean cosine and of the pairwise cosine.
    noise : array of shape (n_groups,)
        Variance of the references, summed over features.
    """
    layout = parts.layout
    variances, noise = np.zeros((2, parts.shape[0])), np.zeros(parts.shape[0])
    for block in range(parts.shape[1]) if parts.centred else ():
        rows = layout.controls[layout.block[layout.controls] == block]
        if not len(rows):
            continue
        control_rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _HELD_CONTROLS)).astype(np.intp)]
        controls, reference = parts.rows.take(control_rows), parts.references[block]
        for k, slope in enumerate(slopes[:, :, block]):
            variances[k] += _variance_of_mean(
                controls @ slope.T - reference @ slope.T, layout.unit, control_rows, len(rows)
            )
        squares = controls.multiply(controls).sum() if hasattr(controls, "toarray") else float((controls**2).sum())
        scatter = (squares - len(control_rows) * float(reference @ reference)) / max(1, len(control_rows) - 1)
        noise += (parts.sizes[:, block] / parts.n) ** 2 * max(0.0, scatter) / len(rows)
    return variances, noise


def _variance_of_mean(values: Matrix, unit: Index | None, control_rows: Index, n: int) -> Vector:
    """Return the variance of a mean of n rows, from deviations of stored rows (one column per group)."""
    if unit is not None:
        codes, unit_codes = np.unique(unit[control_rows], return_inverse=True)
        if len(codes) > 1:
            sums = np.zeros((len(codes), values.shape[1]))
            np.add.at(sums, unit_codes, values)
            return np.asarray((sums**2).sum(axis=0) * len(codes) / (len(codes) - 1) / len(control_rows) ** 2)
    return np.asarray((values**2).sum(axis=0) / max(1, len(control_rows) - 1) / n)
