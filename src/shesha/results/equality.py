"""Equality of results, field by field, with NaN equal to NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np


def values_equal(first: Any, second: Any) -> bool:
    """Return whether two field values are equal, where NaN equals NaN, unlike in `==` on tuples."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return _arrays_equal(first, second)
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return type(first) is type(second) and len(first) == len(second) and all(map(values_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(values_equal(value, second[key]) for key, value in first.items())
    return bool(first == second or (first != first and second != second))


def _arrays_equal(value: Any, other: Any) -> bool:
    if not (isinstance(value, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    return value.dtype == other.dtype and np.array_equal(value, other, equal_nan=value.dtype.kind in "fc")


def fields_equal(value: Any, other: Any) -> bool:
    """Return whether two results of the same class have equal fields."""
    return all(values_equal(getattr(value, name), getattr(other, name)) for name in list_compared_fields(value))


def list_compared_fields(result: Any) -> Iterator[str]:
    """Yield the names of the fields that are compared."""
    return (field.name for field in fields(result) if field.compare)


def hash_key(value: Any) -> Any:
    """Return a hashable value, equal for equal values, so that results can be dictionary keys."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(hash_key, value))
    if isinstance(value, dict):
        return frozenset((key, hash_key(item)) for key, item in value.items())
    return "nan" if value != value else value
