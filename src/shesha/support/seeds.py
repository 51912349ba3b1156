"""Random generators from seeds (the global state is never used), and default levels and numbers of draws."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

import numpy as np

from shesha.support.types import Seed as Seed


def generator(seed: Seed) -> np.random.Generator:
    """Return a random generator for a seed; a Generator is returned unchanged."""
    if isinstance(seed, bool) or not (seed is None or isinstance(seed, int | np.integer | np.random.Generator)):
        raise TypeError(f"seed must be an int, a numpy Generator or None, got {type(seed).__name__}")
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ValueError(f"seed must be zero or positive, got {seed}")
    return np.random.default_rng(seed)


def number(seed: Seed) -> int | None:
    """Return the seed if it is a number, which makes draws reproducible; otherwise None."""
    return int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else None


def draw_seed(seed: Seed) -> int:
    """Return the seed if it is a number; otherwise draw a number from it."""
    rng, value = generator(seed), number(seed)
    return int(rng.integers(2**63)) if value is None else value


def spawn(seed: Seed, purpose: int) -> np.random.Generator:
    """Return an independent random stream for one purpose, which draws for other purposes do not affect."""
    if isinstance(seed, np.random.Generator):
        return seed.spawn(1)[0]
    generator(seed)
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([purpose, int(seed)])


ALPHA = 0.05
"""Significance level of tests."""
CONFIDENCE = 0.95
"""Confidence level of intervals."""
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
