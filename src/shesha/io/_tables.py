"""Tables of numbers, in which the numeric columns of a .csv, .tsv or .parquet file form one matrix."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import NamedRows, Names, distinct_values, identity_names, is_numeric, numbers
from shesha.io._array_selection import Contents, Keys, choose
from shesha.io._labels import label_like_names, pick
from shesha.io.compressed_files import open_text
from shesha.io.csv_frames import RAGGED, csv_frame
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory, require_plausible
from shesha.io.file_endings import file_stem
from shesha.support.item_lists import join_names
from shesha.support.types import Array

if TYPE_CHECKING:
    import pandas as pd

_UNNAMED = re.compile(r"Unnamed: \d+|__index_level_\d+__")


_DECIMAL_COMMA = re.compile(r"(?:^|;)-?\d+,\d")
_WIDTH = 8
"""Number of bytes that a number takes in memory."""
_MOST_COLUMNS = 100_000
_LOOKED_AT = 20
"""Number of lines from which the separator and the decimal sign are inferred."""
_NUMBERS_ROWS = "has no name and contains row numbers"
_NAMES_ROWS = "has no name and contains row names"
_TEXT = "contains text, not numbers"
_NAMING = (
    _NUMBERS_ROWS,
    _NAMES_ROWS,
    _TEXT,
    "contains string values, not numbers",
    "contains large_string values, not numbers",
)
"""Reasons for skipping a first column that may nevertheless contain row names."""


@dataclass(frozen=True)
class Table:
    """The columns of a table, why some are skipped, and a function that reads columns."""

    names: tuple[str, ...]
    skipped: dict[str, str]
    read: Callable[[Sequence[str]], pd.DataFrame]
    index: tuple[str, ...] = ()
    """Columns that form the index of the table."""

    @property
    def named_columns(self) -> list[str]:
        """The columns that have a name of their own, not a default."""
        return [name for name in self.names if not is_unnamed(name)]


def matrix_of_table(path: Path, table: Table, keys: Keys, labels_column: str | Sequence[str] | None = None) -> Contents:
    """Read the numeric columns, or those named by keys, as one matrix named after the file."""
    skipped = dict(table.skipped)
    for column in [labels_column] if isinstance(labels_column, str) else labels_column or ():
        if column in table.names and (keys is None or column not in keys):
            skipped.setdefault(column, "contains the labels")
    labels = label_like_names(name for name in table.names if name not in skipped)
    identity = identity_column(table, [] if labels_column is None else labels_column)
    if keys is None:
        # A column of class codes among the features would reveal the labels.
        skipped |= dict.fromkeys(labels, "is named like a label column; name it in keys= to use it as a feature")
        if identity is not None and identity not in labels:
            skipped.setdefault(identity, "identifies the rows")
    features = {name: [name] for name in table.names if name not in skipped}
    chosen = choose(path, features, skipped, keys)
    available = tuple(name for name in table.named_columns if name in table.skipped or name in labels)
    names = row_names(table, [] if labels_column is None else labels_column)
    return Contents({file_stem(path): numbers(table.read(chosen))}, skipped, available, row_names=names)


def identity_column(table: Table, labels: str | Sequence[str]) -> str | None:
    """Return the first column that is named like an identifier of rows and whose values are distinct."""
    if table.index:
        return None
    candidates = (name for name in identity_names(table.names) if name != labels and name not in labels)
    return next((name for name in candidates if distinct_values(_index_values(table, (name,)))), None)


def row_names(table: Table, labels: str | Sequence[str]) -> Names | None:
    """Return the row names: the table's index, a column named like an identifier, or a first column of text."""
    if table.index:
        return Names(partial(_index_values, table, table.index))
    if (identity := identity_column(table, labels)) is not None:
        return Names(partial(_index_values, table, (identity,)))
    first = table.names[0] if table.names else ""
    if table.skipped.get(first) not in _NAMING or first in labels or label_like_names([first]):
        return None
    return Names(partial(_index_values, table, (first,)), doubtful=True)


def _index_values(table: Table, columns: Sequence[str]) -> Array:
    frame = table.read(columns)
    if len(columns) == 1:
        return np.asarray(frame[columns[0]])
    return np.array([" | ".join(map(str, row)) for row in frame.itertuples(index=False)], dtype=object)


def labels_of_table(path: Path, table: Table, column: str | None) -> Array | NamedRows:
    """Read one column of a table as labels, with row names if the table has them."""
    name = pick(path, table.named_columns if column is None else table.names, column)
    labels, names = as_labels(table.read([name])[name]), row_names(table, name)
    return labels if names is None else NamedRows(labels, names)


def as_labels(column: pd.Series[Any]) -> Array:
    """Return the values of a column as an array, with None for missing values."""
    values: Array = np.array(column)
    if values.dtype.kind == "O":
        # pandas has several markers for missing values, one of which, pandas.NA, cannot even be compared with itself.
        values[column.isna().to_numpy()] = None
    return values


def csv_table(path: Path, separator: str) -> Table:
    """Read a text table, with or without a line of column names."""
    with reading(path):
        separator, decimal, note = _as_written(path, separator)
        _require_few_columns(path, separator)
        named = has_names(path, separator)
        frame = csv_frame(path, separator, named=named, decimal=decimal)
    _require_full_lines(path, separator, frame)
    frame.columns = frame.columns.map(str)
    skipped = {
        str(name): reason
        for position, (name, column) in enumerate(frame.items())
        if (reason := _why_not(position, column)) is not None
    }
    if not named:
        note["(column names)"] = "are missing, because the first line contains numbers and was read as a row"
    return Table(tuple(frame.columns), skipped | note, lambda names: frame[list(names)])


def _require_few_columns(path: Path, separator: str) -> None:
    """Refuse tables with so many columns that reading would take minutes."""
    with open_text(path) as stream:
        n_columns = stream.readline().count(separator) + 1
    if n_columns > _MOST_COLUMNS:
        raise UnreadableFileError(
            f"{path} must have at most {_MOST_COLUMNS:,} columns as a text file, got {n_columns:,}; save the table as "
            ".npy or .npz"
        )


def _as_written(path: Path, separator: str) -> tuple[str, str, dict[str, str]]:
    """Return the actual separator and decimal sign, with a note if they are not those of the file type."""
    with open_text(path) as stream:
        lines = [line for line in islice(stream, _LOOKED_AT) if line.strip()]
    if not lines or separator in lines[0]:
        return separator, ".", {}
    for other, name in (("\t", "a tab"), (";", "a semicolon"), (",", "a comma")):
        if other in lines[0] and all(line.count(other) == lines[0].count(other) for line in lines):
            commas = other == ";" and any(map(_DECIMAL_COMMA.search, lines))
            return (
                other,
                "," if commas else ".",
                {"(separator)": f"is {name}{' and the decimal separator is a comma' * commas}"},
            )
    return separator, ".", {}


def _require_full_lines(path: Path, separator: str, frame: pd.DataFrame) -> None:
    """Refuse lines with too few fields, which pandas would fill with missing values."""
    if frame.shape[1] < 2 or not frame.iloc[:, -1].isna().any():
        return
    with reading(path), open_text(path) as stream:
        rows = csv.reader(stream, delimiter=separator)
        short = next(((rows.line_num, len(row)) for row in rows if 0 < len(row) < frame.shape[1]), None)
    if short is not None:
        raise UnreadableFileError(RAGGED.format(path, frame.shape[1], short[1], short[0]))


def has_names(path: Path, separator: str) -> bool:
    """Return whether the first line has column names; numbers count as names only if they count up."""
    with open_text(path) as stream:
        first = next((row for row in csv.reader(stream, delimiter=separator) if row), [])
    if not all(map(_is_number, first)):
        return True
    return first in ([str(i) for i in range(start, start + len(first))] for start in (0, 1))


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _why_not(position: int, column: pd.Series[Any]) -> str | None:
    """Return why a column is not a feature, or None if it is one."""
    unnamed = is_unnamed(str(column.name))
    if len(column) == 0:
        return "contains no values"
    if unnamed and column.isna().all():
        return "has neither a name nor values"
    if unnamed and position == 0 and column.dtype.kind == "i" and column.is_unique:
        return _NUMBERS_ROWS
    if is_numeric(column):
        return None
    return _NAMES_ROWS if unnamed and position == 0 and column.is_unique else _TEXT


def parquet_table(path: Path) -> Table:
    """Describe a parquet file from its schema; only requested columns are decoded."""
    parquet = optional("pyarrow.parquet", path)
    with reading(path), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    return arrow_table(path, schema, lambda names: _parquet_columns(path, names))


def arrow_table(path: Path, schema: Any, read: Callable[[Sequence[str]], pd.DataFrame]) -> Table:
    """Describe the columns of an Arrow schema."""
    # Names that are not valid UTF-8 raise errors only when they are decoded.
    with reading(path):
        return Table(tuple(schema.names), _skipped_columns(path, schema), read, tuple(_index_columns(path, schema)))


def _index_columns(path: Path, schema: Any) -> list[str]:
    with reading(path):
        return [name for name in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]


def _skipped_columns(path: Path, schema: Any) -> dict[str, str]:
    if len(set(schema.names)) < len(schema.names):
        raise UnreadableFileError(f"{path} must have distinct column names, got {len(schema.names)} with repeats")
    skipped = {
        field.name: f"contains {field.type} values, not numbers" for field in schema if not _holds_numbers(field)
    }
    index = (name for name in _index_columns(path, schema) if name in schema.names)
    return skipped | dict.fromkeys(index, "is the index of the table")


def numeric_columns(path: Path, schema: Any) -> list[str]:
    """Return the feature columns of an Arrow or parquet file: numeric, and not named like labels."""
    skipped = _skipped_columns(path, schema)
    names = [name for name in schema.names if name not in skipped]
    labels = label_like_names(names)
    return [name for name in names if name not in labels]


def _holds_numbers(field: Any) -> bool:
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(test(field.type) for test in tests)


def _parquet_columns(path: Path, names: Sequence[str]) -> pd.DataFrame:
    parquet = optional("pyarrow.parquet", path)
    with reading(path), parquet.ParquetFile(path) as file:
        _require_room(path, int(file.metadata.num_rows), names)
        columns = file.read(columns=list(names)).select(list(names))
        frame: pd.DataFrame = columns.to_pandas(ignore_metadata=True)
    return frame


def _require_room(path: Path, rows: int, names: Sequence[str]) -> None:
    """Check that columns fit the memory budget before they are decoded.

    Repeated values are stored as counts, so a few bytes can represent any number of values. The column sizes in the
    metadata are not used, because reading damaged ones would crash the process.
    """
    need = _WIDTH * rows * len(names)
    require_memory(path, join_names(names), (rows, len(names)), np.dtype(float), "write fewer columns or rows")
    require_plausible(path, join_names(names), need, path.stat().st_size)


def is_unnamed(name: str) -> bool:
    """Return whether a name is a default that pandas gives to columns without a name."""
    return _UNNAMED.fullmatch(name) is not None
