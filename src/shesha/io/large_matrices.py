"""Matrices in files that are read in chunks of rows."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from shesha.io._numpy_files import npy_arrays
from shesha.io._tables import numeric_columns
from shesha.io._zarr import open_zarr_matrix
from shesha.io.file_checks import UnreadableFileError, join_names, optional, reading, require_existing
from shesha.io.list_columns import list_columns, stack_lists
from shesha.io.shards import ShardedMatrix
from shesha.support.types import Array

ENDINGS = (".npy", ".zarr", ".parquet")


class StoredRows(Protocol):
    """A matrix in a file that can be read in chunks of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type."""
        ...

    def __getitem__(self, rows: slice, /) -> Array:
        """Some rows."""
        ...


def open_matrix(path: str | os.PathLike[str], key: str | None = None) -> StoredRows:
    """Open one matrix of a .npy file, a .zarr store, a .parquet file or a directory of files without reading it.

    Parameters
    ----------
    path : str or path
        Files of other kinds must be read whole. The .npy or .parquet files of a directory hold consecutive rows, in
        the order of their names.
    key : str, optional
        Which array of a Zarr store, or column of lists of a parquet file; needed where there are several.

    Returns
    -------
    StoredRows
        With `shape`, `dtype`, and rows by slices.

    Raises
    ------
    ValueError
        If the ending is another one, or the file has several matrices and the key names none of them.
    UnreadableFileError
        If the file is damaged or holds no matrix of real numbers.
    """
    existing = require_existing(path)
    opener = _open_shards if is_sharded(existing) else _OPENERS.get(existing.suffix.lower())
    if opener is None:
        raise ValueError(f"path must end in one of {', '.join(ENDINGS)} to be read in chunks, got {str(existing)!r}")
    matrix: StoredRows = opener(existing, key)
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"{existing} must contain a matrix of real numbers (rows, features), got shape {tuple(matrix.shape)} of "
            f"{matrix.dtype}"
        )
    return matrix


def is_sharded(path: Path) -> bool:
    """Whether a path is a directory of several files, unlike a directory such as a Zarr store."""
    return path.is_dir() and path.suffix.lower() not in ENDINGS


def _open_shards(path: Path, key: str | None) -> ShardedMatrix:
    openers: dict[str, Callable[[Path], Any]] = {
        ending: partial(_OPENERS[ending], key=key) for ending in (".npy", ".parquet")
    }
    return ShardedMatrix(path, openers)


def _open_npy(path: Path, key: str | None) -> Any:
    return next(iter(npy_arrays(path).values())).load()


class ParquetMatrix:
    """A column of lists, or all numeric columns, read one row group at a time."""

    def __init__(self, path: Path, key: str | None) -> None:
        self._path = path
        with reading(path):
            self._file = optional("pyarrow.parquet", path).ParquetFile(path)
            groups = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        self._starts = [0, *accumulate(groups)]
        self._lock = Lock()
        self._last: tuple[int, Array] | None = None
        lists = list_columns(self._file.schema_arrow)
        if lists and key is None and len(lists) > 1:
            raise ValueError(f"key must name one of the list columns {join_names(lists)} of {path}, got None")
        if key is not None and key not in lists:
            raise ValueError(f"key must be one of {join_names(lists)} in {path}, got {key!r}")
        self._list = key if key is not None else next(iter(lists), None)
        self._columns = [self._list] if self._list else numeric_columns(path, self._file.schema_arrow)
        if not self._columns or not groups:
            raise UnreadableFileError(f"{path} must contain rows of numbers, got none")
        first = self._group(0)
        self.shape, self.dtype = (self._starts[-1], *first.shape[1:]), first.dtype

    @property
    def is_list(self) -> bool:
        """Whether the rows are lists in one column; other columns then are not features."""
        return self._list is not None

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows from their row groups."""
        start, stop, _ = rows.indices(self._starts[-1])
        blocks = []
        while start < stop:
            place = bisect_right(self._starts, start) - 1
            first, end = self._starts[place], min(stop, self._starts[place + 1])
            blocks.append(self._group(place)[start - first : end - first])
            start = end
        return np.concatenate(blocks) if blocks else np.empty((0, *self.shape[1:]), dtype=self.dtype)

    def _group(self, place: int) -> Array:
        # Slices come in order: the last group is all that is worth keeping.
        with self._lock:
            if self._last is None or self._last[0] != place:
                self._last = place, self._read_group(place)
            return self._last[1]

    def _read_group(self, place: int) -> Array:
        with reading(self._path):
            table = self._file.read_row_group(place, columns=self._columns)
            if self._list is None:
                return np.column_stack([column.to_numpy() for column in table.columns])
        array = table.column(0).combine_chunks()
        return stack_lists(self._path, self._list, getattr(array, "storage", array))


_OPENERS = {".npy": _open_npy, ".zarr": open_zarr_matrix, ".parquet": ParquetMatrix}
