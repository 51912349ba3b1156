"""Files beyond the memory whose rows cannot be mapped (.zarr, .parquet): `shesha audit` copies them to .npy first."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from shesha.support.memory import memory_budget, readable

_COPIED = (".zarr", ".parquet")
_BLOCK = 1 << 26
"""Bytes that are copied at a time."""


def map_large_files(
    context: typer.Context, files: Sequence[Path], keys: Sequence[str] | None, inside: Sequence[str]
) -> list[Path]:
    """Return the files; those beyond the memory budget as temporary .npy files, which vanish with the command."""
    if any((keys, len(set(files)) < len(files))):
        return list(files)
    return [_copy(context, file, matrix) if (matrix := _large(file, inside)) is not None else file for file in files]


def _large(file: Path, inside: Sequence[str]) -> Any:
    """Open the only matrix of a file that does not fit the memory and can be read in stretches."""
    from shesha.io.large_matrices import ParquetMatrix, open_matrix

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


def _copy(context: typer.Context, file: Path, matrix: Any) -> Path:
    from shesha.support.progress import track

    folder = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="shesha-")))
    need, free = _n_bytes(matrix), shutil.disk_usage(folder).free
    if need > free:
        raise ValueError(
            f"the temporary folder must have {readable(need)} for a copy of {file}, which does not fit the memory "
            f"budget, got {readable(free)}: set TMPDIR, or save the file as .npy"
        )
    typer.echo(
        f"shesha: {file} does not fit the memory budget: its rows are copied to a temporary file of {readable(need)}",
        err=True,
    )
    n, d = (int(size) for size in matrix.shape)
    dtype = np.dtype(matrix.dtype)
    step = max(1, _BLOCK // max(1, d * dtype.itemsize))
    target = folder / f"{file.stem}.npy"
    with target.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
        np.lib.format.write_array_header_1_0(stream, header)
        starts = range(0, n, step)
        for start in track(starts, len(starts), "stretches of rows"):
            stream.write(np.ascontiguousarray(matrix[start : start + step], dtype=dtype).tobytes())
    return target
