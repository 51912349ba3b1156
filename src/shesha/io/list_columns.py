"""Columns of lists, as Hugging Face stores embeddings, in parquet files and `save_to_disk` folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import NamedRows
from shesha.io._array_selection import Contents, Keys, StoredArray, contents
from shesha.io._tables import (
    Table,
    arrow_table,
    labels_of_table,
    matrix_of_table,
    parquet_table,
    row_names,
)
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory, require_plausible
from shesha.support.item_lists import join_names
from shesha.support.layer_axis import LayerAxis
from shesha.support.plurals import count
from shesha.support.types import Array

_ROWS = 4096
"""Number of rows that are unpacked at a time."""
_STATE, _SPLITS = "state.json", "dataset_dict.json"
_LEFT_OUT = "is a column of numbers in a file with columns of lists; name it in keys= to use it"


@dataclass(frozen=True)
class Columns:
    """The columns of an Arrow or parquet file, of which some contain lists of numbers."""

    table: Table
    lists: tuple[str, ...]
    read: Callable[[str], Any]
    """Function that reads a column of lists."""


def open_parquet(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read a parquet file: each column of lists is a representation, or else all numeric columns form one."""
    return open_columns(path, parquet_columns(path), keys, labels, layer_axis)


def open_dataset(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read representations from a `datasets.save_to_disk` folder, or from a single Arrow file."""
    return open_columns(path, dataset_columns(path), keys, labels, layer_axis)


def labels_of_dataset(path: Path, column: str | None) -> Array | NamedRows:
    """Read one column as labels."""
    return labels_of_table(path, dataset_columns(path).table, column)


def is_dataset(path: Path) -> bool:
    """Return whether `save_to_disk` wrote this directory, as a data set or as several splits of one."""
    return path.is_dir() and any((path / name).is_file() for name in (_STATE, _SPLITS))


def open_columns(
    path: Path, columns: Columns, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis
) -> Contents:
    """Read columns of lists, or else the numeric columns together."""
    names = [] if isinstance(keys, str) or keys is None else list(keys)
    wanted = columns.lists if keys is None else [name for name in names if name in columns.lists]
    if not columns.lists or (keys is not None and not wanted):
        return matrix_of_table(path, columns.table, keys, labels)
    if others := [name for name in names if name not in columns.lists]:
        raise ValueError(
            f"keys must name columns of lists, or of numbers, in {path}, not both, got {join_names(others)}"
        )
    result = contents(path, {name: _describe(path, columns, name) for name in wanted}, keys, layer_axis)
    skipped = dict(columns.table.skipped) | dict.fromkeys(
        (name for name in columns.table.names if name not in columns.table.skipped), _LEFT_OUT
    )
    kept = {name: reason for name, reason in skipped.items() if name not in columns.lists} | result.skipped
    rows = row_names(columns.table, [] if labels is None else labels)
    return replace(result, skipped=kept, labels_available=tuple(columns.table.named_columns), row_names=rows)


def _describe(path: Path, columns: Columns, name: str) -> StoredArray:
    with reading(path):
        column = columns.read(name)
        array = stack_lists(path, name, column)
    return StoredArray(array.shape, array.dtype, partial(np.asarray, array))


def stack_lists(path: Path, name: str, column: Any) -> Array:
    """Return lists of equal length, nested to any depth, as an array; every row must have a list."""
    shape, values = [len(column)], column
    while _is_list(values.type):
        if values.null_count:
            raise UnreadableFileError(
                f"{name} in {path} must contain a list in every row, got {count(values.null_count, 'row')} without one"
            )
        lengths = np.unique(optional("pyarrow.compute", path).list_value_length(values).to_numpy(zero_copy_only=False))
        if len(lengths) > 1:
            raise UnreadableFileError(
                f"{name} in {path} must contain lists of one length, got lengths from {lengths[0]} to {lengths[-1]}"
            )
        shape.append(int(lengths[0]) if len(lengths) else 0)
        values = values.flatten()
    numbers = values.to_numpy(zero_copy_only=False)
    return np.asarray(numbers).reshape(shape)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def _holds_lists(kind: Any) -> bool:
    """Return whether a type is a list of numbers, possibly nested."""
    import pyarrow.types as kinds

    depth = 0
    while _is_list(kind):
        kind, depth = kind.value_type, depth + 1
    return depth > 0 and bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


def list_columns(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns that contain lists of numbers."""
    # Types such as Array2D appear as their storage type unless the library that defines them is loaded.
    return tuple(field.name for field in schema if _holds_lists(getattr(field.type, "storage_type", field.type)))


def _storage(column: Any) -> Any:
    array = column.combine_chunks()
    return getattr(array, "storage", array)


def parquet_columns(path: Path) -> Columns:
    """Describe the columns of a parquet file."""
    table = parquet_table(path)
    parquet = optional("pyarrow.parquet", path)
    with reading(path), parquet.ParquetFile(path) as file:
        lists = list_columns(file.schema_arrow)

    def read(name: str) -> Any:
        with parquet.ParquetFile(path) as file:
            return _storage(_read_in_batches(path, file, name).column(name))

    return Columns(table, lists, read)


def _read_in_batches(path: Path, file: Any, name: str) -> Any:
    """Read a column in chunks of rows, because the lengths of lists are unknown until they are read."""
    batches, n_bytes = [], 0
    for batch in file.iter_batches(batch_size=_ROWS, columns=[name]):
        batches.append(batch)
        n_bytes += batch.nbytes
        require_memory(path, name, (n_bytes,), np.dtype("u1"), "write fewer rows")
        require_plausible(path, name, n_bytes, path.stat().st_size)
    schema = batches[0].schema if batches else optional("pyarrow", path).schema([file.schema_arrow.field(name)])
    return optional("pyarrow", path).Table.from_batches(batches, schema=schema)


def dataset_columns(path: Path) -> Columns:
    """Describe the columns of a data set, or of an Arrow file."""
    files = _arrow_files(path)
    schema = _schema(path, files[0])

    def read(names: Sequence[str]) -> Any:
        pyarrow = optional("pyarrow", path)
        with reading(path):
            table = pyarrow.concat_tables([_open_arrow(path, file).select(list(names)) for file in files])
            # Without this check, a damaged file would make the library read beyond its buffers.
            table.validate(full=True)
        require_memory(path, join_names(names), (table.nbytes,), np.dtype("u1"), "name fewer columns")
        return table

    return Columns(
        arrow_table(path, schema, lambda names: read(names).to_pandas(ignore_metadata=True)),
        list_columns(schema),
        lambda name: _storage(read([name]).column(name)),
    )


def _schema(path: Path, file: Path) -> Any:
    with reading(path):
        return _open_arrow(path, file).schema


def _open_arrow(path: Path, file: Path) -> Any:
    """Memory-map an Arrow file, which has the stream format (as in data sets) or the file format."""
    pyarrow, ipc = optional("pyarrow", path), optional("pyarrow.ipc", path)
    source = pyarrow.memory_map(str(file))
    with file.open("rb") as stream:
        proper = stream.read(6) == b"ARROW1"
    return (ipc.open_file(source) if proper else ipc.open_stream(source)).read_all()


def _arrow_files(path: Path) -> list[Path]:
    """List the parts of a data set in order; a file is its own single part."""
    if path.is_file():
        return [path]
    if (path / _SPLITS).is_file():
        with reading(path):
            splits = [str(name) for name in json.loads((path / _SPLITS).read_text(encoding="utf-8"))["splits"]]
        raise UnreadableFileError(
            f"{path} must be one split of a data set, got the splits {join_names(splits)}; pass {path}/NAME"
        )
    with reading(path):
        state = json.loads((path / _STATE).read_text(encoding="utf-8"))
        names = [str(entry["filename"]) for entry in state["_data_files"]]
        chosen = bool(state.get("_indices_data_files") or state.get("_indices_files"))
    if chosen:
        raise UnreadableFileError(
            f"{path} must contain its rows in order, got indices that select rows; "
            "call flatten_indices() before save_to_disk"
        )
    if not names or any(Path(name).name != name or not (path / name).is_file() for name in names):
        raise UnreadableFileError(f"{path} must contain the files that {_STATE} names, got {join_names(names)}")
    return [path / name for name in names]
