"""Combination of many probes' values into one score with interval and null."""

from __future__ import annotations

import warnings

import numpy as np

from shesha.nulls import summarise
from shesha.results import SteeringScore
from shesha.steering._labelled_rows import NO_SHUFFLES
from shesha.support.types import Matrix, Vector

SATURATED = 0.95
"""If max drop exceeds this share of the largest possible drop, all rows are predicted as one class."""
_BEST = {"higher": 1.0, "lower": 0.0}


def mean(values: Matrix, axis: int = -1) -> Vector:
    """Mean of the values that are not NaN; NaN if there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def interval(values: Vector) -> tuple[float, float]:
    """95 % interval for the mean over probes, for new rows from the same population.

    Halves of the same rows overlap, so the variance of the mean over K halves does not fall as 1 / K. The correction by
    Nadeau and Bengio adds the ratio of steered to training rows, which is 1, to 1 / K.
    """
    sample = values[np.isfinite(values)]
    if len(sample) < 2:
        return np.nan, np.nan
    from scipy.special import stdtrit

    margin = stdtrit(len(sample) - 1, 0.975) * np.sqrt((1 / len(sample) + 1) * sample.var(ddof=1))
    return float(sample.mean() - margin), float(sample.mean() + margin)


def score_with_null(name: str, values: Matrix, closer: str, level: float) -> SteeringScore:
    """Compare a score with its null, given values per labelling (the true one first) and probe."""
    means = mean(values)
    low, high = np.clip(interval(values[0]), 0.0, 1.0)
    if np.isnan(means[0]):
        return SteeringScore(name=name, value=np.nan, closer=closer, reason=_NOTHING[name])
    if len(means) == 1:
        return SteeringScore(
            name=name, value=float(means[0]), ci_low=float(low), ci_high=float(high), closer=closer, reason=NO_SHUFFLES
        )
    worth = summarise(float(means[0]), means[1:], closer, level, _BEST[closer])
    return SteeringScore(
        name=name,
        value=float(means[0]),
        ci_low=float(low),
        ci_high=float(high),
        closer=closer,
        null_mean=worth.null_mean,
        null_sd=worth.null_sd,
        threshold=worth.threshold,
        score=worth.score,
        p_value=worth.p_value,
    )


_NOTHING = {
    "flips to target": "no strength is above 0, or all rows are predicted as the target without steering",
    "flips to source": "no strength is below 0, or all rows are predicted as the source without steering",
}
