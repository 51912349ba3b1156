"""Values within the bounds that a measure declares."""

from __future__ import annotations

from typing import cast

import numpy as np


def within(value: float, low: float, high: float) -> float:
    """Move what rounding put beyond a bound back to it; arrays of values stay arrays."""
    return cast(float, np.clip(value, low, high))
