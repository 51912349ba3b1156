"""A linear model with a random intercept for each group, fitted by restricted maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Labels, Matrix, Vector

_LOG_RATIOS = (-18.0, 18.0)
"""Search range for the logarithm of the variance ratio; a ratio of 0 is tried separately."""


@dataclass(frozen=True)
class RandomIntercept:
    """Estimated coefficients with their standard errors, and both variances."""

    betas: Vector
    errors: Vector
    between: float
    """Variance of the intercepts; exactly 0 if the likelihood is largest there."""
    residual: float


def random_intercept(design: Matrix, y: Vector, codes: Labels, *, n_taken: int = 0) -> RandomIntercept:
    """Fit by restricted maximum likelihood, searching over the ratio of the two variances.

    A bounded search finds the best positive ratio, which is then compared with a ratio of zero. A variance of zero is
    therefore found exactly, in which case the fit equals ordinary least squares.

    Parameters
    ----------
    design : array of shape (n, n_columns)
        Predictors, including a column of ones; of full rank.
    y : array of shape (n,)
    codes : array of shape (n,)
        Group of each row, counted from 0.
    n_taken : int
        Degrees of freedom of y that were already used, for example by centring.
    """
    from scipy.optimize import minimize_scalar

    sizes = np.bincount(codes)
    freedom = len(y) - design.shape[1] - n_taken

    def fit(ratio: float) -> tuple[float, RandomIntercept]:
        # Subtracting this share of each group's mean makes the errors independent.
        share = 1 - 1 / np.sqrt(1 + sizes * ratio)
        columns, target = (
            values - share[codes, None] * (_sums(values, codes) / sizes[:, None])[codes]
            for values in (design, y[:, None])
        )
        inverse = np.linalg.inv(columns.T @ columns)
        betas = (inverse @ columns.T @ target)[:, 0]
        variance = float(((target[:, 0] - columns @ betas) ** 2).sum() / freedom)
        cost = freedom * np.log(max(variance, np.finfo(float).tiny)) + np.log1p(sizes * ratio).sum()
        cost -= np.linalg.slogdet(inverse)[1]
        errors = np.sqrt(variance * np.diagonal(inverse))
        return float(cost), RandomIntercept(betas, errors, ratio * variance, variance)

    inner = minimize_scalar(
        lambda log: fit(np.exp(log))[0], bounds=_LOG_RATIOS, method="bounded", options={"xatol": 1e-8}
    )
    (at_zero, on_boundary), (best, within) = fit(0.0), fit(float(np.exp(inner.x)))
    return within if best < at_zero else on_boundary


def _sums(values: Matrix, codes: Labels) -> NDArray[np.float64]:
    sums = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums
