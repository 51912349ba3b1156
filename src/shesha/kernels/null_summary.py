"""What a score is worth beside its null: threshold, p-value, calibrated score."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check

Vector = NDArray[np.float64]

_TIE = 1e-12
"""Scores closer than this share of the largest count as equal: sums in another order differ by rounding, and a tie
must not look extreme."""


@dataclass(frozen=True)
class Summary:
    """Numbers of one calibration, in the direction of the measure."""

    threshold: float
    score: float
    p_value: float
    percentile: float
    null_mean: float
    null_sd: float
    centred: float
    z: float
    adjusted: float
    n_lost: int


def best_value(closer: str, bounds: tuple[float, float], maximum: float | None) -> float | None:
    """Return the value of perfect agreement, if there is one."""
    if maximum is not None:
        return check.finite_number(maximum, "maximum")
    best = bounds[1] if closer == "higher" else bounds[0]
    return float(best) if np.isfinite(best) else None


def summarise(observed: float, null: Vector, closer: str, alpha: float, best: float | None) -> Summary:
    """Compare a score with its null; draws without a score count as extreme, so that they never make significance."""
    sign = 1.0 if closer == "higher" else -1.0
    s, t = sign * observed, sign * null[np.isfinite(null)]
    k, lost = len(null), int(len(null) - np.isfinite(null).sum())
    largest = max(abs(s), float(np.abs(t).max(initial=0.0)))
    tie = _TIE * largest if np.isfinite(largest) else 0.0
    extreme = int((t >= s - tie).sum()) + lost
    combined = np.sort(np.concatenate([t, np.full(lost, np.inf), [s]]))
    threshold = float(combined[ceil((1 - alpha) * (k + 1) - 1e-9) - 1])
    mean, sd = (float(t.mean()), float(t.std())) if len(t) else (np.nan, np.nan)
    top = None if best is None else sign * best
    return Summary(
        threshold=sign * threshold,
        score=0.0 if s - threshold <= tie else _rescaled(s, threshold, top),
        p_value=(1 + extreme) / (k + 1),
        percentile=100 * float((t < s - tie).sum() + 0.5 * (np.abs(t - s) <= tie).sum()) / k,
        null_mean=sign * mean,
        null_sd=sd,
        centred=s - mean,
        z=(s - mean) / sd if sd > tie else float("nan"),
        adjusted=(s - mean) / (top - mean) if top is not None and top > mean else float("nan"),
        n_lost=lost,
    )


def _rescaled(score: float, threshold: float, top: float | None) -> float:
    """0 at the threshold, 1 at the top; without a top, the excess over the threshold."""
    if not np.isfinite(threshold):
        return 0.0
    excess = max(0.0, score - threshold)
    if top is None:
        return excess
    return min(1.0, excess / (top - threshold)) if top > threshold else 0.0
