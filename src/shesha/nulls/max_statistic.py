"""Familywise p-values of scores that share their permutations, from the distribution of the maximum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.nulls.null_summary import TIE
from shesha.support.types import Matrix, Vector


def max_statistic_p_values(draws: Sequence[Vector], closer: Sequence[str]) -> Vector:
    """Correct p-values for the number of scores by the step-down maximum over their common permutations.

    The chance that any of several unrelated scores has a corrected p-value of at most alpha is at most alpha, however
    they depend on one another (Westfall and Young 1993, algorithm 4.1): scores that say the same cost nothing.

    Scores of different scales are put on one: a score counts by how many of the K + 1 values of its own test it is
    not below, and those of equal count by their distance from the mean in standard deviations. The second part
    lets a clear score stand out among many tests, of which some draw always has the largest value.

    Parameters
    ----------
    draws : sequence of arrays of shape (n_permutations + 1,)
        Of each test the observed score, then that of each draw. Draw k of all tests is the same permutation of the
        rows. NaN is a draw without a score: it counts as extreme for its own test, and as none for the others, whose
        maxima would otherwise be out of reach.
    closer : sequence of {'higher', 'lower'}
        Which values of each test are more similar.

    Returns
    -------
    array of shape (n_tests,)
        (1 + number of draws with a maximum at least as large) / (n_permutations + 1); never below the p-value of the
        test alone.

    Examples
    --------
    >>> null = np.random.default_rng(0).standard_normal((3, 199))
    >>> draws = [np.r_[value, one] for value, one in zip([9.0, 1.9, 0.0], null, strict=True)]
    >>> max_statistic_p_values(draws, ["higher"] * 3).tolist()
    [0.005, 0.075, 0.5]
    """
    if not len(draws):
        return np.empty(0)
    signed = [np.asarray(draw) * (1.0 if way == "higher" else -1.0) for draw, way in zip(draws, closer, strict=True)]
    results = [_common_scale(draw) for draw in signed]
    scaled = np.stack([column for column, _ in results], axis=1)
    alone = np.array([p_value for _, p_value in results])
    return _step_down(scaled, alone)


def _common_scale(values: Vector) -> tuple[Vector, float]:
    """Return values on a scale common to all tests, and the p-value of the first (observed) value."""
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=0.0))
    unit = largest or 1.0
    mean, sd = float((values[known] / unit).mean()), float((values[known] / unit).std())
    filled = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(filled, kind="stable")
    with np.errstate(invalid="ignore"):  # Of infinite values the equal ones are ties.
        steps = (filled[order][1:] > filled[order][:-1]) & ~(np.diff(filled[order]) <= TIE * largest)
    level = np.empty(len(values), dtype=np.intp)
    level[order] = np.concatenate([[0], np.cumsum(steps)])
    below = np.concatenate([[0], np.cumsum(np.bincount(level))])[level]
    # Ties share the distance of the first of them.
    first = filled[order][np.searchsorted(level[order], level)]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (first / unit - mean) / sd if sd > TIE else np.zeros(len(values))
        # In (0, 1), so that it never weighs as much as one value below.
        part = 0.5 + np.nan_to_num(z / (2 * (1 + np.abs(z))), nan=0.0)
    scaled = np.where(np.isnan(values), -1.0, below + part)
    return scaled, float((len(values) - below[0]) / len(values))


def _step_down(scaled: Matrix, alone: Vector) -> Vector:
    """Compare each observed value with maxima over the tests that are not more extreme."""
    order = np.argsort(-scaled[0], kind="stable")
    # Column i: the largest value of the i-th test and those after it.
    maxima = np.maximum.accumulate(scaled[:, order[::-1]], axis=1)[:, ::-1]
    p_values = (maxima >= scaled[0, order] - TIE * len(scaled)).mean(axis=0)
    result = np.empty(len(order))
    result[order] = np.maximum.accumulate(p_values)
    # A test that lost draws must not hold back those after it.
    return np.maximum(result, alone)
