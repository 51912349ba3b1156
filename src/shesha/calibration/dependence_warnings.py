"""Warnings about dependent rows without a declared design, and about designs that do not hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shesha.doubting import checked_rows
from shesha.nulls.dependence import find_dependence, p_value_within_design
from shesha.nulls.design_warnings import warn_of_series
from shesha.nulls.designs import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence
from shesha.results.audit.dependence import LEVEL
from shesha.support.types import Matrix
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Adjusted, Covariates, Representation

_MOST_ROWS = 4096


def _warn_of_covariates(rows: Sequence[Matrix], covariates: Covariates) -> None:
    """Warn if rows of similar covariates are still close after smooth functions of these were removed."""
    for name, quantity in covariates.numbers.items():
        order = np.argsort(quantity, kind="stable")
        order = order[np.unique(np.linspace(0, len(order) - 1, _MOST_ROWS).astype(np.intp))]
        p_value = p_value_within_design(exchange(len(order)), *(side[order] for side in rows))
        if p_value <= LEVEL:
            warn(
                f"rows of similar {name} are still close after a smooth fit (p = {p_value:.1g}), because a few "
                "spline terms do not fit its effect. P-values may be too small: add columns that fit it (powers, or "
                "the sine and cosine of a period), or cut it into labels of a few rows",
                CalibrationWarning,
            )


def warn_of_dependence(
    sides: Sequence[Representation], design: Design, permutations: ArrayLike | None
) -> Dependence | None:
    """Warn if rows seem dependent and there is no design, or if they are not exchangeable under the design.

    Returns what was found, where no design was given.
    """
    if permutations is not None or any(side.has_distances_only for side in sides):
        return None
    # Rows that follow one another in the covariates alone are no longer alike once these are taken out.
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    rows = [side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides]
    if all(isinstance(side, Adjusted) for side in sides):
        _warn_of_covariates(rows, next(side.covariates for side in sides if isinstance(side, Adjusted)))
    if nonempty_arguments(design):
        warn_of_series(rows, design)
        return None
    found = find_dependence([checked_rows(side) for side in sides], screened=True)
    if found.is_dependent:
        warn(f"permuting all rows may give too many false positives: {found.text}", CalibrationWarning)
    return found
