"""Data sets of Hugging Face: `save_to_disk` folders and Arrow files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import NamedRows
from shesha.inputs.table_columns import SAMPLE
from shesha.io.array_selection import Contents, Keys
from shesha.io.arrow_batches import arrow_batches, arrow_schema
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory
from shesha.io.tables import Table, arrow_table, contents_of_table, labels_of_table, parquet_table
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array
from shesha.support.wording import join_names

_ROWS = 4096
"""Number of rows that are unpacked at a time."""
_STATE, _SPLITS = "state.json", "dataset_dict.json"


def open_parquet(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read representations from a parquet file."""
    return contents_of_table(path, parquet_table(path), keys, labels, layer_axis)


def open_dataset(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read representations from a `datasets.save_to_disk` folder, or from a single Arrow file."""
    return contents_of_table(path, dataset_table(path), keys, labels, layer_axis)


def labels_of_dataset(path: Path, column: str | None) -> Array | NamedRows:
    """Read one column as labels."""
    return labels_of_table(path, dataset_table(path), column)


def is_dataset(path: Path) -> bool:
    """Return whether `save_to_disk` wrote this directory, as a data set or as several splits of one."""
    return path.is_dir() and any((path / name).is_file() for name in (_STATE, _SPLITS))


def dataset_table(path: Path) -> Table:
    """Describe the columns of a data set, or of an Arrow file."""
    files = _arrow_files(path)
    schema = arrow_schema(path, files[0])

    def batches(name: str) -> Iterator[Any]:
        for batch in arrow_batches(path, files, [name]):
            for start in range(0, len(batch), _ROWS):
                column = batch.column(0)[start : start + _ROWS]
                yield getattr(column, "storage", column)

    def head(name: str) -> list[Any]:
        first = next((batch for batch in batches(name) if batch.null_count < len(batch)), ())
        return [value.as_py() for value in first[:SAMPLE]] if len(first) else []

    def read(names: Sequence[str]) -> Any:
        found, n_bytes = [], 0
        for batch in arrow_batches(path, files, names):
            found.append(batch)
            n_bytes += batch.nbytes
            require_memory(path, join_names(names), (n_bytes,), np.dtype("u1"), "name fewer columns")
        chosen = optional("pyarrow", path).schema([schema.field(name) for name in names])
        with reading(path):
            return optional("pyarrow", path).Table.from_batches(found, chosen).to_pandas(ignore_metadata=True)

    return arrow_table(path, schema, read, head, batches)


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
