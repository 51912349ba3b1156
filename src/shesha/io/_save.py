"""Write representations to files that `read` can read; files are replaced atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.io._overwriting import replace_path
from shesha.io._writers import WRITERS, Content
from shesha.support import argument_types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.types import Array

_KINDS = "fiub"
_WIDEST = 8
"""Number of bytes of a double; longer floats have formats that differ between machines."""


def save(
    path: str | os.PathLike[str],
    arrays: Mapping[str, ArrayLike],
    *,
    labels: ArrayLike | None = None,
    label_column: str = "label",
    columns: Sequence[str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write arrays to a file that `read` can read; the file is written completely or not at all.

    Parameters
    ----------
    path : str or path
        The file extension determines the format: .npz, .safetensors and .zarr hold any number of arrays, .npy holds
        one, and .parquet, .csv and .tsv hold the columns of one matrix. For .h5ad, use AnnData's own writer, which
        keeps the annotations of the rows.
    arrays : mapping of names to arrays
        Arrays of any shape, with floats or integers of up to 64 bits or booleans, or tensors on any device; bfloat16
        becomes float32. In .npy files and tables, the array takes the name of the file.
    labels : array of shape (n_rows,), optional
        One label per row, as numbers or text. They become a column in tables, and an additional array in other files. A
        .npy file cannot contain labels, and a .safetensors file only numbers. Default: no labels.
    label_column : str
        Name of the labels. In a table, numeric labels must have a name that readers recognise: label, labels, y, class
        or target.
    columns : sequence of str, optional
        Names of the features in a table; default: f0, f1 and so on.
    overwrite : bool
        Whether to replace an existing file. An existing folder is replaced only if both it and the new file are .zarr
        stores.

    Raises
    ------
    FileExistsError
        If `path` exists and `overwrite` is false.
    TypeError, ValueError
        If the format cannot store the values exactly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shesha.io import read, read_labels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.csv"
    >>> save(path, {"model": np.eye(3)}, labels=["a", "b", "b"])
    >>> read(path)["model"].tolist(), read_labels(path).tolist()
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ['a', 'b', 'b'])
    >>> save(path, {"model": np.ones((3, 2))})
    Traceback (most recent call last):
    FileExistsError: path must be new unless overwrite=True, got the existing ...
    """
    target = _target(path, overwrite)
    numbers = {_name(name): _numbers(array, name) for name, array in _mapping(arrays).items()}
    label_array = None if labels is None else _labels(labels, list(numbers.values()))
    names = None if columns is None else kinds.names(columns, "columns")
    content = Content(target, numbers, label_array, _name(label_column), names)
    if label_array is not None and label_column in numbers:
        raise ValueError(f"label_column must differ from the names of the arrays, got {label_column!r}")
    ending = target.suffix.lower()
    with replace_path(target, overwrite=overwrite, folder=ending == ".zarr") as temporary:
        WRITERS[ending](temporary, content)


def _target(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Return the path to write, if this is allowed."""
    target, overwrite = kinds.path(path, "path"), check.boolean(overwrite, "overwrite")
    ending = target.suffix.lower()
    if ending == ".h5ad":
        raise ValueError(
            f"path must not be an AnnData file, got {str(target)!r}; write it with anndata.AnnData(X).write_h5ad(path)"
        )
    if ending not in WRITERS:
        raise ValueError(f"path must end in one of {', '.join(WRITERS)}, got {str(target)!r}")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of path must exist, got {target}")
    if os.path.lexists(target) and not overwrite:
        raise FileExistsError(f"path must be new unless overwrite=True, got the existing {target}")
    return target


def _mapping(arrays: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    if not isinstance(arrays, Mapping):
        raise TypeError(f"arrays must be a mapping of names to arrays, got {type(arrays).__name__}")
    if not arrays:
        raise ValueError("arrays must contain at least one array, got none")
    return arrays


def _name(name: str) -> str:
    """Check that any file format can store the name, and return it."""
    if not isinstance(name, str):
        raise TypeError(f"names must be strings, got {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"names must be valid UTF-8 text, got {name!r}") from error
    if not name or "\0" in name:
        raise ValueError(f"names must be text without zero bytes, got {name!r}")
    return name


def _numbers(values: ArrayLike, name: str) -> Array:
    try:
        array = to_host(values, name)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__}: {error}") from error
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > _WIDEST:
        raise TypeError(f"{name} must contain floats or whole numbers of up to 64 bits, or booleans, got {array.dtype}")
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))


def _labels(values: ArrayLike, arrays: Sequence[Array]) -> Array:
    """Return labels as a 1-D array with one label per row; text becomes ordinary strings."""
    labels: Array = np.asarray(to_host(values, "labels"))
    if labels.dtype.kind in "OT" and all(isinstance(label, str) for label in labels.ravel()):
        labels = labels.astype(str)
    if labels.ndim != 1 or labels.dtype.kind not in _KINDS + "U":
        raise TypeError(
            f"labels must be 1-D, numbers or text without missing values, got shape {labels.shape} of {labels.dtype}"
        )
    if not any(len(labels) in array.shape[:2] for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"labels must be one per row, got {len(labels)} for arrays of shape {shapes}")
    return labels
