"""The rule that decides whether our number agrees with a published one.

Two numbers agree if they differ by no more than their joint 95 % uncertainty, or only by rounding. The uncertainty of
our number comes from resampling or from repeated draws of independent units. The uncertainty of the published number
comes from its printed interval, or from the sampling error of the statistic for its n. If the paper leaves its recipe
open, a number agrees only if the values from all admissible recipes do, and differs only if none does. An agreement is
loose if more than a quarter of the plausible range of the statistic would agree.
"""

from __future__ import annotations

from math import isnan, log10, sqrt

JOINT = 1.96
"""Number of standard errors within which 95 % of the differences lie."""
LOOSE = "loose:"
"""First word of the note on an agreement that almost any value would reach."""
_QUARTER, _HALF, _FACTOR = 0.25, 0.5, 3.0


def allowed_difference(error: float = 0.0, published_error: float = 0.0, decimals: int = 3) -> float:
    """Return how much two numbers may differ, given their standard errors and printed decimals.

    A standard error of NaN counts as none.

    Examples
    --------
    >>> round(allowed_difference(0.03, 0.04), 3), allowed_difference(decimals=1) > 0.05
    (0.098, True)
    """
    unit = 10.0**-decimals
    errors = [0.0 if isnan(value) else value for value in (error, published_error)]
    # The error of a rounded number is uniform over one unit of its last digit.
    joint = JOINT * sqrt(sum(value * value for value in errors) + unit * unit / 12) if any(errors) else 0.0
    return max(joint, 0.5 * unit + 1e-12)


def correlation_error(rho: float, n: float) -> float:
    """Standard error of a rank correlation over n independent cases (Bonett and Wright 2000).

    Examples
    --------
    >>> round(correlation_error(-0.2, 25), 2)
    0.21
    """
    return sqrt((1 + rho * rho / 2) / (n - 3)) * (1 - rho * rho) if n > 3 else float("nan")


def correlation_p(rho: float, n: int, given: int = 0) -> float:
    """Two-sided p-value of a correlation over n independent cases, by Student's t test, controlling for some variables.

    Examples
    --------
    >>> round(correlation_p(0.5, 20), 3)
    0.025
    """
    from scipy.stats import t

    freedom = n - 2 - given
    return float(2 * t.sf(abs(rho) * sqrt(freedom / (1 - rho**2)), freedom))


def interval_error(low: float, high: float) -> float:
    """Standard error implied by a printed 95 % interval; 0 if none is printed."""
    return 0.0 if isnan(low) or isnan(high) else (high - low) / (2 * JOINT)


def loosely(published: float, within: float, ours: float = float("nan")) -> str:
    """Return a note if so many values would agree that agreement means little; otherwise "".

    The plausible range is 0 to 1 if neither number nor `published - within` is negative, and -1 to 1 otherwise. An
    agreement is loose if more than a quarter of this range would agree. If a number lies outside -1 to 1, an agreement
    is loose if `within` exceeds half of the published number.

    Examples
    --------
    >>> loosely(0.18, 0.39, 0.32)
    'loose: any value from -0.21 to 0.57 would agree'
    >>> loosely(0.91, 0.03, 0.93)
    ''
    """
    numbers = [published] if isnan(ours) else [published, ours]
    if max(map(abs, numbers)) > 1:
        loose = within > _HALF * abs(published)
    else:
        loose = 2 * within > _QUARTER * (1 if min(numbers) >= 0 and published - within >= 0 else 2)
    return f"{LOOSE} any value from {published - within:.3g} to {published + within:.3g} would agree" if loose else ""


def loose_p_value(published: str) -> str:
    """Return a note if p-values within a factor of three are more than a quarter of all.

    Examples
    --------
    >>> loose_p_value("0.43"), loose_p_value("0.04"), loose_p_value("<1e-18")
    ('loose: any p-value from 0.143 to 1 would agree', '', '')
    """
    if published.startswith("<"):
        return ""
    low, high = float(published) / _FACTOR, min(1.0, float(published) * _FACTOR)
    return f"{LOOSE} any p-value from {low:.3g} to {high:.3g} would agree" if high - low > _QUARTER else ""


UNDECIDED = "P-values above 0.05 cannot be compared between different numbers of observations."


def p_values_agree(published: str, ours: float) -> bool | None:
    """Return whether a p-value agrees with the printed one; None if this cannot be decided.

    It agrees if it is below a printed bound, or within a factor of three of a printed value. P-values above 0.05 cannot
    be compared between different numbers of observations.

    Examples
    --------
    >>> p_values_agree("<1e-18", 1.8e-21), p_values_agree("0.04", 0.06), p_values_agree("0.77", 0.10)
    (True, True, None)
    """
    limit = float(published.removeprefix("<"))
    if published.startswith("<"):
        return ours < limit
    if ours > 0 and limit > 0 and abs(log10(ours / limit)) < log10(_FACTOR):
        return True
    return None if min(ours, limit) > 0.05 else False
