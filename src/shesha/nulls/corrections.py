"""Corrections of p-values for multiple tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.support.draws_for_corrections import default_draws, draws_needed, undecided
from shesha.support.types import Vector

__all__ = ["CORRECTIONS", "Correction", "benjamini_hochberg", "default_draws", "draws_needed", "holm", "undecided"]

Correction = Literal["holm", "benjamini-hochberg"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def holm(p_values: ArrayLike) -> Vector:
    """Adjust p-values to control the familywise error rate (Holm 1979).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        P-values in [0, 1]. NaN marks a missing test and stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust(p_values, _step_down)


def benjamini_hochberg(p_values: ArrayLike) -> Vector:
    """Adjust p-values to control the false discovery rate (Benjamini and Hochberg 1995).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        P-values in [0, 1]. NaN marks a missing test and stays NaN.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    from scipy.stats import false_discovery_control

    return _adjust(p_values, false_discovery_control)


def _adjust(p_values: ArrayLike, rule: Callable[[Vector], Vector]) -> Vector:
    """Apply a correction rule to those p-values that are not NaN."""
    p = check.real(p_values, "p_values")
    if p.ndim != 1:
        raise ValueError(f"p_values must be 1-D, got shape {p.shape}")
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p_values must lie in [0, 1], got values outside this range")
    out = np.full(len(p), np.nan)
    if len(known):
        out[known] = np.minimum(1.0, rule(p[known]))
    return out


def _step_down(p: Vector) -> Vector:
    """Apply Holm's step-down rule, which SciPy 1.17 does not provide."""
    order, m = np.argsort(p, kind="stable"), len(p)
    out = np.empty(m)
    out[order] = np.maximum.accumulate(p[order] * (m - np.arange(m)))
    return out
