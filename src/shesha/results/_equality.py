"""When results are equal: in kind and in every field, where NaN is as good as NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Whether two values of a field are equal; NaN equals NaN, which `==` of tuples only says of the same object."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _same_arrays(one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other or (one != one and other != other))


def _same_arrays(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def same_fields(one: Any, other: Any) -> bool:
    """Whether two results of one class have equal fields."""
    return all(same(getattr(one, name), getattr(other, name)) for name in compared(one))


def compared(result: Any) -> Iterator[str]:
    """Names of the fields that tell results apart."""
    return (one.name for one in fields(result) if one.compare)


def hashable(value: Any) -> Any:
    """Return something to hash: the same for equal values, so that equal results are one key of a dictionary."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return frozenset((key, hashable(item)) for key, item in value.items())
    return "nan" if value != value else value
