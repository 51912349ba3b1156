"""Matching of the individual features of two representations."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import unit_matching
from shesha.measures.registry import measure
from shesha.support.types import Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Features

FAMILY = "matching"


def _correlations(a: Features, b: Features) -> Matrix:
    """Correlate every column of one side with every column of the other; 0 for constant columns."""
    correlations = a.correlations(b)
    for side, width in ((a, correlations.shape[0]), (b, correlations.shape[1])):
        if len(side.constant_columns) == width:
            raise NotEstimable("all rows are equal")
    return correlations


def _constant(a: Features, b: Features) -> str:
    """Return a note that names the constant columns; empty if there are none."""
    parts = [
        f"columns {check.join_items(side.constant_columns)} of the {name}"
        for name, side in (("first", a), ("second", b))
        if len(side.constant_columns)
    ]
    return f"constant features have no correlations, so these are set to 0: {' and '.join(parts)}" if parts else ""


def _best_matching(gain: Matrix) -> Matrix:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(gain[linear_sum_assignment(gain, maximize=True)])


@measure(
    "PermProc",
    view=Features,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("permutation",),
    family=FAMILY,
    cost="n d^2 + d^3",
    formula="min_P ||X - Y P|| over permutations P of the columns",
    reference="Williams et al. 2021",
    caveats=("The distance is in the units of the features, and depends on their offsets.",),
    self_value=0.0,
    groups=("ReSi",),
)
def permutation_procrustes(a: Features, b: Features) -> float:
    """Distance after the best one-to-one matching of the columns, without centring or scaling.

    The narrower matrix is padded with zero columns.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> permutation_procrustes(X, X[:, ::-1])
    0.0
    """
    from scipy.optimize import linear_sum_assignment

    if a.rows.shape[1] > b.rows.shape[1]:
        a, b = b, a
    unit = max(a.unit, b.unit)
    left, right = linear_sum_assignment(_column_gain(a, b, unit), maximize=True)
    x, y = (side.rows * (side.unit / unit) for side in (a, b))
    alone = np.setdiff1d(np.arange(y.shape[1]), right)
    return float(np.hypot(np.linalg.norm(x[:, left] - y[:, right]), np.linalg.norm(y[:, alone]))) * unit


def _column_gain(narrow: Features, wide: Features, unit: float) -> Matrix:
    """Inner products between columns, without the part that is the same for every matching.

    A common offset of all columns would dominate every inner product and reduce precision, so the column means enter as
    differences. Adding a constant to a row of the gain does not change the best matching, because every column of the
    narrower side is matched. Adding a constant to a column has no effect only if the widths are equal.
    """
    x, y = (side.centred * (side.unit / unit) for side in (narrow, wide))
    means, others = ((side.rows[0] - side.centred[0]) * (side.unit / unit) for side in (narrow, wide))
    others = others - others.mean()
    if len(means) == len(others):
        return np.asarray(x.T @ y - len(x) / 2 * np.subtract.outer(means - means.mean(), others) ** 2)
    return np.asarray(x.T @ y + len(x) * np.outer(means, others))


@measure(
    "HardCorr",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2 + d^3",
    formula="max_P mean_j corr(x_j, y_P(j)) over one-to-one matchings P",
    reference="Li et al. 2015",
    caveats=(
        "The best of many matchings is scored, so independent data score well above 0 if n is small.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    remark=_constant,
)
def hard_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation in the best one-to-one matching of columns; some of the wider side stay unmatched.

    Constant columns have no correlations, so theirs are set to 0, with a warning.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(hard_correlation_match(X, X[:, ::-1]), 6)
    1.0
    """
    return float(_best_matching(_correlations(a, b)).mean())


@measure(
    "SoftCorr",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="(mean_j max_k corr(x_j, y_k) + mean_k max_j corr(x_j, y_k)) / 2",
    reference="Li et al. 2015; Khosla and Williams 2024",
    caveats=(
        "The best of many matches is scored, so independent data score well above 0 if n is small.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    remark=_constant,
)
def soft_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation of each column with its best match in the other representation, in both directions.

    Constant columns have no correlations, so theirs are set to 0, with a warning.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(soft_correlation_match(X, X[:, ::-1]), 6)
    1.0
    """
    correlations = _correlations(a, b)
    return float(correlations.max(axis=1).mean() + correlations.max(axis=0).mean()) / 2


@measure(
    "soft matching",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=FAMILY,
    cost="more",
    formula="max_P sum_jk P_jk corr(x_j, y_k) / mass; P >= 0, rows sum to 1/p at most, columns to 1/q, all to mass",
    reference="Khosla and Williams 2024 (arXiv 2311.09466); for mass < 1 arXiv 2602.19331",
    caveats=(
        "The best of many matchings is scored, so independent data score well above 0 if n is small. Calibrate the "
        "score.",
        "A smaller mass leaves out the units that match worst, which raises the score of noise as well.",
        "With equal widths and mass=1, the score equals HardCorr.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    remark=_constant,
)
def soft_matching(a: Features, b: Features, *, mass: float = 1.0) -> float:
    """Mean correlation of units under optimal transport, in which a unit may match parts of several units.

    Unlike a one-to-one matching, the transport includes every unit of the wider side. If `mass` is below 1, the
    worst-matching units, such as noise, are left out.

    Parameters
    ----------
    mass : float
        Share of the units on each side that is matched, in (0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4))
    >>> round(soft_matching(X, np.repeat(X[:, ::-1], 2, axis=1)), 6)
    1.0
    >>> noisy = np.hstack([X, rng.standard_normal((50, 1))])
    >>> round(soft_matching(noisy, np.hstack([X, rng.standard_normal((50, 1))]), mass=0.8), 6)
    1.0
    """
    if not 0 < check.real_number(mass, "mass") <= 1:
        raise ValueError(f"mass must be above 0 and at most 1, got {mass}")
    gain = _correlations(a, b)
    if not unit_matching.is_feasible(*gain.shape):
        raise NotEstimable(
            f"the transport between {gain.shape[0]:,} and {gain.shape[1]:,} units takes too long; use equal widths, "
            "or SoftCorr"
        )
    return float((unit_matching.best_transport(gain, mass) * gain).sum() / mass)
