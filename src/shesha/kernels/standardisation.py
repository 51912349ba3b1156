"""Standardisation of columns, and a check of whether a column varies at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.support.types import Array, Mask

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
