"""Check the types of arguments: text, path, function, table, mapping, sequence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence, ValuesView
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def instance(value: T, kind: type | tuple[type, ...], name: str, expected: str) -> T:
    """Return the value if it is of a kind, or say what it must be."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, got {type(value).__name__}")
    return value


def text(value: str, name: str) -> str:
    """Return a word."""
    return instance(value, str, name, "text")


def function(value: F, name: str) -> F:
    """Return what can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {type(value).__name__}")
    return value


def path(value: str | os.PathLike[str], name: str) -> Path:
    """Return where a file lies."""
    found = Path(instance(value, (str, os.PathLike), name, "the path of a file"))
    if str(value) == "" or "\0" in str(value):
        raise ValueError(f"{name} must be the path of a file, got {value!r}")
    return found


def frame(value: T, name: str) -> T:
    """Return a table of pandas, told by what it has: pandas is not imported for it."""
    if not (hasattr(value, "columns") and hasattr(value, "iloc")):
        raise TypeError(f"{name} must be a DataFrame, got {type(value).__name__}")
    return value


def mapping(value: T, name: str) -> T:
    """Return what has names for its values."""
    return instance(value, Mapping, name, "a mapping with names as keys")


def sequence(value: T, name: str, of: str = "names") -> T:
    """Return what has an order and a length: a list, a tuple, an array, the keys of a mapping, but no text."""
    if not is_sequence(value):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(value).__name__}")
    return value


def is_sequence(value: Any) -> bool:
    """Whether a value has an order and a length, and is no text."""
    if isinstance(value, str | bytes) or hasattr(value, "toarray"):
        return False
    return isinstance(value, Sequence | KeysView | ValuesView) or _has_axes(value)


def several(values: Iterable[T], kind: type[T], name: str, of: str) -> list[T]:
    """Return a list of values of one kind."""
    if isinstance(values, str | bytes | Mapping) or not has_entries(values):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(values).__name__}")
    found = list(values)
    for one in found:
        if not isinstance(one, kind):
            raise TypeError(f"{name} must be a sequence of {of}, got {type(one).__name__} among them")
    return found


def _has_axes(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and shape != ()


def iterable(value: T, name: str, of: str = "names") -> T:
    """Return what one can go through, text letter by letter."""
    if not has_entries(value):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(value).__name__}")
    return value


def has_entries(values: Any) -> bool:
    """Whether one can go through values: arrays without an axis and sparse matrices look as if one could."""
    return isinstance(values, Iterable) and getattr(values, "shape", None) != () and not hasattr(values, "toarray")


def label(value: T, name: str) -> T:
    """Return what can be a key: the name of a column or of a group."""
    try:
        hash(value)
    except TypeError as error:
        raise TypeError(f"{name} must be one value, got {type(value).__name__}: {value!r}") from error
    return value


def names(values: Iterable[str], name: str) -> list[str]:
    """Return a list of names, of which one alone is none."""
    return several(values, str, name, "names")
