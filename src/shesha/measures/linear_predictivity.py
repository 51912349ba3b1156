"""Prediction of one representation from another by a linear map, evaluated on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import measure
from shesha.support.types import Seed
from shesha.views import Folds, Groups

Direction = Literal["mean", "forward", "backward"]
DIRECTIONS: tuple[Direction, ...] = ("mean", "forward", "backward")


def _declare(direction: Direction, **options: Any) -> Mapping[str, Any]:
    """Declare the measure symmetric only if it averages both directions."""
    return {"symmetric": direction == "mean"}


@measure(
    "linear predictivity",
    view=Folds,
    closer="higher",
    bounds=(-np.inf, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family="regression",
    cost="n d^2 + d^3",
    formula="R^2 = 1 - sum_i ||y_i - ridge prediction||^2 / sum_i ||y_i - training mean||^2 over held-out rows i, "
    "mean of both directions",
    reference="Yamins et al. 2014; Schrimpf et al. 2018; Golub, Heath and Wahba 1979",
    caveats=(
        "Unrelated data score about 0 or slightly below. Below 0, predictions are worse than the mean.",
        "Features are weighted by their variance: scale them first if they should have equal weight.",
        "Rows that depend on one another leak between folds; groups=Groups(labels) keeps equal labels in one fold.",
        "A representation scores below 1 when compared with itself.",
    ),
    under=_declare,
)
def linear_predictivity(
    a: Folds,
    b: Folds,
    *,
    direction: Direction = "mean",
    n_folds: int = 5,
    groups: Groups | None = None,
    seed: Seed = 0,
) -> float:
    """Share of the variance in held-out rows that ridge regression predicts, mean of both directions.

    The value is R squared over all features and held-out rows together. In each fold, one penalty for all features is
    chosen by generalised cross-validation on the training rows, without the held-out rows. The value is a lower bound
    on what a linear map fitted to more rows would reach.

    Parameters
    ----------
    direction : {'mean', 'forward', 'backward'}
        'mean' of both directions, 'forward' for prediction of Y from X, or 'backward' for prediction of X from Y.
    n_folds : int
        Number of folds: at least 2, and at most half the number of rows.
    groups : Groups, optional
        `shesha.measures.Groups(labels)` keeps rows with equal labels in the same fold. Default: no groups.
    seed : int, Generator or None
        Seed for the random division into folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> Y = X @ rng.standard_normal((4, 3))
    >>> round(linear_predictivity(X, Y, direction="forward"), 3), round(linear_predictivity(X, Y), 2)
    (1.0, 0.89)
    """
    check.choice(direction, DIRECTIONS, "direction")
    if direction == "forward":
        return a.predicts(b)
    if direction == "backward":
        return b.predicts(a)
    return (a.predicts(b) + b.predicts(a)) / 2
