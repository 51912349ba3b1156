"""Checks that values from files have the types of a result's fields."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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


Kind = TypeVar("Kind")


def require_types(result: Kind) -> Kind:
    """Return a dataclass, or raise TypeError if a value in it has another type than its field.

    Examples
    --------
    >>> from shesha.results import Estimate
    >>> require_types(Estimate.from_dict({"name": 3}))
    Traceback (most recent call last):
    ...
    TypeError: name must be str, got 3
    """
    types = get_type_hints(type(result))
    for field in fields(result):  # type: ignore[arg-type]
        value = getattr(result, field.name)
        if not fits(value, types[field.name]):
            raise TypeError(f"{field.name} must be {field.type}, got {value!r:.60}")
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
            if is_dataclass(inner):
                require_types(inner)
    return result


def _tuple(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _dict(value: dict[Any, Any], inner: tuple[Any, ...]) -> bool:
    return all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())


_INSIDE: dict[Any, Any] = {tuple: _tuple, dict: _dict}
