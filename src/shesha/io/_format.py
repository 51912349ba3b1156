"""File formats by ending, and the mark for your own formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import NamedRows
from shesha.io._labels import labels_of_arrays
from shesha.io._stored_array import Contents, Keys, StoredArray, contents
from shesha.io._tables import Table, labels_of_table, matrix_of_table
from shesha.io.paths import UnreadableFileError, reading
from shesha.support.arrays import to_host
from shesha.support.entry_points import load_marks
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array

Read = Callable[[Path], Mapping[str, ArrayLike]]
F = TypeVar("F", bound=Read)


@dataclass(frozen=True)
class Format:
    """The readers of files of one ending."""

    labels: Callable[[Path, str | None], Array | NamedRows]
    contents: Callable[[Path, Keys, str | Sequence[str] | None, LayerAxis], Contents]
    folder: bool = False
    """Whether the file is a directory."""
    distances: Callable[[Path, Keys], Contents] | None = None
    """Reader of distances between rows, if they can be more than one square matrix."""


def array_format(describe: Callable[[Path], Mapping[str, StoredArray]]) -> Format:
    """Return the format of files that hold arrays with names."""
    return Format(
        labels=lambda path, column: labels_of_arrays(path, describe(path), column),
        contents=lambda path, keys, _, layer_axis: contents(path, describe(path), keys, layer_axis),
        distances=lambda path, keys: contents(path, describe(path), keys, distances=True),
    )


def table_format(describe: Callable[[Path], Table]) -> Format:
    """Return the format of files that hold one matrix as columns."""
    return Format(
        labels=lambda path, column: labels_of_table(path, describe(path), column),
        contents=lambda path, keys, labels, _: matrix_of_table(path, describe(path), keys, labels),
    )


_own: dict[str, tuple[Read, Format]] = {}


def reader(ending: str) -> Callable[[F], F]:
    """Mark a function as the reader of a file ending; all functions that take files then use it.

    Parameters
    ----------
    ending : str
        What the names of the files end in, such as '.mat'; an ending can be taken once.

    Returns
    -------
    decorator
        For a function of a path that returns arrays by name: those of two dimensions are representations, those of
        three hold layers, those of one may be labels. Whatever it raises becomes an `UnreadableFileError` that names
        the file. It must not unpickle.

    Examples
    --------
    >>> reader(".npy")(np.load)
    Traceback (most recent call last):
    ValueError: ending must not be that of another format, got '.npy'
    """
    if not isinstance(ending, str):
        raise TypeError(f"ending must be text such as '.mat', got {ending!r}")
    if Path(f"x{ending}").suffix != ending or ending != ending.lower() or len(ending) < 2:
        raise ValueError(f"ending must be a dot and lower-case letters or digits, such as '.mat', got {ending!r}")

    def mark(function: F) -> F:
        from shesha.io.readers import FORMATS

        taken = _own.get(ending)
        if ending in FORMATS or (taken is not None and taken[0].__module__ != function.__module__):
            raise ValueError(f"ending must not be that of another format, got {ending!r}")
        _own[ending] = function, array_format(partial(_describe, function))
        return function

    return mark


def registered_formats() -> dict[str, Format]:
    """Marked formats by ending, including those of other packages."""
    load_marks()
    return {ending: found for ending, (_, found) in _own.items()}


def _describe(function: Read, path: Path) -> dict[str, StoredArray]:
    """Read a complete file, and describe its arrays in the same form as those of formats that are read on request."""
    with reading(path):
        found = function(path)
        arrays = {name: to_host(array) for name, array in found.items()}
    for name in arrays:
        if not isinstance(name, str):
            raise UnreadableFileError(f"{path} must hold arrays by names that are text, got {name!r}")
    return {name: StoredArray(array.shape, array.dtype, partial(np.asarray, array)) for name, array in arrays.items()}
