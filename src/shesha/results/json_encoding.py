"""Conversion of results' values to JSON, with marks for types that JSON lacks."""

from __future__ import annotations

import base64
import math
from dataclasses import fields
from functools import singledispatch
from typing import Any

import numpy as np

FORMAT = 1
"""Format number in files; files with another number are rejected."""
ARRAYS = "biufU"
"""Kinds of array dtypes that a file may contain."""


@singledispatch
def encode(value: Any, where: str) -> Any:
    """Convert a value to JSON; tuples become lists, because results contain hardly any lists otherwise."""
    if isinstance(value, np.ndarray):
        return {"$array": _array(value, where)}
    if isinstance(value, np.generic):
        return encode(value.item(), where)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [encode(item, where) for item in value]
    if isinstance(value, list):
        return {"$list": [encode(item, where) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): encode(item, where) for key, item in value.items()}
        return {"$dict": [[encode(key, where), encode(item, where)] for key, item in value.items()]}
    raise TypeError(f"{where} must be numbers, texts, arrays or results to be saved, got {type(value).__name__}")


def _array(value: np.ndarray[Any, Any], where: str) -> list[Any]:
    if value.dtype.kind not in ARRAYS:
        raise TypeError(f"{where} must be an array of numbers or texts to be saved, got dtype {value.dtype}")
    content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return [value.dtype.str, list(value.shape), content]


def encode_fields(result: Any, where: str) -> dict[str, Any]:
    """Return the fields of a result together with the name of its class."""
    names = [field.name for field in fields(result) if field.name != "inputs" or result.inputs]
    values = {name: encode(getattr(result, name), f"{where}.{name}") for name in names}
    return {"$result": kind_name(type(result)), "fields": values}


def kind_name(result: type) -> str:
    """Return the name of a class in files, with its package unless that is `shesha.results`.

    Raises
    ------
    TypeError
        If the class does not belong to this library.
    """
    package, room, *_ = [*result.__module__.split("."), ""]
    if package != "shesha":
        raise TypeError(f"result must be of a class of this library, got {result.__module__}.{result.__name__}")
    return result.__name__ if room == "results" else f"{room}.{result.__name__}"
