"""The range of numbers whose squares and products neither overflow nor vanish."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SQUARABLE = 1e-100, 1e100
"""Range of absolute values whose sums of squared products stay within the range of floats."""


def require_squarable(rows: NDArray[np.float64], name: str = "X") -> NDArray[np.float64]:
    """Refuse rows whose largest entry is so large or so small that its square could overflow or vanish.

    Raises
    ------
    ValueError
        If the largest absolute entry is outside `SQUARABLE` and not zero.
    """
    top = max(abs(float(rows.max(initial=0.0))), abs(float(rows.min(initial=0.0))))
    if not SQUARABLE[0] <= top <= SQUARABLE[1] and top > 0:
        raise ValueError(
            f"{name} must have its largest entry between {SQUARABLE[0]:g} and {SQUARABLE[1]:g} in size, got {top:.3g}; "
            "rescale all data with the same unit"
        )
    return rows
