"""Writers by file extension, which refuse content that would change when read back."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

import numpy as np

from shesha.inputs.table_columns import label_like_names
from shesha.io._tables import csv_table, has_names, is_unnamed, labels_of_table
from shesha.io.safetensors import ORDER
from shesha.support.item_lists import join_names
from shesha.support.optional import require
from shesha.support.types import Array

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


def write_zarr(path: Path, content: Content) -> None:
    """Write a group of arrays; a name with slashes is a path within the group."""
    zarr = content.library("zarr")
    arrays = content.arrays_and_labels()
    _require_paths(arrays)
    group = zarr.open_group(path, mode="w-", attributes={ORDER: list(arrays)})
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            group.create_array(name, shape=array.shape, dtype=str)[...] = array.astype(object)
        else:
            group.create_array(name, data=array)


def _require_paths(names: Iterable[str]) -> None:
    """Refuse names that are not valid paths, or that are folders of other names."""
    known = set(names)
    for name in known:
        parts = name.split("/")
        if "\\" in name or any(part in ("", ".", "..", "zarr.json") or part.startswith("__") for part in parts):
            raise ValueError(f"names must be paths such as 'model/layer 3' in a .zarr store, got {name!r}")
        above = next((up for i in range(1, len(parts)) if (up := "/".join(parts[:i])) in known), None)
        if above is not None:
            raise ValueError(f"names must not be folders of other names in a .zarr store, got {above!r} and {name!r}")


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
    ".zarr": write_zarr,
}
