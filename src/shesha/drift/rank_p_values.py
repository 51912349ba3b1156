"""Rank a score among those of unchanged encodings, and bound the rate of false alarms."""

from __future__ import annotations

from math import floor, isnan

import numpy as np

from shesha.results.drift.verdict_text import LIMIT_CONFIDENCE
from shesha.support.types import Vector


def fewest_for(level: float) -> int:
    """Return the minimum number of null scores with which a p-value can reach a level.

    Examples
    --------
    >>> fewest_for(0.01), fewest_for(0.05)
    (99, 19)
    """
    # The tolerance allows for the rounding error of 1 / level.
    return int(np.ceil(1 / level - 1e-9)) - 1


def p_value(score: float, null: Vector) -> float:
    """Return (1 + b) / (K + 1), where b of K null scores are at least as large; NaN for a missing score.

    If the score and the null scores are exchangeable, the probability that the p-value is at most u is at most u, for
    any distribution.

    Examples
    --------
    >>> p_value(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    return float("nan") if isnan(score) else (1 + int(np.count_nonzero(null >= score))) / (len(null) + 1)


def allowed_exceedances(n_nulls: int, level: float) -> int:
    """Return how many scores, including the observed one, may be at least as large for p to reach the level."""
    return floor(level * (n_nulls + 1) * (1 + 1e-9))


def threshold(null: Vector, level: float) -> float:
    """Return the null score that must be exceeded for a p-value at the level; infinite if none can be.

    Examples
    --------
    >>> threshold(np.arange(99.0), 0.05)
    94.0
    """
    k = allowed_exceedances(len(null), level)
    return float(np.partition(null, len(null) - k)[len(null) - k]) if k else float("inf")


def false_alarm_limit(n_nulls: int, level: float, confidence: float = LIMIT_CONFIDENCE) -> float:
    """Return an upper confidence limit for the rate at which unchanged encodings exceed the threshold.

    The threshold is the k-th largest of K null scores, with k = level (K + 1). The rate at which further scores exceed
    it is therefore random, with distribution Beta(k, K + 1 - k) and mean k / (K + 1).

    Examples
    --------
    >>> round(false_alarm_limit(99, 0.01), 4), round(false_alarm_limit(999, 0.01), 4)
    (0.0298, 0.0157)
    """
    from scipy.special import betaincinv

    k = allowed_exceedances(n_nulls, level)
    return float(betaincinv(k, n_nulls + 1 - k, confidence)) if k else 0.0
