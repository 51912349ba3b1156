"""Warnings where rows depend on one another and nobody said so, or where a design does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from shesha.nulls.dependence import dependence
from shesha.nulls.design_warnings import warn_of_series
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Adjusted, Representation


def warn_of_dependence(
    sides: Sequence[Representation], design: Design, permutations: ArrayLike | None
) -> Dependence | None:
    """Warn if rows look dependent and no design was given, or if they are not exchangeable as the design says.

    Returns what was found, where no design was given.
    """
    if permutations is not None or any(side.has_distances_only for side in sides):
        return None
    # Rows that follow one another in the covariates alone are no longer alike once these are taken out.
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    rows = [side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides]
    if nonempty_arguments(design):
        warn_of_series(rows, design)
        return None
    found = dependence(*rows)
    if found.is_dependent:
        warn(f"permuting all rows may find too much: {found.text}", CalibrationWarning)
    return found
