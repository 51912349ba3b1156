"""One feature against another: how well can the axes of two representations be paired?"""

from __future__ import annotations

import numpy as np

from shesha import _validate as check
from shesha._types import Matrix
from shesha._warnings import NotEstimable
from shesha.measures._registry import measure
from shesha.views import Features

FAMILY = "matching"


def _correlations(a: Features, b: Features) -> Matrix:
    """Correlation of every column of one with every column of the other."""
    columns = []
    for name, side in (("first", a), ("second", b)):
        standardised, constant = side.standardised
        if len(constant):
            raise NotEstimable(
                f"constant features have no correlation: columns {check.listed(constant)} of the {name}; remove them"
            )
        columns.append(standardised)
    return np.clip(columns[0].T @ columns[1], -1.0, 1.0)


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
    caveats=("In the units of the features, offsets included.",),
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

    unit = max(a.unit, b.unit)
    x, y = (side.rows * (side.unit / unit) for side in (a, b))
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in (x, y))
    left, right = linear_sum_assignment(x.T @ y, maximize=True)
    return float(np.linalg.norm(x[:, left] - y[:, right])) * unit


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
    reference="Li et al. 2016",
    caveats=("The best of many matchings: independent data score well above 0 when n is small.",),
    self_value=1.0,
    groups=("ReSi",),
)
def hard_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation of columns matched one to one in the best way; with unequal widths some stay alone.

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
    reference="Li et al. 2016; Khosla and Williams 2024",
    caveats=("The best of many matches: independent data score well above 0 when n is small.",),
    self_value=1.0,
    groups=("ReSi",),
)
def soft_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation of each column with its best match in the other, in both directions.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(soft_correlation_match(X, X[:, ::-1]), 6)
    1.0
    """
    correlations = _correlations(a, b)
    return float(correlations.max(axis=1).mean() + correlations.max(axis=0).mean()) / 2
