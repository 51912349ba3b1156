"""The columns of a table: their names, kinds and values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["numbers", "text", "bytes", "lists", "other"]
SAMPLE = 20
"""Number of values of a column that are looked at."""
_UNNAMED = re.compile(r"(Unnamed: \d+|__index_level_\d+__)(\.\d+)?")
"""Names of columns without a name of their own; a table that is saved twice has two."""
_KINDS = {"M": "dates", "m": "durations", "c": "complex numbers", "V": "raw bytes"}


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, kind, and functions that return some or all of its values."""

    name: str
    kind: Kind
    content: str
    """What the column contains, such as 'text' or 'list<item: float> values'."""
    head: Callable[[], Sequence[Any]] = field(compare=False)
    """Return some of the first values, with None for missing ones."""
    values: Callable[[], Any] = field(compare=False)
    """Return all values as an array."""
    refusal: str = ""
    """Why the column is no feature, if this does not depend on other columns."""

    @property
    def reason(self) -> str:
        """Why the column is no feature by its type."""
        return self.refusal or ("" if self.kind == "numbers" else f"contains {self.content}, not numbers")


def record_fields(column: Column) -> list[Column]:
    """Return the fields of a column of records, such as metadata.source, as columns; none for other columns.

    Records are dictionaries, structs of Arrow, or JSON text.

    Examples
    --------
    >>> records = ['{"source": "a.pdf", "page": 1}', '{"source": "b.pdf"}', None]
    >>> source, page = record_fields(Column("meta", "text", "text", lambda: records, lambda: np.array(records)))
    >>> source.name, source.values().tolist(), page.values().tolist()
    ('meta.source', ['a.pdf', 'b.pdf', None], [1, None, None])
    """
    if column.kind not in ("text", "lists") or not (
        known := [record for value in column.head() if (record := _record(value))]
    ):
        return []

    def values(key: str, n: int | None = None) -> Any:
        entries = [(_record(value) or {}).get(key) for value in column.values()[:n]]
        return np.array([entry if isinstance(entry, str | int | float) else None for entry in entries], dtype=object)

    fields = {str(key): value for record in reversed(known) for key, value in record.items()}
    return [
        Column(f"{column.name}.{key}", *kind_of_value(value), partial(values, key, SAMPLE), partial(values, key))
        for key, value in fields.items()
    ]


def _record(value: Any) -> Mapping[Any, Any] | None:
    """Return a record; None for any other value."""
    if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}":
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return value if isinstance(value, Mapping) else None


def is_unnamed(name: str) -> bool:
    """Return whether a name is a default that pandas gives to columns without a name."""
    return _UNNAMED.fullmatch(name) is not None


def pandas_columns(frame: pd.DataFrame, *, from_text: bool = False) -> list[Column]:
    """Describe the columns of a pandas table; columns of text files may have no names of their own."""
    columns = []
    for position in range(frame.shape[1]):
        series = frame.iloc[:, position]
        kind, content = _kind(series)
        refusal = _refusal(position, series) if from_text else ""
        name: Any = frame.columns[position]
        # Levels of a MultiIndex are joined.
        name = "_".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)
        columns.append(
            Column(name, kind, content, partial(_head, series), values=partial(np.asarray, series), refusal=refusal)
        )
    return columns


def _refusal(position: int, column: pd.Series[Any]) -> str:
    """Return why a column of a text file is no feature, if it has no name or no values."""
    if len(column) == 0:
        return "contains no values"
    if column.isna().all():
        return "has neither a name nor values" if is_unnamed(str(column.name)) else "is empty"
    if not is_unnamed(str(column.name)):
        return ""
    return "has no name and contains row names" if position == 0 and not is_numeric(column) and column.is_unique else ""


def _head(series: pd.Series[Any]) -> list[Any]:
    values = series.head(SAMPLE)
    present = values[values.notna()] if len(values) else values
    return (present if len(present) else series.dropna().head(SAMPLE)).tolist()


def _kind(series: pd.Series[Any]) -> tuple[Kind, str]:
    """Return the kind of a column, and what it contains in words."""
    if is_numeric(series):
        return "numbers", "numbers"
    if series.dtype.kind in _KINDS:
        return "other", _KINDS[series.dtype.kind]
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
    first = value[0] if isinstance(value, list | tuple) and value else None
    if isinstance(first, Mapping):
        return (
            "lists",
            f"lists of records of {', '.join(map(str, list(first)[:4]))}, which are no single vector per row",
        )
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


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or text that is one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
