"""Numerical precision: scaling, rounding levels and safe bounds."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from shesha.support.device_arrays import largest
from shesha.support.types import Matrix

ROUNDING = 2.0**-45
"""Difference between two distances, relative to the squared length of the rows, below which the distances tie."""
CLOSE = 1e-4
"""If a squared distance from a Gram matrix is below this share of the squared lengths, it is recomputed directly."""
_HUGE = 2.0**450
"""Size above which the sum of squares might overflow."""
MAX_SPAN = 4
"""Largest range of a chain of near-ties, in units of the tolerance, that can be due to rounding errors."""


def length_unit(X: Any) -> float:
    """Power of two near the largest absolute entry; division by it is exact."""
    top = largest(X)
    return float(2.0 ** np.clip(np.floor(np.log2(top)), -1000, 1000)) if top > 0 else 1.0


def clip_rounding(value: float, low: float, high: float) -> float:
    """Clip a number or array to the bounds, which only rounding errors can exceed."""
    return cast(float, np.clip(value, low, high))


def huge_unit(*sides: Matrix) -> float:
    """Return a divisor that brings numbers whose squares would overflow to about 1; 1 for other numbers."""
    top = max(float(np.abs(side).max(initial=0.0)) for side in sides)
    return math.ldexp(1.0, math.frexp(top)[1] - 1) if top > _HUGE else 1.0
