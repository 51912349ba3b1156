"""Tables: text, parquet and Arrow files whose columns form matrices, as `inputs.table_columns` decides."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import NamedRows, Names, could_identify, is_certain_identity, named_index, numbers
from shesha.inputs.class_labels import NO_LABEL, class_name
from shesha.inputs.columns import SAMPLE, Column, Kind, is_number, is_unnamed, pandas_columns, record_fields
from shesha.inputs.quantised import as_bytes, decode, scale_columns
from shesha.inputs.table_columns import INDEX, Layout, decide, names_for_keys, state_layout
from shesha.inputs.unsuited_tables import require_one_set_of_names
from shesha.inputs.vector_columns import Vectors, find_vectors, insert_missing
from shesha.io.array_selection import Contents, Keys, StoredArray, check_names, choose, contents, pick, visible_names
from shesha.io.file_checks import (
    TOKENS,
    UnreadableFileError,
    file_stem,
    open_bytes,
    optional,
    reading,
    require_memory,
    require_plausible,
)
from shesha.support.layer_axis import LayerAxis
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.wording import agree, count, join_names, visible_name

if TYPE_CHECKING:
    import pandas as pd


def arrow_vectors(path: Path, name: str, found: Vectors, column: Any, first_row: int) -> Array:
    """Return the vectors in an Arrow array; missing ones become rows of NaN."""
    with reading(path):
        kind = column.type
    if _is_list(kind):
        return stack_lists(path, name, column, first_row)
    assert found.parse is not None
    with reading(path):
        values = column.to_pylist()
    return found.parse(values, f"column {name!r} of {path}", first_row)


def stack_lists(path: Path, name: str, column: Any, first_row: int = 0) -> Array:
    """Return lists of equal length, nested to any depth, as an array; a missing or empty list is a row of NaN."""
    compute = optional("pyarrow.compute", path)
    shape, values = [len(column)], column
    present = np.ones(len(column), dtype=bool)
    while _is_list(values.type):
        lengths = compute.fill_null(compute.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        if values is column:
            present = lengths > 0
            lengths = lengths[present]
            if not present.all():
                values = values.filter(optional("pyarrow", path).array(present))
        known = np.unique(lengths)
        if len(known) > 1:
            where = ""
            if len(shape) == 1:
                row = int(np.flatnonzero(present)[np.flatnonzero(lengths != lengths[0])[0]]) + first_row
                where = f" (row {row} has {lengths[lengths != lengths[0]][0]})"
            nested = len(shape) == 1 and _is_list(values.type.value_type)
            raise UnreadableFileError(
                f"{name} in {path} must contain lists of one length, got lengths from {known[0]} to {known[-1]}{where}"
                f"{TOKENS if nested else ''}"
            )
        shape.append(int(known[0]) if len(known) else 0)
        values = values.flatten()
    values = values.cast("float64") if optional("pyarrow.types", path).is_decimal(values.type) else values
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    return insert_missing(numbers.reshape(int(present.sum()), *shape[1:]), present)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def _open_bytes(path: Path) -> IO[bytes]:
    """Open a text table below the comments at its top."""
    n_comments = _n_comments(path)
    stream = open_bytes(path)
    for _ in range(n_comments):
        stream.readline()
    return stream


def _open_text(path: Path) -> IO[str]:
    return io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline="")


def _n_comments(path: Path) -> int:
    """Return how many lines at the top are comments; the last one may be the line of column names."""
    with open_bytes(path) as stream:
        # Excel may begin a file with its separator.
        lines = list(takewhile(lambda line: line.startswith((b"#", b"sep=")), islice(stream, _MOST_COMMENTS)))
    if not lines:
        return 0
    with open_bytes(path) as stream:
        first = next(islice(stream, len(lines), None), b"")
    is_header = lines[-1][:1] == b"#" and any(
        0 < first.count(mark) == lines[-1].count(mark) for mark in (b",", b"\t", b";")
    )
    return len(lines) - is_header


class _Fields(io.RawIOBase):
    """The bytes of a text table, which end in an error if it has too many fields for the memory."""

    def __init__(self, path: Path, stream: IO[bytes], separator: str) -> None:
        self._path, self._stream, self._separator, self._n_fields = path, stream, separator.encode(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._n_fields += data.count(self._separator) + data.count(b"\n")
        # The parser of pandas needs two numbers for each field.
        require_memory(self._path, "the table", (2, self._n_fields), np.dtype(float), "save it as .parquet")
        return len(data)


RAGGED = "{} must have {} fields in every line, as in the first, got {} in line {}"
_UNNAMED_COLUMN = "{} must have a name for every column, got {} names and {} fields in line {}"
_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def csv_frame(path: Path, separator: str, *, named: bool = True, **options: Any) -> pd.DataFrame:
    """Read a table in which every line has as many fields as the first, which holds names if `named`."""
    import pandas as pd

    layout: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "index_col": False}
    if named:
        _require_names(path, layout)
    with _open_bytes(path) as source, _explain_parser_error(path, RAGGED):
        stream = io.BufferedReader(_Fields(path, source, separator), 1 << 20)
        # If pandas read the file in parts, the type of a column could change from one part to the next.
        layout |= {"header": "infer" if named else None, "low_memory": False, **options}
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            # Exact numbers are the default of later versions, in which the option causes a warning.
            layout["float_precision"] = "round_trip"
        frame: pd.DataFrame = pd.read_csv(stream, **layout)
    return frame


def _require_names(path: Path, layout: dict[str, Any]) -> None:
    """Refuse a first row with more fields than column names.

    By default, pandas uses the first field of such rows as row names, so all columns are shifted. This cannot be
    detected afterwards, because row names that are consecutive numbers look like the default index. With
    `index_col=False`, pandas drops the last field instead, without a warning if it is empty.
    """
    import pandas as pd

    with _open_bytes(path) as stream, _explain_parser_error(path, _UNNAMED_COLUMN):
        pd.read_csv(stream, header=None, nrows=2, dtype=str, **layout)


@contextmanager
def _explain_parser_error(path: Path, message: str) -> Iterator[None]:
    """Replace a parser error with one that states the line and the expected and actual number of fields."""
    try:
        yield
    except ValueError as error:
        match = _TOO_MANY.search(str(error))
        if match is None:
            raise
        expected, line, saw = match.groups()
        is_triangle = int(saw) - int(expected) == int(line) - 1
        advice = (
            "; write a triangle of distances as a square matrix, with empty fields in the other triangle" * is_triangle
        )
        raise UnreadableFileError(f"{message.format(path, expected, saw, line)}{advice}") from error


_WITH_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?|[-+]?\d{1,3}(,\d{3})+")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_DECIMAL_COMMA = re.compile(r"(?:^|;)-?\d+,\d")
_FEATURE_NUMBER = re.compile(r"\d+$")
_WIDTH = 8
"""Number of bytes that a number takes in memory."""
_MOST_COLUMNS = 100_000
_MOST_COMMENTS = 1000
_LARGEST_NUMBER = 2**31
"""Limit of the start and the step of a default index."""
_LOOKED_AT = 20
"""Number of lines from which the separator and the decimal sign are inferred."""
_ROWS = 4096
"""Number of rows that are decoded at a time."""
_FEWEST_VALUES = 4
"""Smallest number of fractions after a text that are a vector instead of names of columns."""


@dataclass(frozen=True)
class Table:
    """The columns of a table, and functions that read them."""

    columns: tuple[Column, ...]
    read: Callable[[Sequence[str]], pd.DataFrame]
    """Function that reads columns of numbers or labels."""
    vectors: Callable[[str, Vectors], Array]
    """Function that reads a column of vectors as an array with one row per vector."""
    index: tuple[str, ...] = ()
    """Columns that form the index of the table."""
    numbers: tuple[int, int] | None = None
    """First number and step of a default index of pandas, which is not stored as a column."""
    notes: dict[str, str] = field(default_factory=dict)
    """How the file differs from others of its type."""
    as_text: Callable[[], pd.DataFrame] | None = None
    """Function that reads all columns as text, for files without types."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    @property
    def named_columns(self) -> list[str]:
        """The columns that have a name of their own, not a default."""
        return [name for name in self.names if not is_unnamed(name)]

    def with_field(self, name: str) -> Table:
        """Return the table with a field of a column of records as a column, such as metadata.source."""
        outer = [column for column in self.columns if name.startswith(f"{column.name}.")]
        fields = {one.name: one for column in outer for one in record_fields(column)}
        if name in self.names or name not in fields:
            return self

        def read(names: Sequence[str]) -> pd.DataFrame:
            import pandas as pd

            return pd.DataFrame({name: fields[name].values().tolist()}) if name in names else self.read(names)

        return replace(self, columns=(*self.columns, fields[name]), read=read)


def contents_of_table(
    path: Path,
    table: Table,
    keys: Keys,
    labels: str | Sequence[str] | None,
    layer_axis: LayerAxis = "guess",
    rows: Names | None = None,
) -> Contents:
    """Read each column of vectors, or else the columns of numbers as one matrix that is named after the file.

    `rows` are names of the rows that the format stores outside the columns.
    """
    aside = [labels] if isinstance(labels, str) else list(labels or ())
    keys = None if keys is None else check_names(keys)
    with _of_file():
        layout = decide(table.columns, str(path), keys, aside)
    skipped = {**layout.left_out, **table.notes}
    _check_keys(path, table, layout, skipped, keys)
    arrays = {name: _vectors(path, table, name, found) for name, (_, found) in layout.vectors.items()}
    arrays |= {name: _matrix(table, family) for name, family in layout.families.items()}
    row_names = _row_names(table, layout) if rows is None else rows
    if row_names is not None:
        row_names.columns = layout.other_columns(table.columns)
    layout = _as_rows(layout if rows is None else replace(layout, identity=None, certain=False), row_names)
    if layout.matrix:
        arrays[file_stem(path)] = _matrix(table, layout.matrix)
    found = contents(path, arrays, None, layer_axis)
    if row_names is None and table.numbers is not None and arrays:
        start, step, n_rows = *table.numbers, len(next(iter(found.representations.values())))
        row_names = Names(lambda: start + step * np.arange(n_rows))
    for name, array in arrays.items():
        used = scale_columns(table.columns, name) if name in layout.vectors else ()
        rest = {column: why for column, why in layout.left_out.items() if column not in used}
        state_layout(path.name, replace(layout, left_out=rest), array.shape, name)
    taken = [column.name for column in layout.matrix]
    available = tuple(name for name in table.named_columns if name not in taken)
    columns = Names.build(np.array(taken, dtype=object)) if taken else None
    return replace(
        found,
        skipped=skipped,
        labels_available=available,
        row_names=row_names,
        column_names=columns,
    )


def _as_rows(layout: Layout, rows: Names | None) -> Layout:
    """Return the columns in the order of the rows if both have the same names, as in tables of distances."""
    if rows is None or len(rows) != len(layout.matrix):
        return layout
    columns = {class_name(column.name): column for column in layout.matrix}
    names = [str(name) for name in rows.values.tolist()]
    if set(names) != set(columns):
        return layout
    # The header confirms that the texts of a first column are names.
    rows.doubtful = False
    return replace(layout, matrix=tuple(columns[name] for name in names))


@contextmanager
def _of_file() -> Iterator[None]:
    """Report columns that cannot be read as faults of the file."""
    try:
        yield
    except UnreadableFileError:
        raise
    except ValueError as error:
        raise UnreadableFileError(str(error)) from error


def _check_keys(path: Path, table: Table, layout: Layout, skipped: dict[str, str], keys: Keys) -> None:
    """Refuse unknown keys, and a table without features."""
    if keys is None:
        choose(path, {name: [name] for name in (*(c.name for c in layout.matrix), *layout.vectors)}, skipped, None)
        return
    if layout.vectors and layout.matrix:
        others = join_names(column.name for column in layout.matrix)
        raise ValueError(f"keys must name columns of vectors, or of numbers, in {path}, not both, got {others}")
    numeric = {column.name for column in table.columns if column.kind == "numbers"}
    offered = {
        name: [name]
        for name in names_for_keys(table.columns)
        if name not in skipped or name in keys or name not in numeric
    }
    patterns = {key for key in keys if isinstance(key, str) and set(key) & set("*?[") and layout.matrix}
    choose(path, offered | {name: [name] for name in (*layout.families, *patterns)}, skipped, keys)


def _matrix(table: Table, columns: Sequence[Column]) -> StoredArray:
    values = numbers(table.read([column.name for column in columns]))
    return StoredArray(values.shape, values.dtype, lambda: values)


def _vectors(path: Path, table: Table, name: str, found: Vectors) -> StoredArray:
    with _of_file():
        array = table.vectors(name, found)
    if scales := scale_columns(table.columns, name):
        array = decode(as_bytes(array, name, scaled=True), name, scales)
    return StoredArray(array.shape, array.dtype, lambda: array)


def _row_names(table: Table, layout: Layout) -> Names | None:
    """Return the names of the rows: a column that is named like an identifier, or the index, or a column of text."""
    identity = layout.identity
    if table.index and not (identity is not None and layout.certain):
        return Names(partial(_index_values, table, table.index), column=named_index(table.index))
    if identity is None or not layout.certain:
        # Repeated identifiers identify no row, but tell whether two files have their rows in the same order.
        named = next((column.name for column in table.columns if _is_named_identity(column)), None)
        if named is not None:
            return Names(partial(_index_values, table, (named,)), column=named)
    if identity is None:
        return None
    return Names(
        identity.values, column="" if is_unnamed(identity.name) else identity.name, doubtful=not layout.certain
    )


def _is_named_identity(column: Column) -> bool:
    """Return whether a column is named like an identifier, and contains single values rather than lists."""
    return (
        is_certain_identity(column.name)
        and column.kind in ("numbers", "text")
        and find_vectors(column.head()) is None
        and could_identify(column.values())
    )


def _index_values(table: Table, columns: Sequence[str]) -> Array:
    frame = table.read(columns)
    if len(columns) == 1:
        return np.asarray(frame[columns[0]])
    return np.array([" | ".join(map(str, row)) for row in frame.itertuples(index=False)], dtype=object)


def labels_of_table(path: Path, table: Table, column: str | None) -> Array | NamedRows:
    """Read one column of a table as labels, with row names if the table has them."""
    table = table.with_field(column or "")
    name = pick(path, table.named_columns if column is None else table.names, column)
    labels = as_labels(table.read([name])[name])
    _state_words_for_missing(table, name, labels)
    with _of_file():
        layout = decide(table.columns, str(path), (), [name])
    names = _row_names(table, layout)
    return labels if names is None else NamedRows(labels, names)


def _state_words_for_missing(table: Table, name: str, labels: Array) -> None:
    """State which words of a text table are read as missing labels, such as NA for Namibia."""
    if table.as_text is None or labels.dtype.kind != "O":
        return
    missing = np.array([label is None for label in labels])
    if missing.any():
        words = Counter(table.as_text()[name][missing].str.strip())
        for word, n_rows in words.most_common():
            if word not in NO_LABEL:
                state(
                    f"{name}: {count(n_rows, 'row')} labelled {word!r} {agree(n_rows, 'is', 'are')} read as "
                    "unlabelled; write another word if it is a class"
                )


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
        if decimal == "." and _has_decimal_commas(path, separator):
            decimal, note = ",", {**note, "(decimal separator)": "is a comma"}
        _require_few_columns(path, separator)
        named = has_names(path, separator)
        header = _names_below_row_names(path, separator) if named else []
        if header:
            note["(first column)"] = "has no name, as R writes the names of rows"
            options: dict[str, Any] = {"header": 0, "names": ["Unnamed: 0", *header]}
        else:
            options = {}
        frame = csv_frame(path, separator, named=named and not header, decimal=decimal, **options)
    _require_full_lines(path, separator, frame)
    if named:
        with _of_file():
            require_one_set_of_names(_first_line(path, separator), str(path))
    # numpy.savetxt writes the column names as a comment.
    first, *others = frame.columns.map(str)
    if not named and others and frame.iloc[:, 0].map(_is_text).all():
        first = "Unnamed: 0"
    frame.columns = type(frame.columns)([first.lstrip("#").lstrip() or first, *others])
    frame.columns = (
        list(visible_names(path, dict.fromkeys(frame.columns))) if frame.columns.is_unique else frame.columns
    )
    _require_one_header(path, frame)
    if not named:
        note["(column names)"] = "are missing, because the first line contains numbers and was read as a row"
    texts: dict[str, Any] = {"named": named and not header, "dtype": str, "keep_default_na": False, **options}

    def as_text() -> pd.DataFrame:
        return csv_frame(path, separator, **texts).set_axis(frame.columns, axis=1)

    return replace(frame_table(path, frame, from_text=True), notes=note, as_text=as_text)


def _names_below_row_names(path: Path, separator: str) -> list[str]:
    """Return the column names of a table whose lines begin with a row name that has none, as R writes it.

    Every line then has one field more than the first: a distinct text, or a number in quotes, and numbers.
    """
    with _open_text(path) as stream:
        lines = list(islice((line for line in stream if line.strip()), _LOOKED_AT))
    try:
        header, *rows = csv.reader(lines, delimiter=separator)
    except (csv.Error, ValueError):
        return []
    texts = [line.startswith('"') or not is_number(row[0]) for line, row in zip(lines[1:], rows, strict=False) if row]
    if len(rows) < 2 or not all(texts) or any(len(row) != len(header) + 1 for row in rows):
        return []
    distinct = len({row[0] for row in rows}) == len(rows) and len(set(header)) == len(header)
    numeric = all(field in ("NA", "NaN", "") or is_number(field) for row in rows for field in row[1:])
    return header if distinct and numeric and all(row[-1] for row in rows) else []


_MOST_HEADERS = 5


def _require_one_header(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a second line of column names, as pandas writes for a MultiIndex, which would be read as a row."""
    texts = [all(map(_is_text, frame.iloc[row, 1:])) for row in range(min(len(frame), _MOST_HEADERS))]
    n_headers = texts.index(False) if False in texts else 0
    if 0 < n_headers < len(frame) and all(map(is_number, map(str, frame.iloc[n_headers, 1:]))) and frame.shape[1] > 2:
        raise UnreadableFileError(
            f"{path} must have one line of column names, got {1 + n_headers}, as pandas writes for columns of several "
            f"levels; read it with pandas.read_csv(..., header={list(range(1 + n_headers))}, index_col=0), and write "
            "it with plain column names"
        )
    names = [name.partition(".")[0] for name in frame.columns]
    if len(frame) and len(names) > 2 and len(set(names)) * 2 <= len(names):
        first = frame.iloc[0].tolist()
        if first == list(range(len(first))) or first == list(map(str, range(len(first)))):
            raise UnreadableFileError(
                f"{path} must have one line of column names, got {names[0]} for several columns and a second line that "
                "numbers them; write the table with plain column names"
            )


def frame_table(path: Path, frame: pd.DataFrame, *, from_text: bool = False) -> Table:
    """Describe the columns of a table that was read into memory; their names must be distinct texts."""
    columns = pandas_columns(frame, from_text=from_text)

    def vectors(name: str, found: Vectors) -> Array:
        assert found.parse is not None
        return found.parse(frame[name].tolist(), f"column {name!r} of {path}", 0)

    return Table(tuple(columns), lambda names: frame[list(names)], vectors)


def _require_few_columns(path: Path, separator: str) -> None:
    """Refuse tables with so many columns that reading would take minutes."""
    with _open_text(path) as stream:
        n_columns = stream.readline().count(separator) + 1
    if n_columns > _MOST_COLUMNS:
        raise UnreadableFileError(
            f"{path} must have at most {_MOST_COLUMNS:,} columns as a text file, got {n_columns:,}; save the table as "
            ".npy or .npz"
        )


def _as_written(path: Path, separator: str) -> tuple[str, str, dict[str, str]]:
    """Return the actual separator and decimal sign, with a note if they are not those of the file type."""
    with _open_text(path) as stream:
        lines = [line for line in islice(stream, _LOOKED_AT) if line.strip()]
    if not lines or separator in lines[0]:
        return separator, ".", {}
    for other, name in (("\t", "a tab"), (";", "a semicolon"), (",", "a comma")):
        counts = {line.count(other) for line in lines[1:]}
        # R gives the names of rows no name of their own.
        if other in lines[0] and (counts <= {lines[0].count(other)} or counts == {lines[0].count(other) + 1}):
            commas = other == ";" and any(map(_DECIMAL_COMMA.search, lines))
            return (
                other,
                "," if commas else ".",
                {"(separator)": f"is {name}{' and the decimal separator is a comma' * commas}"},
            )
    return separator, ".", {}


def _has_decimal_commas(path: Path, separator: str) -> bool:
    """Return whether all fractions in the first lines have a decimal comma; refuse what may mean something else."""
    with _open_text(path) as stream:
        try:
            rows = list(islice(csv.reader(stream, delimiter=separator), _LOOKED_AT))
        except csv.Error:
            # Only long fields are refused here, which are texts or vectors; numbers beside them have points.
            return False
    names, *lines = rows or [[]]
    family = [_FEATURE_NUMBER.sub("", name) for name in names if _FEATURE_NUMBER.search(name)]
    main = Counter(family).most_common(1)
    # Beside numbered columns, columns of other names are no features.
    beside = {place for place, name in enumerate(names) if main and _FEATURE_NUMBER.sub("", name) != main[0][0]}
    beside = beside if main and main[0][1] > len(names) // 2 else set()
    columns = [
        [field.strip() for field in column if field.strip()]
        for place, column in enumerate(zip(*lines, strict=False))
        if place not in beside
    ]
    commas = [column for column in columns if any(map(_WITH_COMMA.fullmatch, column))]
    commas = [column for column in commas if all(_WITH_COMMA.fullmatch(field) or is_number(field) for field in column)]
    if not commas:
        return False
    fields = [field for column in commas for field in column]
    points = any("." in field for column in columns if all(map(is_number, column)) for field in column)
    if points or any("." in field for field in fields) or all(_THOUSANDS.fullmatch(f) or "," not in f for f in fields):
        example = next(field for field in fields if "," in field)
        raise UnreadableFileError(
            f"{path} must have numbers with a decimal point, got {example!r}, which may be a decimal comma or separate "
            "thousands; write it with decimal points"
        )
    return True


def _require_full_lines(path: Path, separator: str, frame: pd.DataFrame) -> None:
    """Refuse lines with too few fields, which pandas would fill with missing values."""
    if frame.shape[1] < 2 or not frame.iloc[:, -1].isna().any():
        return
    with reading(path), _open_text(path) as stream:
        rows = csv.reader(stream, delimiter=separator)
        short = next(((rows.line_num, len(row)) for row in rows if 0 < len(row) < frame.shape[1]), None)
    if short is not None:
        raise UnreadableFileError(RAGGED.format(path, frame.shape[1], short[1], short[0]))


def has_names(path: Path, separator: str) -> bool:
    """Return whether the first line has column names; numbers count as names only if they count up."""
    first = _first_line(path, separator)
    if any(field[:1] in ("[", "{") and find_vectors([field]) is not None for field in first):
        return False
    if not all(map(is_number, first)):
        if len(first) > 1:
            # A first row of numbers of which some are missing, as in a triangle of distances.
            if first[0] and all(not field or is_number(field) for field in first):
                return False
            # A name and a vector of fractions; wavelengths and times that name columns increase.
            numbers = [float(field) for field in first[1:] if is_number(field) and not field.isdigit()]
            return len(numbers) < max(_FEWEST_VALUES, len(first) - 1) or numbers == sorted(numbers)
        # The first line of a table of one column, such as a list of labels, may occur again.
        with _open_text(path) as stream:
            return sum([line.strip().strip('"')] == first for line in stream) < 2
    # Tables that were joined side by side count more than once.
    starts = [place for place, name in enumerate(first) if name == first[0]]
    runs = [first[start:end] for start, end in zip(starts, [*starts[1:], len(first)], strict=True)]
    counts = [[str(number) for number in range(start, start + len(first))] for start in (0, 1)]
    return any(all(run == count[: len(run)] for run in runs) for count in counts)


def _first_line(path: Path, separator: str) -> list[str]:
    """Return the fields of the first line that is not empty."""
    with _open_text(path) as stream:
        return next((row for row in csv.reader(stream, delimiter=separator) if row), [])


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not is_number(value)


def parquet_table(path: Path) -> Table:
    """Describe a parquet file from its schema and some of its first rows; only requested columns are decoded."""
    parquet = optional("pyarrow.parquet", path)
    with reading(path), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    return arrow_table(
        path, schema, partial(_parquet_columns, path), partial(_first_values, path), partial(_parquet_batches, path)
    )


def arrow_table(
    path: Path,
    schema: Any,
    read: Callable[[Sequence[str]], pd.DataFrame],
    head: Callable[[str], Sequence[Any]],
    batches: Callable[[str], Iterator[Any]],
) -> Table:
    """Describe the columns of an Arrow schema."""
    # Names that are not valid UTF-8 raise errors only when they are decoded.
    with reading(path):
        names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):
        raise UnreadableFileError(f"{path} must have distinct column names, got {len(names)} with repeats")
    with reading(path):
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        default = stored[0] if len(stored) == 1 and isinstance(stored[0], dict) else {}
        counts = (int(default.get("start", 0)), int(default.get("step", 1))) if default else None
    counts = None if counts is None or max(map(abs, counts)) >= _LARGEST_NUMBER else counts
    index = tuple(visible_name(name) for name in stored if isinstance(name, str) and name in names)
    originals = visible_names(path, {name: name for name in names})

    def read_visible(chosen: Sequence[str]) -> pd.DataFrame:
        frame = read([originals[name] for name in chosen])
        return frame.set_axis(list(chosen), axis=1)

    columns = tuple(
        Column(
            visible_name(entry.name),
            _kind(getattr(entry.type, "storage_type", entry.type)),
            f"{entry.type} values",
            partial(head, entry.name),
            values=partial(lambda name: np.asarray(read([name])[name]), entry.name),
            refusal=INDEX if visible_name(entry.name) in index else "",
        )
        for entry in schema
    )
    vectors = partial(_arrow_vectors, path, lambda name: batches(originals[name]))
    return Table(columns, read_visible, vectors, index, counts)


def _arrow_vectors(path: Path, batches: Callable[[str], Iterator[Any]], name: str, found: Vectors) -> Array:
    """Read a column of vectors in pieces of rows."""
    blocks, row = [], 0
    for batch in batches(name):
        blocks.append(arrow_vectors(path, name, found, batch, row))
        row += len(batch)
    return stack_blocks(blocks)


def stack_blocks(blocks: Sequence[Array]) -> Array:
    """Concatenate blocks of vectors; a block without any vector has no width of its own."""
    widest = max((block.shape[1:] for block in blocks if block.size), default=(0,))
    filled = [block if block.size else np.full((len(block), *widest), np.nan) for block in blocks]
    return np.concatenate(filled) if filled else np.empty((0, 0))


def _kind(kind: Any) -> Kind:
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind):
        kind = kind.value_type
    tables: list[tuple[Kind, tuple[Callable[[Any], bool], ...]]] = [
        ("numbers", (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)),
        ("text", (kinds.is_string, kinds.is_large_string, kinds.is_string_view)),
        ("bytes", (kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary, kinds.is_binary_view)),
        ("lists", (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list, kinds.is_struct, kinds.is_list_view)),
    ]
    return next((name for name, tests in tables if any(test(kind) for test in tests)), "other")


def _first_values(path: Path, name: str) -> list[Any]:
    """Return some of the first values of a column, with None for missing ones."""
    parquet = optional("pyarrow.parquet", path)
    values: list[Any] = []
    with reading(path), parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=SAMPLE, columns=[name], use_threads=False):
            require_memory(path, name, (batch.nbytes,), np.dtype("u1"), "write fewer rows")
            values += _storage(batch.column(0)).to_pylist()
            if any(value is not None for value in values):
                break
    return values


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


def _parquet_batches(path: Path, name: str) -> Iterator[Any]:
    """Yield a column in pieces of rows, because the lengths of lists are unknown until they are read."""
    parquet, n_bytes = optional("pyarrow.parquet", path), 0
    with parquet.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=_ROWS, columns=[name])
        while True:
            with reading(path):
                batch = next(batches, None)
            if batch is None:
                return
            n_bytes += batch.nbytes
            require_memory(path, name, (n_bytes,), np.dtype("u1"), "write fewer rows")
            require_plausible(path, name, n_bytes, path.stat().st_size)
            yield _storage(batch.column(0))


def _storage(column: Any) -> Any:
    array = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return getattr(array, "storage", array)
