"""The type of a file format: how to read its labels and contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shesha.inputs import NamedRows
from shesha.io.array_selection import (
    Contents,
    Keys,
    NamedArrays,
    StoredArray,
    contents,
    gather,
    labels_of_arrays,
    refuse_weights,
)
from shesha.io.tables import Table, contents_of_table, labels_of_table
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array
from shesha.support.wording import visible_name

_FEWEST_ITEMS = 8
"""Number of arrays without groups from which on these can be the vectors of single items."""


@dataclass(frozen=True)
class Format:
    """The functions that read files with one extension."""

    labels: Callable[[Path, str | None], Array | NamedRows]
    contents: Callable[[Path, Keys, str | Sequence[str] | None, LayerAxis], Contents]
    folder: bool = False
    """Whether files of this format are directories."""
    recognises: Callable[[Path], bool] | None = None
    """Function that tells representations from notes in a folder, if files with this ending are often notes."""
    table: bool = False
    """Whether keys name columns."""
    distances: Callable[[Path, Keys], Contents] | None = None
    """Function that reads distances between rows, if a file can contain several square matrices."""


def array_format(describe: Callable[[Path], Mapping[str, StoredArray]]) -> Format:
    """Return the format of files that contain named arrays."""
    return Format(
        labels=lambda path, column: labels_of_arrays(path, describe(path), column),
        contents=lambda path, keys, _, layer_axis: array_contents(path, describe(path), keys, layer_axis),
        distances=lambda path, keys: contents(path, describe(path), keys, distances=True),
    )


def array_contents(
    path: Path, arrays: Mapping[str, StoredArray], keys: Keys, layer_axis: LayerAxis = "guess"
) -> Contents:
    """Read the representations among named arrays, with the row names that their format stores."""
    refuse_weights(path, arrays, keys)
    if not isinstance(arrays, NamedArrays) and len(arrays) >= _FEWEST_ITEMS:
        arrays = gather(path, arrays, "./")
    unread = [] if keys is not None else [name for name in arrays if name in getattr(arrays, "on_request", ())]
    found = contents(path, {name: array for name, array in arrays.items() if name not in unread}, keys, layer_axis)
    found.skipped.update(dict.fromkeys(map(visible_name, unread), "is read only if keys= names it"))
    names = getattr(arrays, "row_names", None)
    if names is None or {len(matrix) for matrix in found.representations.values()} != {len(names.values)}:
        return found
    return replace(found, row_names=names)


def table_format(describe: Callable[[Path], Table]) -> Format:
    """Return the format of files whose columns form one matrix."""
    return Format(
        labels=lambda path, column: labels_of_table(path, describe(path), column),
        contents=lambda path, keys, labels, axis: contents_of_table(path, describe(path), keys, labels, axis),
        table=True,
    )
