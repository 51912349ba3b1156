"""Comparison of scores with their null distributions, with corrections for multiple tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.results.number import TIE, Number
from shesha.support.seeds import default_draws, draws_needed, undecided
from shesha.support.types import Mask, Matrix, Vector

__all__ = ["CORRECTIONS", "Correction", "benjamini_hochberg", "default_draws", "draws_needed", "holm", "undecided"]


AnyNumber = TypeVar("AnyNumber", bound=Number)


def best_value(closer: str, bounds: tuple[float, float], maximum: float | None) -> float | None:
    """Return the value that means perfect agreement; None if there is none."""
    if maximum is not None:
        return check.finite_number(maximum, "maximum")
    best = bounds[1] if closer == "higher" else bounds[0]
    return float(best) if np.isfinite(best) else None


def require_attainable_maximum(maximum: float | None, observed: float, threshold: float, closer: str) -> None:
    """Raise an error if the observed value or the threshold is beyond the maximum."""
    if maximum is None:
        return
    sign = 1.0 if closer == "higher" else -1.0
    nearest = max(sign * observed, sign * threshold)
    if sign * maximum < nearest - TIE * abs(nearest):
        relation = "at least" if closer == "higher" else "at most"
        raise ValueError(
            f"maximum must be {relation} the observed value and its threshold ({observed:.6g} and {threshold:.6g}), "
            f"got {maximum:g}"
        )


def p_of_draws(n_extreme: Any, n_draws: Any) -> Any:
    """Return (1 + number of draws at least as close) / (number of draws + 1), which is never 0."""
    return (1 + n_extreme) / (n_draws + 1)


def summarise(value: float, null: Vector, closer: str, alpha: float, best: float | None) -> Number:
    """Compare a value with its null; permutations without a value count as extreme, to be conservative."""
    sign = 1.0 if closer == "higher" else -1.0
    s, t = sign * value, sign * null[~np.isnan(null)]
    k, lost = len(null), int(np.isnan(null).sum())
    largest = float(np.abs([x for x in (s, *t) if np.isfinite(x)]).max(initial=0.0))
    tie = TIE * largest
    extreme = int((t >= s - tie).sum()) + lost
    combined = np.sort(np.concatenate([t, np.full(lost, np.inf), [s]]))
    threshold = float(combined[ceil((1 - alpha) * (k + 1) - 1e-9) - 1])
    mean, sd = _moments(t, largest)
    has_best = best is not None and not np.isnan(best)
    top = sign * cast(float, best) if has_best else None
    return Number(
        value=value,
        closer=closer,
        alpha=alpha,
        best=cast(float, best) if has_best else np.nan,
        threshold=sign * threshold,
        calibrated=0.0 if s - threshold <= tie else _rescale(s, threshold, top),
        p_value=p_of_draws(extreme, k),
        # Adding zero turns -0.0 into 0.0.
        chance=sign * mean + 0.0,
        chance_sd=sd,
        n_draws=k,
        null=tuple(null.tolist()),
    )


def number_against_null(
    name: str,
    value: float,
    null: Vector,
    *,
    alpha: float,
    best: float | None = None,
    kind: type[AnyNumber] = Number,  # type: ignore[assignment]
    **fields: Any,
) -> AnyNumber:
    """Return a number with its null distribution, in which higher values are farther from chance.

    Parameters
    ----------
    name : str
    value : float
        The observed value. If it is NaN, pass the `reason`.
    null : array of shape (n_draws,)
        Draws; without any, the number is not tested.
    alpha : float
    best : float, optional
        Value for perfect agreement.
    kind : type
        `Number` or a class with more fields.
    **fields
        Further fields of `Number`, such as the interval.
    """
    known: dict[str, Any] = {"name": name, "value": float(value), "alpha": alpha, **fields}
    known |= {} if best is None else {"best": best}
    if not len(null) or np.isnan(value):
        return kind(**known)
    summary = summarise(float(value), null, "higher", alpha, best)
    return kind(**(summary.evidence() | known), null=summary.null)


def _moments(t: Vector, largest: float) -> tuple[float, float]:
    """Mean and standard deviation, computed without overflow; NaN if any value is infinite."""
    if not len(t) or not np.isfinite(t).all():
        return np.nan, np.nan
    unit = largest or 1.0
    return float((t / unit).mean()) * unit, float((t / unit).std()) * unit


def _rescale(score: float, threshold: float, top: float | None) -> float:
    """Rescale to 0 at the threshold and 1 at the maximum; without a maximum, return the excess."""
    if not np.isfinite(threshold):
        return 0.0
    excess = max(0.0, score - threshold)
    if top is None:
        return excess
    return min(1.0, excess / (top - threshold)) if top > threshold else 0.0


Correction = Literal["holm", "benjamini-hochberg"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def holm(p_values: ArrayLike) -> Vector:
    """Adjust p-values to control the familywise error rate (Holm 1979).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        P-values in [0, 1]. NaN marks a missing test and stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust(p_values, _holm_step_down)


def benjamini_hochberg(p_values: ArrayLike) -> Vector:
    """Adjust p-values to control the false discovery rate (Benjamini and Hochberg 1995).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        P-values in [0, 1]. NaN marks a missing test and stays NaN.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    from scipy.stats import false_discovery_control

    return _adjust(p_values, false_discovery_control)


def _adjust(p_values: ArrayLike, rule: Callable[[Vector], Vector]) -> Vector:
    """Apply a correction rule to those p-values that are not NaN."""
    p = check.real(p_values, "p_values")
    if p.ndim != 1:
        raise ValueError(f"p_values must be 1-D, got shape {p.shape}")
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p_values must lie in [0, 1], got values outside this range")
    out = np.full(len(p), np.nan)
    if len(known):
        out[known] = np.minimum(1.0, rule(p[known]))
    return out


_RISK = 1e-3
"""Probability that a test ends with another decision than with all of its draws."""


def draw_stages(fewest: int, most: int) -> list[int]:
    """Return numbers of draws, each about twice the one before, after which tests may end.

    Examples
    --------
    >>> draw_stages(999, 3999)
    [999, 1999, 3999]
    """
    stages = [fewest]
    while stages[-1] < most:
        stages.append(min(most, 2 * stages[-1] + 1))
    return stages


def open_tests(
    p_values: ArrayLike,
    n_draws: ArrayLike,
    most: ArrayLike,
    correct: Callable[[ArrayLike], Vector],
    alpha: float,
    n_stages: int,
) -> Mask:
    """Return which corrected tests may still be decided differently by more draws.

    The extreme values among the first draws limit their number among all draws, because the order of the draws is
    random (hypergeometric distribution). A correction never rejects less if p-values fall. A test is therefore decided
    if it has the same result with all numbers at their lower and at their upper limits (Gandy and Hahn 2014).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        From the draws so far; NaN marks a missing test.
    n_draws, most : arrays of shape (n_tests,)
        Numbers of draws so far, and of all draws.
    correct : function
        `holm` or `benjamini_hochberg`.
    alpha : float
    n_stages : int
        How often this is asked at most. The probability of a wrong decision is divided among the stages.

    Examples
    --------
    >>> open_tests([0.4, 0.001, 0.03], [999] * 3, [9999] * 3, holm, 0.05, 2).tolist()
    [False, False, True]
    """
    from scipy.stats import hypergeom

    p, n, all_draws = (np.asarray(values, dtype=np.float64) for values in (p_values, n_draws, most))
    known = ~np.isnan(p)
    extreme = np.where(known, np.rint(p * (n + 1)) - 1, 0)
    risk = _RISK / (2 * n_stages)
    # Bisection: the largest total that is not too large, and the smallest that is not too small.
    ends = [extreme, all_draws - n + extreme]
    low, high = ends
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        possible = hypergeom.cdf(extreme, all_draws, middle, n) >= risk
        low, high = np.where(possible, middle, low), np.where(possible, high, middle - 1)
    upper = low
    low, high = ends
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        possible = hypergeom.sf(extreme - 1, all_draws, middle, n) >= risk
        low, high = np.where(possible, low, middle + 1), np.where(possible, middle, high)
    limits = (np.where(known, p_of_draws(total, all_draws), np.nan) for total in (low, upper))
    rejected = [correct(limit) <= alpha * (1 + 1e-9) for limit in limits]
    return np.asarray(rejected[0] & ~rejected[1] & known)


def note_early_end(one: AnyNumber, stages: Sequence[int]) -> AnyNumber:
    """Return the number with a note on the risk of another decision, if its test ended before all draws.

    Examples
    --------
    >>> note_early_end(Number(n_draws=999), [999, 1999, 3999]).notes
    ('p from 999 of 3,999 draws; with all draws, its test is decided otherwise with a probability of at most 0.001',)
    >>> note_early_end(Number(n_draws=3999), [999, 1999, 3999]).notes
    ()
    """
    # Fewer draws than the first number are all that there are.
    if not stages[0] <= one.n_draws < stages[-1]:
        return one
    note = (
        f"p from {one.n_draws:,} of {stages[-1]:,} draws; with all draws, its test is decided otherwise with a "
        f"probability of at most {_RISK:g}"
    )
    return replace(one, notes=(*one.notes, note))


def _holm_step_down(p: Vector) -> Vector:
    """Apply Holm's step-down rule, which SciPy 1.17 does not provide."""
    order, m = np.argsort(p, kind="stable"), len(p)
    out = np.empty(m)
    out[order] = np.maximum.accumulate(p[order] * (m - np.arange(m)))
    return out


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
