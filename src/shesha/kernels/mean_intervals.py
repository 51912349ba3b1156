"""Intervals from Student's t, and the interval of a mean over rows or groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t

from shesha.support.types import Labels, Vector


def t_margin(error: Any, freedom: Any, confidence: float) -> Any:
    """Return half the width of an interval, from standard errors and their degrees of freedom."""
    return t.ppf(0.5 + confidence / 2, freedom) * error


def mean_interval(values: Vector, clusters: Sequence[str] | Labels | None, confidence: float) -> tuple[float, float]:
    """Return the interval for the mean of clustered values; NaN for a single cluster.

    Values of one cluster may depend on each other in any way. The interval uses Student's t with n_clusters - 1 degrees
    of freedom, which makes it wide if there are few clusters. A bootstrap over as few as four animals would give far
    too narrow an interval.
    """
    codes = np.arange(len(values)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1 if len(codes) else 0
    if n_clusters < 2:
        return float("nan"), float("nan")
    mean = float(values.mean())
    sums = np.bincount(codes, values - mean) / len(values)
    half = float(t_margin(np.sqrt(n_clusters / (n_clusters - 1) * (sums**2).sum()), n_clusters - 1, confidence))
    return mean - half, mean + half
