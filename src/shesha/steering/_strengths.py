"""Steering strengths and their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.support.types import Vector

Units = Literal["raw", "norm"]
UNITS = ("raw", "norm")
PAPER: Sequence[float] = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
"""Strengths in the published experiments, in units of the features."""
RELATIVE: Sequence[float] = (-0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5)
"""Strengths in units of the mean row length, which are comparable between layers."""


def strengths(alphas: ArrayLike, units: Units, norm: float) -> tuple[Vector, Vector]:
    """Return the given strengths sorted, and the same strengths in units of the features."""
    check.choice(units, UNITS, "units")
    values = np.asarray(alphas)
    if values.ndim != 1 or values.dtype.kind not in "fiu" or len(values) < 2:
        raise ValueError(f"alphas must be at least two numbers, got {alphas!r}")
    values = np.sort(values.astype(np.float64))
    if not np.isfinite(values).all():
        raise ValueError(f"alphas must be finite, got {values.tolist()}")
    if len(np.unique(values)) < len(values):
        raise ValueError(f"alphas must differ, got {values.tolist()}")
    if 0.0 not in values:
        raise ValueError(f"alphas must contain 0, the reference for all effects, got {values.tolist()}")
    return values, values * (norm if units == "norm" else 1.0)
