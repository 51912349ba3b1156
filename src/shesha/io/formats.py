"""The table of file formats by extension, and the formats that are built on HDF5, decided by their content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shesha.io._unsupported_formats import Format, array_contents, array_format, table_format
from shesha.io._zarr import labels_of_zarr, open_zarr
from shesha.io.array_selection import StoredArray, labels_of_arrays
from shesha.io.file_checks import COMPRESSED, UnreadableFileError, file_ending, open_hdf5, reading
from shesha.io.folders import FOLDERS, ITEMS, holds_items
from shesha.io.hdf5_arrays import hdf5_arrays, matlab_arrays, matlab_hdf5_arrays, nwb_arrays
from shesha.io.json_vectors import holds_embeddings, json_parts, labels_of_json, open_json
from shesha.io.large_matrices import npy_arrays, npz_arrays
from shesha.io.list_columns import dataset_table
from shesha.io.netcdf_files import netcdf_arrays
from shesha.io.single_cell_files import ANNDATA, MUDATA, loom_arrays, market_arrays, tenx_hdf5_arrays
from shesha.io.tables import csv_table, parquet_table
from shesha.io.torch_files import safetensors_arrays, torch_arrays
from shesha.io.vector_files import (
    bin_file_arrays,
    holds_vectors,
    labels_of_text,
    open_text_vectors,
    vecs_arrays,
)
from shesha.support.device_arrays import to_host
from shesha.support.files import is_stream
from shesha.support.optional import load_marks


def _kind(path: Path) -> Format:
    """Return the format of an HDF5 file from the groups at its top."""
    with path.open("rb") as stream:
        matlab = stream.read(10) == b"MATLAB 7.3"
    with open_hdf5(path) as root, reading(path):
        names = set(root)
        encoding = root.attrs.get("encoding-type", "")
        tenx = "matrix" in names and hasattr(root["matrix"], "keys") and "barcodes" in root["matrix"]
        older = bool(names) and all(
            hasattr(root.get(name), "keys") and {"barcodes", "indptr", "data"} <= set(root[name]) for name in names
        )
        # What a format is recognised by, in this order.
        marks: list[tuple[bool, Format]] = [
            (matlab, array_format(matlab_hdf5_arrays)),
            (encoding == "MuData" or ("mod" in names and "obs" in names), MUDATA),
            (encoding == "anndata" or {"X", "obs", "var"} <= names, ANNDATA),
            (tenx or older, array_format(tenx_hdf5_arrays)),
            ("matrix" in names and {"row_attrs", "col_attrs"} <= names, array_format(loom_arrays)),
            ("nwb_version" in root.attrs, array_format(nwb_arrays)),
        ]
    return next((found for matches, found in marks if matches), _DATA_SETS)


Read = Callable[[Path], Mapping[str, ArrayLike]]
F = TypeVar("F", bound=Read)

_PACKED = ("", *COMPRESSED)
_DATA_SETS = Format(
    lambda path, column: labels_of_arrays(path, hdf5_arrays(path, None if column is None else [column]), column),
    lambda path, keys, _, layer_axis: array_contents(path, hdf5_arrays(path, keys), keys, layer_axis),
)
_HDF5 = Format(
    lambda path, column: _kind(path).labels(path, column), lambda path, *choices: _kind(path).contents(path, *choices)
)
_TEXT = Format(labels_of_text, open_text_vectors, recognises=holds_vectors)
_JSON = Format(labels_of_json, open_json, table=True, recognises=holds_embeddings)


def _endings(*names: str) -> list[str]:
    """Return file endings, plain and compressed."""
    return [f"{name}{packed}" for name in names for packed in _PACKED]


FORMATS: dict[str, Format] = {
    ".npy": array_format(npy_arrays),
    ".npz": array_format(npz_arrays),
    ".safetensors": array_format(safetensors_arrays),
    **dict.fromkeys((".pt", ".pth", ".ckpt"), array_format(torch_arrays)),
    ".parquet": table_format(parquet_table),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), table_format(dataset_table)),
    **dict.fromkeys(_endings(".csv"), table_format(partial(csv_table, separator=","))),
    **dict.fromkeys(_endings(".tsv"), table_format(partial(csv_table, separator="\t"))),
    **dict.fromkeys([*_endings(".json", ".jsonl", ".ndjson"), ".json.out", ".jsonl.out"], _JSON),
    **dict.fromkeys(_endings(".txt"), _TEXT),
    **dict.fromkeys(_endings(".vec", ".glove", ".w2v", ".ark"), Format(labels_of_text, open_text_vectors)),
    ".bin": array_format(bin_file_arrays),
    **dict.fromkeys((".fvecs", ".bvecs", ".ivecs"), array_format(vecs_arrays)),
    ".mat": array_format(matlab_arrays),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".he5", ".loom", ".h5mu", ".nwb"), _HDF5),
    **dict.fromkeys((".nc", ".nc4", ".netcdf"), array_format(netcdf_arrays)),
    **dict.fromkeys(_endings(".mtx"), array_format(market_arrays)),
    ".h5ad": ANNDATA,
    ".zarr": Format(labels_of_zarr, lambda path, keys, _, layer_axis: open_zarr(path, keys, layer_axis), folder=True),
}
"""Formats that the library supports, by file extension."""


def formats() -> dict[str, Format]:
    """Return all formats by file extension, including registered ones."""
    return FORMATS | registered_formats()


def find_format(path: Path, *, distances: bool = False) -> Format | None:
    """Return the format of a file or folder that is one input; None for any other path.

    With `distances`, a folder of 1-D arrays is a folder of condensed distances, not of vectors.
    """
    known = formats()
    if path.is_dir() and file_ending(path) not in known:
        found = next((folder_format for recognises, folder_format in FOLDERS if recognises(path)), None)
        found = replace(_JSON, folder=True, recognises=None) if found is None and json_parts(path) else found
        return ITEMS if found is None and not distances and holds_items(path) else found
    return known.get(file_ending(path))


def is_readable(path: Path) -> bool:
    """Return whether a path is one input; files that may as well be notes are judged by their content."""
    found = find_format(path)
    # To open a pipe would wait for another program.
    return found is not None and (found.recognises is None or (not is_stream(path) and found.recognises(path)))


def is_table(path: Path) -> bool:
    """Return whether keys name columns in this file or folder."""
    found = find_format(path)
    return found is not None and found.table


_own: dict[str, tuple[Read, Format]] = {}


def reader(ending: str) -> Callable[[F], F]:
    """Register a reader for a file extension; all functions that take files then support it.

    Parameters
    ----------
    ending : str
        File extension, such as '.mat'. Each extension can have only one reader.

    Returns
    -------
    decorator
        Decorator for a function that takes a path and returns arrays by name. Of these, 2-D arrays are representations,
        3-D arrays contain layers, and 1-D arrays may be labels. An error in the function becomes an
        `UnreadableFileError` that names the file. The function must not unpickle anything.

    Examples
    --------
    >>> reader(".npy")(np.load)
    Traceback (most recent call last):
    ValueError: ending must differ from those of existing formats, got '.npy'
    """
    if not isinstance(ending, str):
        raise TypeError(f"ending must be text such as '.mat', got {ending!r}")
    if Path(f"x{ending}").suffix != ending or ending != ending.lower() or len(ending) < 2:
        raise ValueError(f"ending must be a dot and lower-case letters or digits, such as '.mat', got {ending!r}")

    def mark(function: F) -> F:
        taken = _own.get(ending)
        if ending in FORMATS or (taken is not None and taken[0].__module__ != function.__module__):
            raise ValueError(f"ending must differ from those of existing formats, got {ending!r}")
        _own[ending] = function, array_format(partial(_describe, function))
        return function

    return mark


def registered_formats() -> dict[str, Format]:
    """Return registered formats by extension, including those of other packages."""
    load_marks()
    return {ending: file_format for ending, (_, file_format) in _own.items()}


def _describe(function: Read, path: Path) -> dict[str, StoredArray]:
    """Read a whole file with a registered function, and describe its arrays."""
    with reading(path):
        result = function(path)
        arrays = {name: to_host(array) for name, array in result.items()}
    for name in arrays:
        if not isinstance(name, str):
            raise UnreadableFileError(f"{path} must contain arrays whose names are text, got {name!r}")
    return {name: StoredArray(array.shape, array.dtype, partial(np.asarray, array)) for name, array in arrays.items()}
