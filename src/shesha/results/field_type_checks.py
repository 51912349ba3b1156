"""Checks that values from files have the types of a result's fields."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value fits a type; integers, floats and booleans are interchangeable, as in Python.

    Examples
    --------
    >>> fits((1.0, 2), tuple[float, ...]), fits("a", float | None), fits({"a": 1}, dict[str, float])
    (True, False, True)
    """
    if kind is Any:
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return value in inner
    # Since NumPy 2.5, NDArray is a type alias; before, it was the class np.ndarray.
    if origin in (np.ndarray, NDArray):
        return isinstance(value, np.ndarray)
    if origin in _INSIDE:
        return isinstance(value, origin) and _INSIDE[origin](value, inner)
    if kind in (float, int, bool):
        return isinstance(value, float | int)
    return isinstance(value, origin or kind)


def _tuple(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _dict(value: dict[Any, Any], inner: tuple[Any, ...]) -> bool:
    return all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())


_INSIDE: dict[Any, Any] = {tuple: _tuple, dict: _dict}
