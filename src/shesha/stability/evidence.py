"""What an estimator found about one representation, before it becomes a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """What is asked of an estimator: checked input and settings."""

    X: NDArray[Any]
    """Checked for kind and shape; not yet read, since it may lie on disk."""
    codes: NDArray[np.intp] | None
    n_classes: int
    options: dict[str, Any]
    n_bootstrap: int
    target_se: float | None
    pairs: int | None
    seed: int | np.random.Generator | None


@dataclass(frozen=True)
class Evidence:
    """The score, its parts and its resampling distribution."""

    value: float
    draws: Vector = field(default_factory=lambda: np.empty(0))
    """Score of each partition; empty for a score without draws."""
    resampled: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of resampled rows."""
    analytic_error: float = float("nan")
    """Standard error over rows, where it is known without resampling."""
    pair_error: float = 0.0
    n_pairs: int = 0
    pairs_dropped: int = 0
    bounds: tuple[float, float] = (-1.0, 1.0)
    reason: str = ""
    notes: tuple[str, ...] = ()
