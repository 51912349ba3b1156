"""Copies of large .zarr and .parquet files as .npy files, whose rows can be memory-mapped."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.large_matrices import ParquetMatrix, open_matrix
from shesha.support.memory import memory_budget, readable
from shesha.support.progress import track

_COPIED = (".zarr", ".parquet")
_BLOCK = 1 << 26
"""Maximum number of bytes that are copied at a time."""
_SHARE = 16
"""Copied chunks take at most the memory budget divided by this, because decoding needs several times as much."""


def copy_large_files(
    enter: Callable[[AbstractContextManager[str]], str],
    files: Sequence[Path],
    tell: Callable[[str], None],
    inside: Sequence[str] = (),
) -> list[Path]:
    """Return the files, with those beyond the memory budget replaced by temporary .npy copies.

    `enter` opens a context, such as the folder of a copy, until the work ends; `inside` names columns that are labels.
    """
    return [
        _copy(enter, file, matrix, tell) if (matrix := _large(file, inside)) is not None else file for file in files
    ]


def _large(file: Path, inside: Sequence[str]) -> Any:
    """Open the only matrix of a file that exceeds the memory budget but can be read in chunks."""
    if file.suffix.lower() not in _COPIED:
        return None
    try:
        matrix = open_matrix(file)
    except (ValueError, OSError):
        # What is wrong with the file is for its reader to say.
        return None
    if isinstance(matrix, ParquetMatrix) and inside and not matrix.is_list:
        return None
    return matrix if _n_bytes(matrix) > memory_budget() else None


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
    tell(f"{file} exceeds the memory budget, so its rows are copied to a temporary file of {readable(need)}")
    n, d = (int(size) for size in matrix.shape)
    dtype = np.dtype(matrix.dtype)
    step = max(1, min(_BLOCK, memory_budget() // _SHARE) // max(1, d * dtype.itemsize))
    chunks = getattr(matrix, "chunks", None)
    # Whole chunks: of a part of one all is decoded.
    step = max(step // chunks[0], 1) * chunks[0] if chunks else step
    target = folder / f"{file.stem}.npy"
    with target.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
        np.lib.format.write_array_header_1_0(stream, header)
        starts = range(0, n, step)
        for start in track(starts, len(starts), "chunks of rows"):
            stream.write(np.ascontiguousarray(matrix[start : start + step], dtype=dtype).data)
    return target
