"""Conversion of results to plain values for JSON and tables, and back."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


def replace_non_json(value: Any) -> Any:
    """Replace values that JSON does not allow: missing and infinite numbers become null."""
    if isinstance(value, dict):
        return {str(key): replace_non_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_json(item) for item in value]
    if hasattr(value, "tolist"):
        # NumPy arrays and scalars.
        return replace_non_json(value.tolist())
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value


def as_cell(value: Any) -> Any:
    """Return a value for a table cell; several values are joined into one text."""
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value


def restore(kind: Any, plain: Any) -> Any:
    """Convert plain values back to the value of a field with this type."""
    if isinstance(kind, UnionType):
        kinds = [arg for arg in get_args(kind) if arg is not type(None)]
        return None if plain is None else restore(kinds[0], plain)
    if is_dataclass(kind) and isinstance(kind, type):
        types = get_type_hints(kind)
        values = {field.name: plain[field.name] for field in fields(kind) if field.name in plain}
        return kind(**{name: restore(types[name], value) for name, value in values.items()})
    if get_origin(kind) is dict:
        return {name: restore(get_args(kind)[1], value) for name, value in plain.items()}
    if kind is float:
        return float("nan") if plain is None else float(plain)
    if isinstance(plain, list | tuple):
        inner = get_args(kind)[0] if get_origin(kind) is tuple else Any
        return tuple(restore(inner, value) for value in plain)
    return plain


def as_plain_data(value: Any) -> Any:
    """Convert results and their contents to plain values that share no data with the results."""
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "to_dict"):
            return value.to_dict()
        return {field.name: as_plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: as_plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(as_plain_data, value))
    return deepcopy(value)
