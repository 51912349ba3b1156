"""Open matrices in files to read them in chunks of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shesha.io._numpy_files import npy_arrays
from shesha.io._zarr import open_zarr_matrix
from shesha.io.file_checks import UnreadableFileError, require_existing
from shesha.io.large_parquet import ParquetMatrix
from shesha.io.shards import ShardedMatrix
from shesha.support.types import Array

ENDINGS = (".npy", ".zarr", ".parquet")


class StoredRows(Protocol):
    """A matrix in a file that can be read in chunks of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type."""
        ...

    def __getitem__(self, rows: slice, /) -> Array:
        """Return some rows."""
        ...


def open_matrix(path: str | os.PathLike[str], key: str | None = None) -> StoredRows:
    """Open a matrix in a .npy or .parquet file, .zarr store or directory, without reading its values.

    Parameters
    ----------
    path : str or path
        Path of the file, store or directory. A directory must contain .npy or .parquet files with consecutive rows, in
        the order of the file names. Other kinds of files cannot be read in chunks.
    key : str, optional
        Name of an array in a Zarr store, or of a column of lists in a .parquet file. Required if there are several.

    Returns
    -------
    StoredRows
        Object with `shape` and `dtype`; slicing it reads rows.

    Raises
    ------
    ValueError
        If the path has another extension, or the file has several matrices and `key` names none of them.
    UnreadableFileError
        If the file is damaged or contains no matrix of real numbers.
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
    """Return whether a path is a directory of several files, not a store such as Zarr."""
    return path.is_dir() and path.suffix.lower() not in ENDINGS


def _open_shards(path: Path, key: str | None) -> ShardedMatrix:
    openers: dict[str, Callable[[Path], Any]] = {
        ending: partial(_OPENERS[ending], key=key) for ending in (".npy", ".parquet")
    }
    return ShardedMatrix(path, openers)


def _open_npy(path: Path, key: str | None) -> Any:
    return next(iter(npy_arrays(path).values())).load()


_OPENERS = {".npy": _open_npy, ".zarr": open_zarr_matrix, ".parquet": ParquetMatrix}
