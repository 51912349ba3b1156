"""Copy large .zarr and .parquet files, whose rows cannot be memory-mapped, to .npy for an audit."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from shesha.io.large_matrices import open_matrix
from shesha.io.large_parquet import ParquetMatrix
from shesha.support.memory import memory_budget, readable

_COPIED = (".zarr", ".parquet")
_PIECE = 1 << 26
"""Maximum number of bytes to copy at a time."""
_SHARE = 16
"""A copied piece may take at most one over this number of the memory budget."""
_HELD = 4
"""A file is copied if it needs more than one over this number of the memory budget."""
_MAP_FROM, _TRIM_FROM = -3, -1
"""Options of the C library (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD)."""
_MAPPED, _KEPT = 1 << 18, 1 << 25
"""Size in bytes above which an array gets memory pages of its own, during the copy and afterwards."""


def copy_large_files(
    enter: Callable[[AbstractContextManager[str]], str],
    files: Sequence[Path],
    tell: Callable[[str], None],
    inside: Sequence[str] = (),
) -> list[Path]:
    """Return the files, with temporary .npy copies in place of those too large for the memory budget.

    `enter` enters a context, such as a temporary folder, that lasts until the work ends. `inside` names the columns
    that contain labels.
    """
    return [
        _copy(enter, file, matrix, tell) if (matrix := _large(file, inside)) is not None else file for file in files
    ]


def _large(file: Path, inside: Sequence[str]) -> Any:
    """Open a file's single matrix for piecewise reading if it is too large for memory, else return None."""
    if file.suffix.lower() not in _COPIED:
        return None
    try:
        matrix = open_matrix(file)
    except (ValueError, OSError):
        # The same error is reported later, when the file is read.
        return None
    if isinstance(matrix, ParquetMatrix) and inside and not matrix.is_list:
        return None
    return matrix if _n_bytes(matrix) > memory_budget() // _HELD else None


def _n_bytes(matrix: Any) -> int:
    return int(matrix.shape[0]) * int(matrix.shape[1]) * int(np.dtype(matrix.dtype).itemsize)


def _copy(
    enter: Callable[[AbstractContextManager[str]], str], file: Path, matrix: Any, tell: Callable[[str], None]
) -> Path:
    folder = Path(enter(tempfile.TemporaryDirectory(prefix="shesha-")))
    need, free = _n_bytes(matrix), shutil.disk_usage(folder).free
    if need > free:
        raise ValueError(
            f"the temporary folder must have {readable(need)} of free space for a copy of {file}, got "
            f"{readable(free)}; set TMPDIR to another folder, or save the file as .npy"
        )
    tell(f"{file} takes too much of the memory budget, so its rows are copied to a temporary file of {readable(need)}")
    target = folder / f"{file.stem}.npy"
    dtype = np.dtype(matrix.dtype)
    with _memory_given_back():
        while (needed := _write(matrix, target, dtype)) != dtype:
            dtype = needed
    return target


def _write(matrix: Any, target: Path, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Copy the values, and return their type; it is a wider one if some values do not fit `dtype`."""
    n, d = (int(size) for size in matrix.shape)
    with target.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
        np.lib.format.write_array_header_1_0(stream, header)
        _reserve(stream, n * d * dtype.itemsize)
    rows_of_file = np.load(target, mmap_mode="r+")
    for rows, columns, values in matrix.pieces(min(_PIECE, memory_budget() // _SHARE)):
        if not np.can_cast(values.dtype, dtype):
            return np.result_type(values.dtype, dtype)
        rows_of_file[rows, columns] = values
    rows_of_file.flush()
    return dtype


def _reserve(stream: IO[bytes], n_bytes: int) -> None:
    """Reserve disk space for the values, because writing to a map on a full disk would end the process."""
    stream.flush()
    start = stream.tell()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), start, n_bytes)
    else:
        stream.truncate(start + n_bytes)


@contextmanager
def _memory_given_back() -> Iterator[None]:
    """Return the memory of decoded values to the system instead of keeping it in each decoding thread."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    set_option = getattr(library, "mallopt", lambda option, n_bytes: None)
    set_option(_MAP_FROM, _MAPPED)
    try:
        yield
    finally:
        # The C library would raise these limits by itself once large arrays are freed; a small budget needs lower
        # limits.
        kept = min(_KEPT, memory_budget() // _SHARE)
        set_option(_MAP_FROM, kept)
        set_option(_TRIM_FROM, 2 * kept)
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()
