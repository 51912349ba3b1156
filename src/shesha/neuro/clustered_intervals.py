"""Means and correlations of clustered observations, such as the areas of one session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import t as student

from shesha.kernels.rounding_and_scaling import is_constant
from shesha.support.types import Vector

Interval = tuple[float, float]
UNKNOWN: Interval = (float("nan"), float("nan"))


def mean_interval(values: Vector, clusters: Sequence[str], confidence: float) -> Interval:
    """Confidence interval for the mean of clustered observations; NaN for a single cluster.

    The interval uses Student's t with n_clusters - 1 degrees of freedom, which makes it wide if there are few clusters.
    A bootstrap over as few as four animals would give far too narrow an interval.
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1 if len(codes) else 0
    if n_clusters < 2:
        return UNKNOWN
    sums = np.bincount(codes, values - values.mean())
    error = np.sqrt(n_clusters / (n_clusters - 1) * float(sums @ sums)) / len(values)
    margin = float(student.ppf((1 + confidence) / 2, n_clusters - 1) * error)
    return float(values.mean()) - margin, float(values.mean()) + margin


def jackknife_correlation(
    score: Callable[[Vector], float], clusters: Sequence[str], confidence: float
) -> tuple[Interval, float]:
    """Confidence interval and p-value of a correlation, from a jackknife over clusters.

    Parameters
    ----------
    score : callable
        Function that takes a mask of the observations to use and returns a correlation.
    clusters : sequence of str
        Cluster of each observation.
    confidence : float

    Returns
    -------
    interval, p-value
        Both are computed from Student's t on Fisher's scale; NaN if there are fewer than three clusters.
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n = int(codes.max()) + 1 if len(codes) else 0
    estimate = _fisher(score(np.ones(len(codes), dtype=bool)))
    if n < 3 or np.isnan(estimate):
        return UNKNOWN, float("nan")
    rest = np.array([_fisher(score(codes != code)) for code in range(n)])
    error = float(np.sqrt((n - 1) / n * ((rest - rest.mean()) ** 2).sum()))
    if is_constant(rest, n_terms=len(codes)):
        return UNKNOWN, float("nan")
    margin = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    return (float(np.tanh(estimate - margin)), float(np.tanh(estimate + margin))), float(
        2 * student.sf(abs(estimate) / error, n - 1)
    )


def _fisher(correlation: float) -> float:
    return float(np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12)))
