"""Numerical precision: scaling near the data, levels of rounding, and safe bounds."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from shesha.support.device_arrays import largest
from shesha.support.types import Matrix

ROUNDING = 2.0**-45
"""Difference of two distances, relative to the squared length of the rows, below which the distances tie."""
CLOSE = 1e-4
"""Ratio to the squared lengths below which a squared distance from a Gram matrix is recomputed directly."""
_HUGE = 2.0**450
"""Size above which sums of squares might overflow."""
MAX_SPAN = 4
"""Largest span, in tolerances, of a chain of near-ties that is attributed to rounding errors."""


def length_unit(X: Any) -> float:
    """Power of two near the largest entry; division by it is exact."""
    top = largest(X)
    return float(2.0 ** np.clip(np.floor(np.log2(top)), -1000, 1000)) if top > 0 else 1.0


def clip_rounding(value: float, low: float, high: float) -> float:
    """Clip rounding errors beyond a bound; arrays stay arrays."""
    return cast(float, np.clip(value, low, high))


def huge_unit(*sides: Matrix) -> float:
    """Return a factor that scales numbers whose squares would overflow to about 1; 1 for all others."""
    top = max(float(np.abs(side).max(initial=0.0)) for side in sides)
    return math.ldexp(1.0, math.frexp(top)[1] - 1) if top > _HUGE else 1.0
