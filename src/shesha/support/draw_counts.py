"""Numbers of random draws: defaults, and how many a corrected test needs."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

N_PERMUTATIONS = 200
"""Number of permutations for a null distribution; it allows p-values down to 1/201."""
N_BOOTSTRAP = 200
"""Number of bootstrap resamples for an interval."""


MOST = 9_999
"""Most draws that defaults use, however many tests there are."""


def draws_needed(n_tests: int, alpha: float) -> int:
    """Return how many draws at least one of several corrected tests needs to become significant.

    The smallest p-value from K draws is 1 / (K + 1), and a correction may multiply it by the number of tests.

    Examples
    --------
    >>> draws_needed(1, 0.05), draws_needed(11, 0.05), draws_needed(150, 0.05)
    (19, 219, 2999)
    """
    return ceil(n_tests / alpha - 1e-9) - 1


def default_draws(n_tests: int, alpha: float, fewest: int, most: int = MOST) -> int:
    """Return a number of draws with which one of several corrected tests can become significant.

    Examples
    --------
    >>> default_draws(2, 0.05, fewest=200), default_draws(150, 0.05, fewest=200)
    (200, 2999)
    """
    return max(fewest, min(most, draws_needed(n_tests, alpha)))


def undecided(
    p_values: Iterable[float],
    corrected: Iterable[float],
    n_draws: int,
    alpha: float,
    *,
    n_tests: int | None = None,
    what: str = "permutations",
) -> str:
    """Say that a correction could not reject with so few draws; return an empty text if the tests decide.

    If a correction rejects nothing, this means "no effect" only if it could have rejected: there were enough draws for
    a single effect among all tests, or no test reaches the level even without correction. Do not use it for the
    step-down maximum over shared permutations, which needs no more draws for more tests.

    Parameters
    ----------
    p_values, corrected : iterables of float
        The p-values without and with correction; NaN marks a missing test.
    n_draws : int
        Number of draws behind each p-value.
    alpha : float
        Level of the corrected p-values.
    n_tests : int, optional
        Number of tests that the correction counts. Default: the p-values that are not NaN.
    what : str
        What is drawn, in the plural.

    Examples
    --------
    >>> undecided([0.005] * 2, [0.075] * 2, 199, 0.05, n_tests=15)
    'cannot be decided with 199 permutations: at least 299'
    >>> undecided([0.4, 0.7], [1.0, 1.0], 199, 0.05, n_tests=15)
    ''
    """
    known = [p for p in p_values if p == p]
    needed = draws_needed(len(known) if n_tests is None else n_tests, alpha)
    limit = alpha * (1 + 1e-9)
    if n_draws >= needed or min(known, default=1.0) > limit or any(p <= limit for p in corrected):
        return ""
    return f"cannot be decided with {n_draws:,} {what}: at least {needed:,}"
