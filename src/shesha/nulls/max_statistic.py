"""Familywise p-values for scores that share their permutations, from the maximum over scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.nulls.null_summary import TIE
from shesha.support.types import Matrix, Vector


def max_statistic_p_values(draws: Sequence[Vector], closer: Sequence[str]) -> Vector:
    """Correct p-values for the number of scores, by the step-down maximum over their common permutations.

    If all pairs are unrelated, the probability that any corrected p-value is at most alpha is itself at most alpha,
    whatever the dependence between the scores (Westfall and Young 1993, algorithm 4.1). Redundant scores cost no power.

    Each score is converted to a scale common to all tests: the number of values, among the K + 1 values of the same
    test, that lie below it. Equal numbers are ordered by the distance from the test's mean in standard deviations. This
    second criterion lets a clear score stand out among many tests, because in every test some draw has the largest
    value.

    Parameters
    ----------
    draws : sequence of arrays of shape (n_permutations + 1,)
        For each test, the observed score followed by the score in each draw. Draw k uses the same permutation of the
        rows in all tests. NaN marks a draw without a score. It counts as extreme for its test and is ignored in the
        maxima for other tests, because otherwise no score could exceed these maxima.
    closer : sequence of {'higher', 'lower'}
        For each test, whether higher or lower values are more similar.

    Returns
    -------
    array of shape (n_tests,)
        (1 + number of draws whose maximum is at least as large) / (n_permutations + 1), and at least the uncorrected
        p-value.

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
    """Return the values on a scale common to all tests, and the p-value of the first (observed) value."""
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=0.0))
    unit = largest or 1.0
    mean, sd = float((values[known] / unit).mean()), float((values[known] / unit).std())
    filled = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(filled, kind="stable")
    with np.errstate(invalid="ignore"):  # Equal infinite values are ties.
        steps = (filled[order][1:] > filled[order][:-1]) & ~(np.diff(filled[order]) <= TIE * largest)
    level = np.empty(len(values), dtype=np.intp)
    level[order] = np.concatenate([[0], np.cumsum(steps)])
    below = np.concatenate([[0], np.cumsum(np.bincount(level))])[level]
    # Tied values share the standardised distance of the first of them.
    first = filled[order][np.searchsorted(level[order], level)]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (first / unit - mean) / sd if sd > TIE else np.zeros(len(values))
        # This part lies in (0, 1), so it only orders values that have the same number of values below them.
        part = 0.5 + np.nan_to_num(z / (2 * (1 + np.abs(z))), nan=0.0)
    scaled = np.where(np.isnan(values), -1.0, below + part)
    return scaled, float((len(values) - below[0]) / len(values))


def _step_down(scaled: Matrix, alone: Vector) -> Vector:
    """Compare each observed value with the maxima over those tests that are no more extreme."""
    order = np.argsort(-scaled[0], kind="stable")
    # Column i holds the maximum over the i-th test and all later tests.
    maxima = np.maximum.accumulate(scaled[:, order[::-1]], axis=1)[:, ::-1]
    p_values = (maxima >= scaled[0, order] - TIE * len(scaled)).mean(axis=0)
    result = np.empty(len(order))
    result[order] = np.maximum.accumulate(p_values)
    # Draws without a score in one test must not raise the p-values of later tests.
    return np.maximum(result, alone)
