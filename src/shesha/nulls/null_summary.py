"""Comparison of a score with its null distribution: threshold, p-value, calibrated score."""

from __future__ import annotations

from math import ceil

import numpy as np

from shesha.inputs import validation as check
from shesha.results import NullSummary
from shesha.support.types import Vector

TIE = 1e-12
"""Difference, relative to the largest score, below which two scores count as equal."""


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


def summarise(observed: float, null: Vector, closer: str, alpha: float, best: float | None) -> NullSummary:
    """Compare a score with its null; permutations without a score count as extreme, to be conservative."""
    sign = 1.0 if closer == "higher" else -1.0
    s, t = sign * observed, sign * null[~np.isnan(null)]
    k, lost = len(null), int(np.isnan(null).sum())
    largest = float(np.abs([x for x in (s, *t) if np.isfinite(x)]).max(initial=0.0))
    tie = TIE * largest
    extreme = int((t >= s - tie).sum()) + lost
    combined = np.sort(np.concatenate([t, np.full(lost, np.inf), [s]]))
    threshold = float(combined[ceil((1 - alpha) * (k + 1) - 1e-9) - 1])
    mean, sd = _moments(t, largest)
    with np.errstate(invalid="ignore"):  # Equal infinite scores are ties.
        ties = (t == s) | (np.abs(t - s) <= tie)
    top = None if best is None else sign * best
    return NullSummary(
        threshold=sign * threshold,
        score=0.0 if s - threshold <= tie else _rescale(s, threshold, top),
        p_value=(1 + extreme) / (k + 1),
        percentile=100 * float((t < s - tie).sum() + 0.5 * ties.sum()) / k,
        # Adding zero turns -0.0 into 0.0.
        null_mean=sign * mean + 0.0,
        null_sd=sd,
        centred=s - mean,
        z=(s - mean) / sd if sd > tie else float("nan"),
        adjusted=(s - mean) / (top - mean) if top is not None and top > mean else float("nan"),
        n_lost=lost,
    )


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
