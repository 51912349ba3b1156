"""Corrections of p-values for many tests."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha._types import Vector

Correction = Literal["holm", "benjamini-hochberg"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def holm(p_values: ArrayLike) -> Vector:
    """Adjust p-values so that the chance of any false positive stays below the level (Holm 1979).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        NaN is no test, and stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda sorted_p, m: np.maximum.accumulate(sorted_p * (m - np.arange(m))))


def benjamini_hochberg(p_values: ArrayLike) -> Vector:
    """Adjust p-values so that the expected share of false positives among the positives stays below the level.

    Benjamini and Hochberg 1995.

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        NaN is no test, and stays NaN.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(
        p_values, lambda sorted_p, m: np.minimum.accumulate((sorted_p * m / np.arange(1, m + 1))[::-1])[::-1]
    )


def _adjusted(p_values: ArrayLike, rule: object) -> Vector:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p_values must be 1-D, got shape {p.shape}")
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p_values must lie in [0, 1], got others")
    out = np.full(len(p), np.nan)
    order = known[np.argsort(p[known], kind="stable")]
    out[order] = np.minimum(1.0, rule(p[order], len(order)))  # type: ignore[operator]
    return out
