"""When results are equal: in kind and in every field, where NaN is as good as NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np


def values_equal(one: Any, other: Any) -> bool:
    """Whether two values of a field are equal; NaN equals NaN, which `==` of tuples only says of the same object."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _arrays_equal(one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(values_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(values_equal(value, other[key]) for key, value in one.items())
    return bool(one == other or (one != one and other != other))


def _arrays_equal(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def fields_equal(one: Any, other: Any) -> bool:
    """Whether two results of one class have equal fields."""
    return all(values_equal(getattr(one, name), getattr(other, name)) for name in compared_fields(one))


def compared_fields(result: Any) -> Iterator[str]:
    """Names of the fields that tell results apart."""
    return (one.name for one in fields(result) if one.compare)


def hash_key(value: Any) -> Any:
    """Return something to hash: the same for equal values, so that equal results are one key of a dictionary."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(hash_key, value))
    if isinstance(value, dict):
        return frozenset((key, hash_key(item)) for key, item in value.items())
    return "nan" if value != value else value
