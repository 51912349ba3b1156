"""Warn of dependent rows without a declared design, and of designs that the data contradict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.covariate_interactions import interactions
from shesha.doubting import diagnostic_rows
from shesha.nulls.dependence import find_dependence
from shesha.nulls.design_builder import exchange
from shesha.nulls.design_warnings import warn_of_series
from shesha.nulls.neighbours_within_design import p_value_within_design
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.residual_confounding import false_positive_rate
from shesha.results import Dependence
from shesha.results.audit.dependence import LEVEL
from shesha.support.types import Matrix
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Adjusted, Covariates, Representation

_MOST_ROWS = 4096
_TOO_OFTEN = 0.1
"""Smallest estimated false-positive rate at which a warning is raised."""


def _warn_of_covariates(rows: Sequence[Matrix], covariates: Covariates, design: Design) -> None:
    """Warn if the smooth fit left enough of the covariates' effect to make unrelated data seem related."""
    for name, quantity in covariates.numbers.items():
        order = np.argsort(quantity, kind="stable")
        order = order[np.unique(np.linspace(0, len(order) - 1, _MOST_ROWS).astype(np.intp))]
        p_value = p_value_within_design(exchange(len(order)), *(side[order] for side in rows))
        reason = (
            f"rows with similar values have similar features, p = {p_value:.1g}"
            if p_value <= LEVEL
            else _excess(rows, covariates, design)
        )
        if reason:
            warn(
                f"features still depend on {name} after a smooth fit ({reason}), so p-values may be too small. Add "
                "columns that describe the effect (such as the sine and cosine of a period), replace it by labels of "
                "a few rows each, or use more rows",
                CalibrationWarning,
            )
    for first, second in interactions(rows, covariates):
        warn(
            f"features still depend on the product of {first} and {second}, as if the effect of one depended on the "
            "other. P-values may be too small. Pass the product as a further covariate (for a label, one column per "
            "class)",
            CalibrationWarning,
        )


def _excess(rows: Sequence[Matrix], covariates: Covariates, design: Design) -> str:
    """Describe the false-positive rate caused by what remains of a covariate's effect; empty if it is low.

    Only a single numeric covariate is checked. With several, rows that are similar in all of them are too rarely
    similar in each one to distinguish an effect from noise.
    """
    if len(covariates.numbers) > 1:
        return ""
    arguments = nonempty_arguments(design)
    strata = (
        exchange(len(rows[0]), **arguments) if set(arguments) - {"blocks"} else covariates.design(design.get("blocks"))
    )
    # Series and groups are not permuted row by row, so their own memory is no effect of the covariate.
    drawn = strata if strata.shift or strata.group is not None else None
    quantity = next(iter(covariates.numbers.values()))
    # A spline with twice as many terms models the part of the effect that the first spline missed.
    n_terms = 2 * covariates.n_taken + 2
    rate = false_positive_rate(quantity, strata.block, *rows, n_terms=n_terms, taken=covariates.basis, design=drawn)
    return f"about {100 * rate:.0f} % of unrelated data would be called related at 5 %" if rate >= _TOO_OFTEN else ""


def warn_of_dependence(
    sides: Sequence[Representation], design: Design, permutations: ArrayLike | None
) -> Dependence | None:
    """Warn if rows look dependent and no design is declared, or if the declared design does not fit them.

    Returns the detected dependence if there is no design, otherwise None.
    """
    if permutations is not None or any(side.has_distances_only for side in sides):
        return None
    # Residuals are checked if available, because neighbouring rows may be similar due to the covariates alone.
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    rows = [side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides]
    if all(isinstance(side, Adjusted) for side in sides):
        _warn_of_covariates(rows, next(side.covariates for side in sides if isinstance(side, Adjusted)), design)
    if nonempty_arguments(design):
        warn_of_series(rows, design)
        return None
    dependence = find_dependence([diagnostic_rows(side) for side in sides], screened=True)
    if dependence.is_dependent:
        warn(f"permuting all rows may give too many false positives: {dependence.text}", CalibrationWarning)
    return dependence
