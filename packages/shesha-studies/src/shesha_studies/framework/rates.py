"""Rates from counts, with intervals."""

from __future__ import annotations

from functools import lru_cache

from shesha_studies.framework.facts import Fact, rate


def binomial_limits(rate: float, n: int) -> tuple[float, float]:
    """Limits between which a share over n independent draws lies with probability 0.95.

    Examples
    --------
    >>> binomial_limits(0.05, 200)
    (0.02, 0.08)
    """
    from scipy.stats import binom

    low, high = binom.interval(0.95, n, rate)
    return float(low / n), float(high / n)


@lru_cache(maxsize=1024)
def rate_interval(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson for a share of hits.

    Examples
    --------
    >>> [round(limit, 3) for limit in rate_interval(5, 100)]
    [0.016, 0.113]
    """
    from scipy.stats import binomtest

    interval = binomtest(hits, n).proportion_ci(0.95)
    return float(interval.low), float(interval.high)


def sign_difference(more: int, less: int, n: int) -> Fact:
    """Share of pairs with more minus share with less, with the interval of the exact sign test.

    `n` is the number of pairs. Ties are excluded from the test. If all pairs are ties, the limits are plus and minus
    the upper limit of the share 0 of n.

    Examples
    --------
    >>> f"{sign_difference(9, 1, 20):+.2f}, {sign_difference(0, 0, 20):+.2f}"
    '+0.40 [+0.05, +0.50], +0.00 [-0.17, +0.17]'
    """
    decided = more + less
    if not decided:
        high = rate(0, n).high
        return Fact(0.0, -high, high)
    sign = rate(more, decided)
    low, high = ((2 * limit - 1) * decided / n for limit in sign.limits)
    return Fact((more - less) / n, low, high)
