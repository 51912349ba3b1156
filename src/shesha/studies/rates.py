"""Counted rates with intervals, and correlations within draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def binomial_limits(rate: float, n: int) -> tuple[float, float]:
    """Limits within which a share counted over n independent draws lies with probability 0.95.

    Examples
    --------
    >>> binomial_limits(0.05, 200)
    (0.02, 0.08)
    """
    from scipy.stats import binom

    low, high = binom.interval(0.95, n, rate)
    return float(low / n), float(high / n)


def rate_interval(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson for a counted share.

    Examples
    --------
    >>> [round(limit, 3) for limit in rate_interval(5, 100)]
    [0.016, 0.113]
    """
    from scipy.stats import binomtest

    interval = binomtest(hits, n).proportion_ci(0.95)
    return float(interval.low), float(interval.high)
