"""Write representations to files that `read` can read; files are replaced atomically."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.column_words import label_like_names
from shesha.inputs.columns import is_unnamed
from shesha.io.tables import csv_table, has_names, labels_of_table
from shesha.io.torch_files import ORDER
from shesha.support import files, types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.optional import require
from shesha.support.types import Array
from shesha.support.wording import join_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Content:
    """The content to write, and the path for which it is meant."""

    target: Path
    arrays: dict[str, Array]
    labels: Array | None
    label_column: str
    columns: list[str] | None

    def arrays_and_labels(self) -> dict[str, Array]:
        """Return the arrays, including the labels."""
        if self.columns is not None:
            raise ValueError(f"columns must be None in a {self.target.suffix} file, got {join_names(self.columns)}")
        return self.arrays | ({} if self.labels is None else {self.label_column: self.labels})

    def library(self, module: str) -> ModuleType:
        """Import a library that the extra `files` installs."""
        package = module.partition(".")[0]
        need = f"{package} must be installed to write {self.target.suffix} files such as {self.target}"
        return require(module, "files", need)


def write_npy(path: Path, content: Content) -> None:
    """Write one array."""
    if len(content.arrays) != 1 or content.labels is not None:
        more = "labels" if content.labels is not None else f"{len(content.arrays)} arrays"
        raise ValueError(f"a .npy file must contain one array, got {more}; use .npz")
    (array,) = content.arrays_and_labels().values()
    with path.open("wb") as stream:
        _write_array(stream, array)


def write_npz(path: Path, content: Content) -> None:
    """Write arrays as members of an archive; unlike `numpy.savez`, this allows any names."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in content.arrays_and_labels().items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                _write_array(stream, array)


def _write_array(stream: IO[bytes], array: Array) -> None:
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def write_safetensors(path: Path, content: Content) -> None:
    """Write tensors."""
    safetensors = content.library("safetensors.numpy")
    if content.labels is not None and content.labels.dtype.kind == "U":
        raise TypeError("labels must be numbers in a .safetensors file, got text; use .npz, or pass class numbers")
    tensors = {name: np.require(array, requirements="C") for name, array in content.arrays_and_labels().items()}
    if "__metadata__" in tensors:
        raise ValueError("names must differ from '__metadata__' in a .safetensors file, got '__metadata__'")
    safetensors.save_file(tensors, path, metadata={ORDER: json.dumps(list(tensors))})


def write_parquet(path: Path, content: Content) -> None:
    """Write one matrix as columns."""
    content.library("pyarrow")
    _frame(content).to_parquet(path, index=False, engine="pyarrow")


def write_text(path: Path, content: Content, separator: str) -> None:
    """Write one matrix as lines of text, without rounding numbers."""
    frame = _frame(content)
    frame.to_csv(path, sep=separator, index=False, na_rep="nan", encoding="utf-8", lineterminator="\n")
    if not has_names(path, separator):
        raise ValueError(
            f"columns must not all be numbers in a {content.target.suffix} file, got {join_names(map(str, frame))}"
        )
    if content.labels is not None and content.labels.dtype.kind == "U":
        labels = np.asarray(labels_of_table(path, csv_table(path, separator), content.label_column))
        if labels.tolist() != content.labels.tolist():
            raise ValueError(
                f"labels must be text that a {content.target.suffix} file preserves, unlike 'NA' or '01', got "
                f"{join_names(map(repr, np.unique(content.labels).tolist()))}; use .parquet"
            )


def _frame(content: Content) -> pd.DataFrame:
    """Return the single matrix as a table with feature names and, as last column, the labels."""
    import pandas as pd

    shapes = [array.shape for array in content.arrays.values()]
    if len(shapes) != 1 or len(shapes[0]) != 2 or 0 in shapes[0]:
        raise ValueError(
            f"a {content.target.suffix} file must contain one 2-D array (rows, features), got "
            f"{join_names(map(str, shapes))}"
        )
    (matrix,) = content.arrays.values()
    frame = pd.DataFrame(matrix, columns=_columns(content, matrix.shape[1]))
    if content.labels is None:
        return frame
    if content.labels.dtype.kind != "U" and not label_like_names([content.label_column]):
        raise ValueError(
            "label_column must be label, labels, y, class or target if labels are numbers, got "
            f"{content.label_column!r}: readers would take it for a feature"
        )
    if content.label_column in frame:
        raise ValueError(f"label_column must differ from the names of the features, got {content.label_column!r}")
    if len(content.labels) != len(matrix):
        raise ValueError(f"labels must be one per row, got {len(content.labels)} for {len(matrix)} rows")
    return frame.assign(**{content.label_column: content.labels})


def _columns(content: Content, n_features: int) -> list[str]:
    if content.columns is None:
        return [f"f{feature}" for feature in range(n_features)]
    names = content.columns
    if len(names) != n_features or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be {n_features} different names, got {join_names(map(repr, names))}")
    # Readers would mistake such a column for labels or row numbers.
    if unfit := [*label_like_names(names), *(name for name in names if not name.strip() or is_unnamed(name))]:
        raise ValueError(f"columns must not have names of labels or row numbers, got {join_names(map(repr, unfit))}")
    return names


WRITERS: dict[str, Callable[[Path, Content], None]] = {
    ".npy": write_npy,
    ".npz": write_npz,
    ".safetensors": write_safetensors,
    ".parquet": write_parquet,
    ".csv": partial(write_text, separator=","),
    ".tsv": partial(write_text, separator="\t"),
}


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
        The file extension determines the format: .npz and .safetensors hold any number of arrays, .npy holds one, and
        .parquet, .csv and .tsv hold the columns of one matrix. For .h5ad, use AnnData's own writer, which keeps the
        annotations of the rows.
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
        Whether to replace an existing file.

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
    if not isinstance(arrays, Mapping):
        raise TypeError(f"arrays must be a mapping of names to arrays, got {type(arrays).__name__}")
    if not arrays:
        raise ValueError("arrays must contain at least one array, got none")
    numbers = {_name(name): _numbers(array, name) for name, array in arrays.items()}
    label_array = None if labels is None else _labels(labels, list(numbers.values()))
    names = None if columns is None else kinds.names(columns, "columns")
    content = Content(target, numbers, label_array, _name(label_column), names)
    if label_array is not None and label_column in numbers:
        raise ValueError(f"label_column must differ from the names of the arrays, got {label_column!r}")
    files.require_replaceable(target)
    stream = files.is_stream(target)
    # If the target is a link, the file to which it points is replaced.
    place = target if stream else Path(os.path.realpath(target))
    if place.is_dir():
        raise IsADirectoryError(f"path must be a file to be replaced, got the directory {target}")
    with files.replacing(place) as draft:
        WRITERS[target.suffix.lower()](draft, content)
        if os.path.lexists(place) and not (overwrite or stream):
            raise FileExistsError(f"path must be new unless overwrite=True, got the existing {target}")


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
