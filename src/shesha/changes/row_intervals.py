"""Intervals of means over rows or groups of rows, and folds that keep groups whole."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from shesha.support.types import Index, Labels, Vector


def deal_folds(n: int, groups: Labels | None, n_folds: int, rng: np.random.Generator) -> Index:
    """Assign rows, or whole groups of rows, to folds at random."""
    if groups is None:
        return np.asarray(rng.permutation(n) % n_folds)
    return np.asarray((rng.permutation(int(groups.max()) + 1) % n_folds)[groups])


def mean_interval(
    values: Vector, confidence: float, groups: Labels | None, *, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of the mean over rows like these, or over groups of rows.

    Rows of one group may depend on each other in any way. If all values are at a bound, the interval ends where that
    result would have half the error probability.

    Examples
    --------
    >>> low, high = mean_interval(np.ones(40), 0.95, None, bounds=(0.0, 1.0))
    >>> round(low, 3), high
    (0.912, 1.0)
    """
    mean, units = float(values.mean()), np.arange(len(values)) if groups is None else groups
    n_units = int(units.max()) + 1
    if n_units < 2:
        return float("nan"), float("nan")
    sums = np.bincount(units, values - mean) / len(values)
    error = float(np.sqrt(n_units / (n_units - 1) * (sums**2).sum()))
    half = float(t.ppf(0.5 + confidence / 2, n_units - 1)) * error
    low, high = max(bounds[0], mean - half), min(bounds[1], mean + half)
    reach = (bounds[1] - bounds[0]) * (1 - ((1 - confidence) / 2) ** (1 / n_units))
    if (values == bounds[1]).all():
        low = bounds[1] - reach
    if (values == bounds[0]).all():
        high = bounds[0] + reach
    return low, high
