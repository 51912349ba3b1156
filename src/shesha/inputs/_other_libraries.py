"""Convert tables and arrays of other libraries to NumPy, without importing these libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs._row_names import NamedRows, Names
from shesha.inputs.identity import named_index
from shesha.support.device_arrays import array_shape, refuse_masked
from shesha.support.types import Array

if TYPE_CHECKING:
    import pandas as pd

Parted = tuple[Any, Names | None]


def split_names(X: Any, name: str = "X") -> Parted:
    """Return an array (or sparse matrix) and its row names; unknown objects are returned unchanged.

    Raises
    ------
    TypeError
        If X cannot be read as one matrix of numbers. For a table, the message names the column at fault.
    ValueError
        If a masked array has masked entries, or a column contains lists of different lengths.
    """
    refuse_masked(X, name)
    if isinstance(X, np.ndarray):
        return X, None
    if isinstance(X, NamedRows):
        return X.values, X.known
    for base in type(X).__mro__:
        convert = _CONVERTERS.get((base.__module__.partition(".")[0], base.__name__))
        if convert is not None:
            return convert(X, name)
    return X, None


def _from_pandas_frame(frame: pd.DataFrame, name: str) -> Parted:
    names = Names.build(frame.index, named_index(frame.index.names))
    kinds = {str(column): _kind(values) for column, values in frame.items()}
    lists = [column for column, kind in kinds.items() if kind == "lists"]
    numeric = [column for column, kind in kinds.items() if kind == "numbers"]
    if len(lists) == 1 and not numeric:
        return _stack_lists(frame.iloc[:, list(kinds).index(lists[0])], f"column {lists[0]!r} of {name}"), names
    if lists:
        columns = ", ".join(map(repr, lists[:3]))
        rest = f" and numbers in {numeric[0]!r}" if numeric else ""
        raise TypeError(
            f"{name} must be one matrix, got lists in column {columns}{rest}; pass one column, {name}[{lists[0]!r}]"
        )
    for column, kind in kinds.items():
        if kind != "numbers":
            raise TypeError(
                f"{name} must contain numbers only, got {kind} in column {column!r}; drop this column, or use it as "
                "row names with set_index"
            )
    return numbers(frame), names


def _from_pandas_series(series: pd.Series[Any], name: str) -> Parted:
    values = _stack_lists(series, name) if _kind(series) == "lists" else np.asarray(series)
    return values, Names.build(series.index, named_index(series.index.names))


def _kind(column: pd.Series[Any]) -> str:
    """Describe the content of a column in one word."""
    if is_numeric(column) or column.dtype.kind == "c":
        return "numbers"
    if column.dtype.kind in "mM":
        return "dates" if column.dtype.kind == "M" else "durations"
    first = next(iter(column.dropna()), None) if column.dtype.kind == "O" else None
    return "lists" if isinstance(first, list | tuple | np.ndarray) else "text"


def _stack_lists(lists: Any, name: str) -> Array:
    """Stack lists of equal length, which become the rows of a matrix."""
    rows = [None if entry is None or array_shape(entry) == () else np.asarray(entry) for entry in lists]
    missing = next((index for index, row in enumerate(rows) if row is None), None)
    if missing is not None:
        raise ValueError(f"{name} must contain a list in every row, got none in row {missing}")
    shapes = [row.shape for row in rows if row is not None]
    odd = next((index for index, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is not None:
        raise ValueError(
            f"{name} must contain lists of one length, got shape {shapes[0]} in row 0 and {shapes[odd]} in row {odd}"
        )
    stacked = np.stack(rows) if rows else np.empty((0, 0))  # type: ignore[arg-type]
    # A column of nested lists becomes an array of arrays, which must be converted again.
    return stacked if stacked.dtype.kind != "O" else np.array(stacked.tolist())


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains real numbers, possibly with missing values."""
    import pandas as pd

    kind = column.dtype.kind
    if kind == "O":
        # Booleans with missing values, decimals and columns without any value have dtype object.
        return pd.api.types.infer_dtype(column, skipna=True) in {"boolean", "decimal", "empty"}
    return kind in "fiub" and pd.api.types.is_numeric_dtype(column.dtype)


def numbers(frame: pd.DataFrame) -> Array:
    """Return numeric columns as one matrix of their common type, with NaN for missing values."""
    dtypes = [column.dtype for _, column in frame.items()]
    if not dtypes:
        return np.empty((len(frame), 0))
    native = [dtype if isinstance(dtype, np.dtype) and dtype.kind != "O" else np.dtype(float) for dtype in dtypes]
    common = np.result_type(*native)
    if native == dtypes:
        return frame.to_numpy(dtype=common)
    return frame.to_numpy(dtype=common, na_value=np.nan)


def _from_polars(frame: Any, name: str) -> Parted:
    if type(frame).__name__ == "LazyFrame":
        raise TypeError(f"{name} must be a collected table, got a LazyFrame; pass {name}.collect()")
    if type(frame).__name__ == "Series":
        return (_stack_lists(frame.to_list(), name) if _is_nested(frame) else frame.to_numpy()), None
    nested = [column for column in frame.columns if _is_nested(frame[column])]
    numeric = [column for column in frame.columns if _is_polars_number(frame[column])]
    if len(nested) == 1 and not numeric:
        return _stack_lists(frame[nested[0]].to_list(), f"column {nested[0]!r} of {name}"), None
    if nested:
        raise TypeError(
            f"{name} must be one matrix, got several columns with lists in {nested[0]!r}; pass {name}[{nested[0]!r}]"
        )
    if len(numeric) < len(frame.columns):
        column = next(label for label in frame.columns if label not in numeric)
        kind = str(frame[column].dtype)
        raise TypeError(
            f"{name} must contain numbers only, got {'text' if kind in _POLARS_TEXT else kind} in column {column!r}; "
            f"drop it with {name}.drop({column!r}), or use it as row names with shesha.io.NamedRows"
        )
    columns = [_polars_numbers(frame[column]) for column in numeric]
    return (np.column_stack(columns) if columns else np.empty((len(frame), 0))), None


_POLARS_TEXT = ("String", "Utf8", "Categorical", "Enum")


def _is_nested(series: Any) -> bool:
    return type(series.dtype).__name__ in ("List", "Array")


def _is_polars_number(series: Any) -> bool:
    return bool(series.dtype.is_numeric()) or str(series.dtype) in ("Boolean", "Null")


def _polars_numbers(series: Any) -> Array:
    """Return a column as an array, with NaN for missing values."""
    array: Array = series.to_numpy()
    if array.dtype.kind != "O":
        return array
    return np.array([np.nan if value is None else float(value) for value in series.to_list()])


def _from_arrow_table(table: Any, name: str) -> Parted:
    frame = table.to_pandas()
    # If the table was made from a pandas table, its metadata restores the index.
    return _from_pandas_frame(frame, name) if hasattr(frame, "columns") else (_from_pandas_series(frame, name)[0], None)


def _from_arrow_array(array: Any, name: str) -> Parted:
    values = array.to_numpy(zero_copy_only=False)
    nested = values.dtype.kind == "O" and len(values) and isinstance(values[0], np.ndarray | list)
    return (_stack_lists(values, name) if nested else values), None


def _from_xarray(array: Any, name: str) -> Parted:
    if not hasattr(array, "dims") or hasattr(array, "data_vars"):
        known = ", ".join(map(str, getattr(array, "data_vars", ())))
        raise TypeError(f"{name} must be one array, got a Dataset of {known or 'no variables'}; pass one variable")
    index = array.indexes.get(array.dims[0]) if array.dims else None
    return array.values, None if index is None else Names.build(index)


def _from_pynapple(series: Any, name: str) -> Parted:
    # Time stamps are not row names: they differ between sessions, whose trials are paired by position.
    return np.asarray(series.values), None


def _from_anndata(data: Any, name: str) -> Parted:
    if data.X is None:
        known = ", ".join(map(repr, data.obsm)) or "none"
        raise TypeError(
            f"{name} must be an AnnData object with a data matrix X, got no X; pass "
            f"shesha.io.from_anndata({name}, obsm=...) with one of {known}"
        )
    return load_backed(data.X), Names.build(data.obs_names)


def load_backed(values: Any) -> Any:
    """Read an element that AnnData has left in its file."""
    if hasattr(values, "to_memory"):
        return values.to_memory()
    return values if hasattr(values, "toarray") or hasattr(values, "columns") else np.asarray(values)


_CONVERTERS: Mapping[tuple[str, str], Callable[[Any, str], Parted]] = {
    ("pandas", "DataFrame"): _from_pandas_frame,
    ("pandas", "Series"): _from_pandas_series,
    ("polars", "DataFrame"): _from_polars,
    ("polars", "LazyFrame"): _from_polars,
    ("polars", "Series"): _from_polars,
    ("pyarrow", "Table"): _from_arrow_table,
    ("pyarrow", "RecordBatch"): _from_arrow_table,
    ("pyarrow", "ChunkedArray"): lambda array, name: _from_arrow_array(array.combine_chunks(), name),
    ("pyarrow", "Array"): _from_arrow_array,
    ("xarray", "DataArray"): _from_xarray,
    ("xarray", "Dataset"): _from_xarray,
    ("anndata", "AnnData"): _from_anndata,
    ("pynapple", "Tsd"): _from_pynapple,
    ("pynapple", "TsdFrame"): _from_pynapple,
    ("pynapple", "TsdTensor"): _from_pynapple,
}
"""Converters, by the names of the library and the class."""
