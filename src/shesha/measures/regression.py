"""Linear maps from one representation to another, fitted to all rows or evaluated on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import measure
from shesha.support.types import Seed
from shesha.views import Basis, Folds, Groups

FAMILY = "regression"
_ROUNDING = 1e-13


@measure(
    "LinReg",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=False,
    invariant=("orthogonal", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="||Q_Y' X||^2 / ||X||^2, columns centred, Q_Y an orthonormal basis of the columns of Y",
    reference="Kornblith et al. 2019",
    caveats=("Predictions are not held out: with as many features as rows, the score is 1 for any data.",),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def linear_regression(a: Basis, b: Basis) -> float:
    """Share of the variance in X that a linear map of Y explains.

    The value does not change under invertible linear maps of Y. The ReSi benchmark's code inverts Y'Y, which is
    unreliable if this matrix is singular; this function projects onto the column space of Y at numerical rank.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(linear_regression(X[:, :2], X), 6)
    1.0
    """
    explained = a.squared_overlap(b).sum(axis=1)
    return float(min(1.0, (a.variances * explained).sum()))


def _declare_invariances(ridge: float) -> Mapping[str, Any]:
    """Check the ridge penalty, and return the invariances that hold with it."""
    rigid = ("orthogonal", "permutation", "scaling", "translation")
    return {
        "invariant": frozenset(rigid if check.require_at_least(ridge, "ridge", 0) else (*rigid, "linear", "affine"))
    }


@measure(
    "GULP",
    view=Basis,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("affine",),
    family=FAMILY,
    cost="n d^2",
    formula="tr(K_X C_X K_X C_X) + tr(K_Y C_Y K_Y C_Y) - 2 tr(K_X C_XY K_Y C_XY'), K = (C + ridge)^-1",
    reference="Boix-Adsera et al. 2022",
    caveats=(
        "The value is the squared distance, as published.",
        "At ridge 0 the value is rank X + rank Y - 2 sum rho^2, so directions of noise count as much as all others.",
        "With a ridge above 0, the value is invariant only to rotations, one scale and an offset.",
    ),
    self_value=0.0,
    groups=("ReSi",),
    anywhere=True,
    under=_declare_invariances,
)
def gulp(a: Basis, b: Basis, *, ridge: float = 0.0) -> float:
    """Difference between ridge predictions from the two representations, over all possible targets.

    Columns are centred, and matrices are scaled to Frobenius norm sqrt(n). With ridge 0, the value does not change
    under invertible affine maps. In this case, the ReSi benchmark's code inverts eigenvalues at rounding level, which
    can give negative values, and it rejects p > n; this function uses the numerical rank.

    Parameters
    ----------
    ridge : float
        Ridge penalty, at least 0, relative to the total variance, which is scaled to 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(gulp(X, 5 * X + 1), 6)
    0.0
    """
    check.require_at_least(ridge, "ridge", 0.0)
    shrunk_a, shrunk_b = (side.variances / (side.variances + ridge) for side in (a, b))
    shared = float(shrunk_a @ a.squared_overlap(b) @ shrunk_b)
    total = float((shrunk_a**2).sum() + (shrunk_b**2).sum())
    difference = total - 2 * shared
    # For equal spaces, only the rounding error of sums of this size remains.
    return difference if difference > _ROUNDING * total else 0.0


@measure(
    "EOS",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("linear",),
    family=FAMILY,
    cost="n d^2",
    formula="||U_X' U_Y||^2 / max(p, q), U the left singular vectors without centring",
    reference="May et al. 2019",
    caveats=("With as many features as rows, each spans all dimensions, and the value depends only on the widths.",),
    groups=("ReSi",),
    view_options={"centred": False},
    counts_features=True,
    anywhere=True,
)
def eigenspace_overlap(a: Basis, b: Basis) -> float:
    """Overlap of the two column spaces without centring, as a share of the larger space.

    If the columns of a representation are linearly dependent, its score is below 1 even with itself.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(eigenspace_overlap(X, X[:, :3]), 6)
    0.75
    """
    return float(min(1.0, a.squared_overlap(b).sum() / max(a.n_features, b.n_features)))


Direction = Literal["mean", "forward", "backward"]
DIRECTIONS: tuple[Direction, ...] = ("mean", "forward", "backward")


def _declare_symmetry(direction: Direction, **options: Any) -> Mapping[str, Any]:
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
    under=_declare_symmetry,
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
