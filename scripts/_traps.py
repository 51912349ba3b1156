"""Simulated data with one problem each, for the scripts that write docs/pitfalls.md."""

from __future__ import annotations

import numpy as np

N, D = 200, 32
FAR = 7
"""Number of the row that is far from the others."""
ONCE = np.r_[0 : N // 2, 0 : N // 2]
"""Row numbers in which each of the first half of the rows occurs twice."""
Rng = np.random.Generator


def noise(rng: Rng, n: int = N, d: int = D) -> np.ndarray:
    """Independent noise."""
    return rng.standard_normal((n, d))


def offset(rng: Rng, X: np.ndarray) -> np.ndarray:
    """All rows share an offset."""
    return X + 8 * noise(rng, 1, X.shape[1])


def rogue(rng: Rng, X: np.ndarray, mean: float = 0) -> np.ndarray:
    """Give one coordinate 30 times the spread, or a large mean, in place."""
    X[:, 3] = mean + (1 if mean else 30) * rng.standard_normal(len(X))
    return X


def far(X: np.ndarray) -> np.ndarray:
    """Make one row 60 times as long, in place."""
    X[FAR] *= 60
    return X


def trend(rng: Rng, X: np.ndarray) -> np.ndarray:
    """The rows drift along their order."""
    return X + np.linspace(-3, 3, len(X))[:, None] * noise(rng, 1, X.shape[1])
