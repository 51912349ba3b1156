"""Columns of tables in memory, described for the decision in `table_columns`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs.table_columns import SAMPLE, Column, Kind
from shesha.support.types import Array

if TYPE_CHECKING:
    import pandas as pd

_UNNAMED = re.compile(r"Unnamed: \d+|__index_level_\d+__")
_CONTENT = {"M": "dates", "m": "durations", "c": "complex numbers"}


def pandas_columns(frame: pd.DataFrame, *, from_text: bool = False) -> list[Column]:
    """Describe the columns of a pandas table; columns of text files may have no names of their own."""
    columns = []
    for position in range(frame.shape[1]):
        series = frame.iloc[:, position]
        kind, content = _kind(series)
        refusal = _refusal(position, series) if from_text else ""
        name = _column_name(frame.columns[position])
        columns.append(Column(name, kind, content, partial(_head, series), partial(_values, series), refusal))
    return columns


def _column_name(name: Any) -> str:
    """Return the name of a column; levels of a MultiIndex are joined."""
    return "_".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)


def _refusal(position: int, column: pd.Series[Any]) -> str:
    """Return why a column of a text file is no feature, if it has no name or no values."""
    if len(column) == 0:
        return "contains no values"
    if _UNNAMED.fullmatch(str(column.name)) is None:
        return ""
    if column.isna().all():
        return "has neither a name nor values"
    if position == 0 and column.dtype.kind == "i" and column.is_unique:
        return "has no name and contains row numbers"
    return "has no name and contains row names" if position == 0 and not is_numeric(column) and column.is_unique else ""


def _head(series: pd.Series[Any]) -> list[Any]:
    values = series.head(SAMPLE)
    present = values[values.notna()] if len(values) else values
    return (present if len(present) else series.dropna().head(SAMPLE)).tolist()


def _values(series: pd.Series[Any]) -> Array:
    return np.asarray(series)


def _kind(series: pd.Series[Any]) -> tuple[Kind, str]:
    """Return the kind of a column, and what it contains in words."""
    if is_numeric(series):
        return "numbers", "numbers"
    if series.dtype.kind in _CONTENT:
        return "other", _CONTENT[series.dtype.kind]
    if type(series.dtype).__name__ == "CategoricalDtype":
        return ("text", "text") if series.cat.categories.dtype.kind not in "iufb" else ("other", "categories")
    first = next(iter(series.dropna()), None)
    return kind_of_value(first)


def kind_of_value(value: Any) -> tuple[Kind, str]:
    """Return the kind of a column from one of its values."""
    if value is None or isinstance(value, str):
        return "text", "text"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes", "bytes"
    if isinstance(value, list | tuple | Mapping) or hasattr(value, "shape"):
        return "lists", "lists"
    if isinstance(value, int | float):
        # An object column that starts with numbers but is not numeric contains text as well.
        return "text", "numbers and text"
    return "other", f"{type(value).__name__} values"


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains real numbers, possibly with missing values."""
    import pandas as pd

    kind = column.dtype.kind
    if kind == "O":
        # Booleans with missing values, decimals and columns without any value have dtype object.
        return pd.api.types.infer_dtype(column, skipna=True) in {"boolean", "decimal", "empty"}
    return kind in "fiub" and pd.api.types.is_numeric_dtype(column.dtype)


def polars_columns(frame: Any) -> list[Column]:
    """Describe the columns of a polars table."""
    return [_polars_column(frame[name]) for name in frame.columns]


_POLARS_TEXT = ("String", "Utf8", "Categorical", "Enum")


def _polars_column(series: Any) -> Column:
    dtype, head = series.dtype, partial(_polars_head, series)
    kind: Kind
    if bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null"):
        kind, content = "numbers", "numbers"
    elif type(dtype).__name__ in ("List", "Array", "Struct"):
        kind, content = "lists", "lists"
    elif type(dtype).__name__ in _POLARS_TEXT:
        kind, content = "text", "text"
    elif type(dtype).__name__ == "Binary":
        kind, content = "bytes", "bytes"
    elif type(dtype).__name__ == "Object":
        kind, content = kind_of_value(next(iter(head()), None))
    else:
        kind, content = "other", "dates" if type(dtype).__name__ in ("Date", "Datetime", "Time") else f"{dtype} values"
    return Column(series.name, kind, content, head, lambda: np.array(series.to_list(), dtype=None))


def _polars_head(series: Any) -> Sequence[Any]:
    values: list[Any] = series.head(SAMPLE).to_list()
    if all(value is None for value in values):
        values = series.drop_nulls().head(SAMPLE).to_list()
    return values
