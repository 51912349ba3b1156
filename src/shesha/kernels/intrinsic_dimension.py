"""Intrinsic dimension from the ratios of the distances to the neighbours of rank r and 2 r."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Vector

_STEPS = 100
_PRECISION = 1e-13


def dimension_of_ratios(log_ratios: Vector, rank: int) -> float:
    """Maximum likelihood dimension from the logs of the distance ratios (neighbours of rank 2 r and r).

    The log-likelihood of Denti et al. 2022 (Gride) is concave in the dimension d, so Newton steps from the left find
    the only root of its derivative. For r = 1, the root is n / sum(log ratios), the estimate from two nearest
    neighbours. The result is infinite if all ratios are 1, and NaN if there are no ratios.
    """
    total, n = float(log_ratios.sum()), len(log_ratios)
    if total <= 0:
        return float("inf") if n else float("nan")
    # The derivative is convex and falls from infinity to -rank * total. This starting point is not above its root.
    d = n / ((2 * rank - 1) * total)
    for _ in range(_STEPS):
        slope, curvature = _derivatives(d, log_ratios, rank)
        step = slope / curvature
        d -= step
        if abs(step) <= _PRECISION * d:
            break
    return d


def _derivatives(d: float, log_ratios: Vector, rank: int) -> tuple[float, float]:
    """First and second derivative of the log-likelihood with respect to d."""
    x = d * log_ratios
    safe = np.where(x > 1e-8, x, 1.0)
    lost = -np.expm1(-safe)
    # log_ratio / (1 - exp(-x)) and log_ratio^2 exp(-x) / (1 - exp(-x))^2, with their limits at 0.
    pull = np.where(x > 1e-8, log_ratios / lost, 1.0 / d)
    bend = np.where(x > 1e-8, log_ratios**2 * np.exp(-safe) / lost**2, 1.0 / d**2)
    n = len(log_ratios)
    slope = n / d + (rank - 1) * float(pull.sum()) - (2 * rank - 1) * float(log_ratios.sum())
    return slope, -n / d**2 - (rank - 1) * float(bend.sum())
