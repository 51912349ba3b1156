"""Types of arrays and arguments that many signatures share, and checks of argument types."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, KeysView, Mapping, Sequence, ValuesView
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Array of any shape and data type."""
Matrix = NDArray[np.float64]
"""Matrix with inputs as rows and features as columns, or another table of numbers."""
Vector = NDArray[np.float64]
"""One number per row, feature, pair or draw."""
Index = NDArray[np.intp]
"""Indices of rows, features or pairs."""
Labels = NDArray[np.intp]
"""The class of each row, numbered from 0."""
Mask = NDArray[np.bool_]
"""Mask of rows, features or pairs."""
Keys = NDArray[np.uint64]
"""Floats converted to unsigned integers that sort in the same order."""
Seed = int | np.random.Generator | None
"""A number makes draws reproducible, a generator continues its stream, and None gives new draws every time."""


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def instance(value: T, kind: type | tuple[type, ...], name: str, expected: str) -> T:
    """Return the value if it has the right type; otherwise, raise a TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, got {type(value).__name__}")
    return value


def is_word(value: Any, known: Collection[Any]) -> bool:
    """Return whether a value is one of the known words, booleans or None; arrays cannot be compared with them."""
    return isinstance(value, str | bool | None) and value in known


def text(value: str, name: str) -> str:
    """Return the value if it is text."""
    return instance(value, str, name, "text")


def function(value: F, name: str) -> F:
    """Return the value if it is callable."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {type(value).__name__}")
    return value


def path(value: str | os.PathLike[str], name: str) -> Path:
    """Return the value as a file path, or raise an error if it cannot be one."""
    location = Path(instance(value, (str, os.PathLike), name, "the path of a file"))
    if str(value) == "" or "\0" in str(value):
        raise ValueError(f"{name} must be the path of a file, got {value!r}")
    return location


def is_path(value: Any) -> bool:
    """Whether a value is a path or the text of one."""
    return isinstance(value, str | os.PathLike)


def frame(value: T, name: str) -> T:
    """Return the value if it is a pandas table, recognised by its attributes without importing pandas."""
    if not (hasattr(value, "columns") and hasattr(value, "iloc")):
        raise TypeError(f"{name} must be a DataFrame, got {type(value).__name__}")
    return value


def mapping(value: T, name: str) -> T:
    """Return the value if it is a mapping."""
    return instance(value, Mapping, name, "a mapping with names as keys")


def sequence(value: T, name: str, of: str = "names") -> T:
    """Return the value if it is an ordered collection with a length (list, tuple, array), but not text."""
    if not is_sequence(value):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(value).__name__}")
    return value


def is_sequence(value: Any) -> bool:
    """Return whether a value is an ordered collection with a length, but not text."""
    if isinstance(value, str | bytes) or hasattr(value, "toarray"):
        return False
    return isinstance(value, Sequence | KeysView | ValuesView) or shape_of(value) != ()


def several(values: Iterable[T], kind: type[T], name: str, of: str) -> list[T]:
    """Return the values as a list, after checking that all of them have one type."""
    if isinstance(values, str | bytes | Mapping) or not has_entries(values):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(values).__name__}")
    items = list(values)
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"{name} must be a sequence of {of}, which includes a {type(item).__name__}")
    return items


def is_array(value: Any) -> bool:
    """Return whether a value has a shape; modules of array libraries have a function of this name."""
    return isinstance(getattr(value, "shape", None), Iterable)


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array; empty for anything else."""
    return tuple(value.shape) if is_array(value) else ()


def iterable(value: T, name: str, of: str = "names") -> T:
    """Return the value if it is iterable and ordered, unlike a set; text is accepted."""
    if not has_entries(value) or isinstance(value, set | frozenset):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(value).__name__}")
    return value


def has_entries(values: Any) -> bool:
    """Return whether a value is iterable, which zero-dimensional arrays and sparse matrices are not."""
    return isinstance(values, Iterable) and getattr(values, "shape", None) != () and not hasattr(values, "toarray")


def brief(value: Any) -> str:
    """Return a wrong argument as an error shows it: arrays and other large objects by their type.

    Examples
    --------
    >>> brief("CKA"), brief(np.zeros(3))
    ("'CKA'", 'ndarray')
    """
    return repr(value) if isinstance(value, str | int | float | None) else type(value).__name__


def label(value: T, name: str) -> T:
    """Return the value if it is hashable and can thus be the name of a column or a group."""
    try:
        hash(value)
    except TypeError as error:
        raise TypeError(f"{name} must be one value, got {type(value).__name__}") from error
    return value


def names(values: Iterable[str], name: str) -> list[str]:
    """Return the names as a list; a single text raises an error."""
    return several(values, str, name, "names")
