"""Zarr stores (one array, a group of arrays, or AnnData), checked for pickled objects before opening."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import NamedRows
from shesha.io.array_selection import Contents, Keys, StoredArray, contents, labels_of_arrays
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_chunks, require_sound
from shesha.io.single_cell_files import labels_of_anndata, open_anndata
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array
from shesha.support.wording import join_names, natural_key

_METADATA = {".zarray": "array", ".zgroup": "group", "zarr.json": None}
_TEXT_FILTERS = {"vlen-utf8", "vlen-bytes"}


def open_zarr(path: Path, keys: Keys, layer_axis: LayerAxis = "guess") -> Contents:
    """Read representations from a Zarr store."""
    folders = _array_folders(path)
    if (root := _anndata_root(path)) is not None:
        return open_anndata(path, root, keys)
    return contents(path, _arrays(path, folders), keys, layer_axis)


def labels_of_zarr(path: Path, column: str | None) -> Array | NamedRows:
    """Read labels from a Zarr store: a 1-D array, or a column of obs."""
    folders = _array_folders(path)
    if (root := _anndata_root(path)) is not None:
        return labels_of_anndata(path, root, column)
    return labels_of_arrays(path, _arrays(path, folders), column)


def _array_folders(path: Path) -> list[Path]:
    """List the arrays of a store in natural order, after checking that none contains pickled objects."""
    if not path.is_dir():
        raise NotADirectoryError(f"path must be a Zarr store, which is a directory, got the file {path}")
    with reading(path):
        if _node(path) is None:
            raise UnreadableFileError(f"{path} must be a Zarr store, got a directory without zarr.json or .zgroup")
        return sorted(_walk(path), key=lambda folder: natural_key(folder.relative_to(path).as_posix()))


def _walk(path: Path) -> Iterator[Path]:
    """Yield the folders that are arrays; refuse links, pipes and devices."""
    within: set[str] = set()
    for name, below, _ in os.walk(path):
        _require_plain(path, name)
        if name in within:
            # Folders below an array contain only chunks, often very many, so no metadata are looked for in them.
            within.update(f"{name}{os.sep}{child}" for child in below)
        elif _node(Path(name)) == "array":
            within.update(f"{name}{os.sep}{child}" for child in below)
            yield Path(name)


def _require_plain(path: Path, folder: str) -> None:
    """Refuse links, pipes and devices in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
                kind = "a link" if entry.is_symlink() else "a pipe or device"
                raise UnreadableFileError(f"{path} must contain only files and folders, got {kind}: {entry.path}")


def _node(folder: Path) -> str | None:
    """Return what a folder is, 'array' or 'group', or None if it is neither."""
    kinds = set()
    for name, kind in _METADATA.items():
        if (folder / name).is_file():
            document = json.loads((folder / name).read_bytes())
            _refuse_objects(folder, document)
            kinds.add(kind or str(document["node_type"]))
    if len(kinds) > 1:
        raise UnreadableFileError(f"{folder} must be either an array or a group, got metadata of both")
    return kinds.pop() if kinds else None


def _anndata_root(path: Path) -> Any:
    """Open the store as a group if it contains AnnData; otherwise return None."""
    zarr, storage = optional("zarr", path), optional("zarr.storage", path)
    with reading(path):
        if _node(path) == "array":
            return None
        # Consolidated metadata could refer to arrays that were not checked.
        store = storage.LocalStore(path, read_only=True)
        root = zarr.open_group(store=store, mode="r", use_consolidated=False)
        return root if root.attrs.get("encoding-type") == "anndata" else None


def _refuse_objects(folder: Path, document: Any) -> None:
    """Refuse arrays with codecs that unpickle, or with objects other than text."""
    codecs = set(_codecs(document))
    pickled = next((codec for codec in codecs if "pickle" in codec.lower()), None)
    if pickled is None and _is_object(document.get("dtype")) and not codecs & _TEXT_FILTERS:
        pickled = document["dtype"]
    if pickled is not None:
        raise UnreadableFileError(
            f"{folder} must contain numbers or text, got Python objects ({pickled!r}); pickled data are never read"
        )


def _codecs(node: Any) -> Iterator[str]:
    """Yield the names of all codecs at any depth, ignoring user attributes."""
    if isinstance(node, dict):
        yield from (node[key] for key in ("id", "name") if isinstance(node.get(key), str))
        for key, value in node.items():
            if key != "attributes":
                yield from _codecs(value)
    elif isinstance(node, list):
        for value in node:
            yield from _codecs(value)


def _is_object(dtype: Any) -> bool:
    """Return whether a Zarr 2 data type, or one of its fields, is an object."""
    if isinstance(dtype, list):
        return any(_is_object(field[1]) for field in dtype)
    return isinstance(dtype, str) and "O" in dtype


def _arrays(path: Path, folders: Iterable[Path]) -> dict[str, StoredArray]:
    """Describe the arrays of a store, named by their paths, or by the store if there is just one."""
    places = {folder.relative_to(path).as_posix(): folder for folder in folders}
    return dict(_describe(path, path.stem if place == "." else place, folder) for place, folder in places.items())


def _describe(path: Path, name: str, folder: Path) -> tuple[str, StoredArray]:
    zarr, storage = optional("zarr", path), optional("zarr.storage", path)
    with reading(path):
        array = zarr.open_array(store=storage.LocalStore(folder, read_only=True), mode="r")
        return name, StoredArray(tuple(array.shape), np.dtype(array.dtype), partial(_read_values, path, name, array))


def open_zarr_matrix(path: Path, key: str | None) -> ZarrMatrix:
    """Open one matrix of a store, given by its path, without reading its values."""
    folders = _array_folders(path)
    if (root := _anndata_root(path)) is not None:
        raise UnreadableFileError(f"{path} must be an array to be read in chunks, got AnnData: {root.path or '/'}")
    places = {("." if folder == path else folder.relative_to(path).as_posix()): folder for folder in folders}
    matrices = {place: ZarrMatrix(path, place, folder) for place, folder in places.items()}
    usable = {place: matrix for place, matrix in matrices.items() if len(matrix.shape) == 2}
    if key is None and len(usable) == 1:
        return next(iter(usable.values()))
    if key not in usable:
        raise ValueError(f"key must be one of {join_names(usable)} in {path}, got {key!r}")
    return usable[key]


class ZarrMatrix:
    """An array of a store that is read in chunks of rows."""

    def __init__(self, path: Path, name: str, folder: Path) -> None:
        zarr, storage = optional("zarr", path), optional("zarr.storage", path)
        self._path = path
        with reading(path):
            self._array = zarr.open_array(store=storage.LocalStore(folder, read_only=True), mode="r")
        self.shape, self.dtype = tuple(self._array.shape), np.dtype(self._array.dtype)
        require_chunks(path, name, self.shape, tuple(self._array.chunks), self.dtype)

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows."""
        with reading(self._path):
            return np.asarray(self._array[rows])

    def pieces(self, n_bytes: int) -> Iterator[tuple[slice, slice, Array]]:
        """Yield all values in pieces of whole chunks, as (rows, columns, values)."""
        high, wide = self._array.chunks
        wide *= max(1, n_bytes // (high * wide * self.dtype.itemsize))
        high *= max(1, n_bytes // (high * min(wide, self.shape[1]) * self.dtype.itemsize))
        for first_row, first in product(range(0, self.shape[0], high), range(0, self.shape[1], wide)):
            rows = slice(first_row, min(first_row + high, self.shape[0]))
            columns = slice(first, min(first + wide, self.shape[1]))
            with reading(self._path):
                values = np.asarray(self._array[rows, columns])
            yield rows, columns, values


def _read_values(path: Path, name: str, array: Any) -> Array:
    # A store of a few bytes can declare any shape, because chunks that were never written are filled in when read.
    with reading(path):
        require_sound(path, name, array)
        return np.asarray(array[...])
