"""Numerical precision: scaling, standardisation, rounding levels and safe bounds."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shesha.support.device_arrays import largest
from shesha.support.types import Array, Mask, Matrix

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


def safe_unit(*sides: Matrix) -> float:
    """Return a power of two that brings numbers whose squares would overflow or vanish to about 1; 1 for others."""
    top = max(largest(side) for side in sides if side.size)
    return length_unit(np.array([top])) if top > _HUGE or 0 < top < 1 / _HUGE else 1.0


_EPS = float(np.finfo(np.float64).eps)


def is_constant(values: Any, axis: int = 0, *, n_terms: int = 1) -> Mask:
    """Return whether the numbers along an axis differ only by rounding errors.

    The standard deviation cannot show this: for a repeated 0.3 it is about 1e-17, and dividing by it would turn
    rounding errors into values near +-1. The range, in contrast, is exactly zero.

    Parameters
    ----------
    values : array
        Numbers of any magnitude.
    axis : int
        Axis along which the numbers are compared.
    n_terms : int
        Number of terms if each value is a sum or mean; rounding errors grow with it.

    Returns
    -------
    array of bool
        One result per line along the axis, in the shape of `values` without that axis.
    """
    low, high = np.min(values, axis=axis), np.max(values, axis=axis)
    # The values are halved so that the range of the largest numbers stays finite.
    magnitude = np.maximum(np.abs(low), np.abs(high)) / 2
    return np.asarray(high / 2 - low / 2 <= 4 * _EPS * n_terms * magnitude)


def z_scores(columns: Array) -> Array:
    """Centre columns and divide them by their standard deviation; columns that do not vary become 0."""
    return np.asarray(centred_units(columns) * np.sqrt(len(columns)))


def centred_units(values: Array, axis: int = 0, *, constant: float = 0.0, n_terms: int = 1) -> Array:
    """Centre along an axis and divide by the length; lines that do not vary are filled with `constant`."""
    if not np.size(values):
        return np.asarray(values, dtype=np.float64)
    fixed = np.expand_dims(is_constant(values, axis, n_terms=n_terms), axis)
    # Division by the largest entry keeps squares within range, so that small numbers do not underflow.
    scaled = values / _or_one(np.abs(values).max(axis=axis, keepdims=True))
    centred = scaled - scaled.mean(axis=axis, keepdims=True)
    centred = centred / _or_one(np.abs(centred).max(axis=axis, keepdims=True))
    lengths = np.sqrt((centred**2).sum(axis=axis, keepdims=True))
    return np.asarray(np.where(fixed, constant, centred / _or_one(lengths)))


def _or_one(sizes: Array) -> Array:
    return np.where(sizes > 0, sizes, 1.0)
