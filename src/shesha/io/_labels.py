"""Find the labels among the columns or arrays of a file, or read them from lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shesha.inputs import is_identity_name
from shesha.inputs.table_columns import label_like_names
from shesha.io._array_selection import StoredArray, visible_names, why_not
from shesha.io.file_checks import UnreadableFileError
from shesha.support import regular_files
from shesha.support.item_lists import join_names
from shesha.support.types import Array


def pick(path: Path, candidates: Sequence[str], column: str | None) -> str:
    """Return the requested column, the sole candidate, or the sole one with a name like 'label'."""
    if column is not None:
        if column not in candidates:
            raise ValueError(f"column must be among {join_names(candidates)} in {path}, got {column!r}")
        return column
    others = [name for name in candidates if not is_identity_name(name)]
    likely = next((names for names in (candidates, others) if len(names) == 1), label_like_names(candidates))
    if len(likely) != 1:
        raise ValueError(f"column must be given for {path}, one of {join_names(candidates)}, got None")
    return likely[0]


def labels_of_arrays(path: Path, arrays: Mapping[str, StoredArray], column: str | None) -> Array:
    """Read the labels from the arrays of a file."""
    arrays = visible_names(path, arrays)
    candidates = [name for name, array in arrays.items() if array.is_label_like]
    if column is not None and column in arrays and column not in candidates:
        raise ValueError(f"column must be a 1-D array in {path}, got {column!r}, {_label_hint(arrays[column])}")
    if not candidates:
        listing = join_names(f"{name} ({_label_hint(array)})" for name, array in arrays.items())
        raise UnreadableFileError(f"{path} must contain labels as a 1-D array, got {listing}")
    return plain(arrays[pick(path, candidates, column)].load())


def _label_hint(array: StoredArray) -> str:
    return f"which {why_not(array) or f'has shape {array.shape}'}"


def plain(labels: Array) -> Array:
    """Return labels with text of variable length as ordinary strings."""
    return np.array(labels.tolist(), dtype=str) if labels.dtype.kind == "T" else labels


def read_lines(path: Path, column: str | None) -> Array:
    """Read one label per line; an empty line means a missing label."""
    if column is not None:
        raise ValueError(f"column must be None for {path}, which has one label per line, got {column!r}")
    try:
        lines = [line.strip() for line in regular_files.read_lines(path)]
    except ValueError as error:
        raise UnreadableFileError(str(error)) from error
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise UnreadableFileError(f"{path} must contain one label per line, got only empty lines")
    return np.array(lines) if all(lines) else np.array([line or None for line in lines], dtype=object)
