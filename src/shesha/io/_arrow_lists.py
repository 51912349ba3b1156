"""Columns of vectors in Arrow arrays, as parquet files and data sets of Hugging Face contain them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs.vector_columns import Vectors, insert_missing
from shesha.io.file_checks import UnreadableFileError, optional, reading
from shesha.support.types import Array


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
            raise UnreadableFileError(
                f"{name} in {path} must contain lists of one length, got lengths from {known[0]} to {known[-1]}{where}"
            )
        shape.append(int(known[0]) if len(known) else 0)
        values = values.flatten()
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    return insert_missing(numbers.reshape(int(present.sum()), *shape[1:]), present)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))
