"""AnnData in memory and in files (HDF5 or Zarr): the data matrix, layers and embeddings, read only on request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import NamedRows, Names, is_numeric, load_backed, numbers, split_names
from shesha.inputs.table_columns import is_picture
from shesha.io.array_selection import Contents, Keys, StoredArray, contents, pick, visible_names, why_not
from shesha.io.declared_sizes import require_own, require_sound
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory, require_plausible
from shesha.io.tables import as_labels
from shesha.support import argument_types as kinds
from shesha.support.natural_order import natural_key
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.wording import count, join_items, join_names

if TYPE_CHECKING:
    import pandas as pd


_READ = ("obs", "var", "X", "layers", "obsm", "raw")
"""Elements of AnnData that can be read; all others are ignored."""
_RAW = ("raw", "raw.X")
"""Other names of the matrix raw/X."""
_SPARSE = ("csr_matrix", "csc_matrix")
_PARTS = ("data", "indices", "indptr")


def open_h5ad(path: Path, keys: Keys) -> Contents:
    """Read representations from an .h5ad file."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        return open_anndata(path, root, keys)


def labels_of_h5ad(path: Path, column: str | None) -> NamedRows:
    """Read one column of obs from an .h5ad file."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        return labels_of_anndata(path, root, column)


def open_anndata(path: Path, root: Any, keys: Keys) -> Contents:
    """Read the elements named by keys (X, raw/X, layers/NAME or obsm/KEY), or else the embeddings, or else X.

    Embeddings of up to three columns, such as a UMAP or positions in a tissue, are pictures of the data, and are read
    only if there is nothing else.
    """
    with reading(path):
        elements = dict(visible_names(path, dict(_elements(path, root))))
        columns = tuple(map(str, root["obs"].attrs.get("column-order", ()))) if "obs" in root else ()
    wanted = elements if keys is not None else _default(elements)
    if keys is not None and not isinstance(keys, str):
        keys = [_full(elements, key) for key in keys]
    result = contents(path, wanted, keys)
    unread = {name: _why_unread(name, element) for name, element in elements.items() if name not in wanted}
    _state_elements(path.name, result.representations)
    by_gene = all(name == "X" or name.startswith("layers/") for name in result.representations)
    return replace(
        result,
        skipped=result.skipped | unread,
        labels_available=columns,
        row_names=_names(path, root, "obs"),
        column_names=_names(path, root, "var") if by_gene else None,
    )


def _full(elements: dict[str, StoredArray], key: Any) -> Any:
    """Return the full name of an element if the key gives only its last part."""
    if key in _RAW and "raw/X" in elements:
        return "raw/X"
    # A counts layer is called 'counts' by most people; a UMAP is called 'X_umap' or 'umap'.
    matches = [name for name in elements if name.partition("/")[2] in (key, f"X_{key}")] if key not in elements else []
    return matches[0] if len(matches) == 1 else key


def _names(path: Path, root: Any, axis: str) -> Names | None:
    """Return the names of the observations or variables, read at once because the file will be closed."""
    with reading(path):
        table = root.get(axis, {})
        index = table.attrs.get("_index", "") if hasattr(table, "attrs") else ""
        if index not in table:
            return None
        require_sound(path, f"{axis}/{index}", table[index])
        return Names.build(np.asarray(optional("anndata.io", path).read_elem(table[index])))


def labels_of_anndata(path: Path, root: Any, column: str | None) -> NamedRows:
    """Read one column of obs."""
    with reading(path):
        require_own(path, root, ("obs",))
        require_sound(path, "obs", root["obs"])
        obs: pd.DataFrame = optional("anndata.io", path).read_elem(root["obs"])
    if not hasattr(obs, "columns"):
        raise UnreadableFileError(f"{path} must contain obs as a table, got {type(obs).__name__}; write the file again")
    known = [str(name) for name in obs.columns]
    if column is None:
        raise ValueError(f"column must name a column of obs in {path}, one of {join_names(known)}, got None")
    name = pick(path, known, column)
    with reading(path):
        return NamedRows(as_labels(obs[name]), Names.build(np.asarray(obs.index)))


def _default(elements: dict[str, StoredArray]) -> dict[str, StoredArray]:
    """Return the embeddings that are no pictures, otherwise the data matrix, otherwise the pictures."""
    embeddings = {name: element for name, element in elements.items() if name.startswith("obsm/")}
    wide = {name: element for name, element in embeddings.items() if not _is_picture(name, element)}
    if any(why_not(element) is None for element in wide.values()):
        return wide
    data = {name: element for name, element in elements.items() if name == "X"}
    return data | wide if any(why_not(element) is None for element in data.values()) else embeddings | data


def _is_picture(name: str, element: StoredArray) -> bool:
    place, _, short = name.partition("/")
    return place == "obsm" and len(element.shape) == 2 and is_picture(short, element.shape[1])


def _why_unread(name: str, element: StoredArray) -> str:
    if why_not(element) is None and _is_picture(name, element):
        return f"has only {count(element.shape[1], 'column')}, like a UMAP; it is read only if --key names it"
    return "is read only if keys= names it"


def _state_elements(source: str, representations: dict[str, Array]) -> None:
    """State which elements were read."""
    sizes = {name: " x ".join(f"{length:,}" for length in matrix.shape) for name, matrix in representations.items()}
    taken = join_items(f"{name}, {size}" for name, size in sizes.items())
    state(f"{source}: {taken}")


def _elements(path: Path, root: Any) -> Iterator[tuple[str, StoredArray]]:
    """Describe all elements that have one row per observation."""
    require_own(path, root, _READ)
    if "obs" not in root:
        raise UnreadableFileError(f"{path} must contain AnnData with obs, got only {join_names(map(str, root.keys()))}")
    if "X" in root:
        yield "X", _describe(path, "X", root["X"])
    if "raw" in root and hasattr(root["raw"], "keys") and "X" in root["raw"]:
        yield "raw/X", _describe(path, "raw/X", root["raw"]["X"])
    for group in ("layers", "obsm"):
        for name in sorted(root[group].keys(), key=natural_key) if group in root else ():
            key = f"{group}/{name}"
            yield key, _describe(path, key, root[key])


def _describe(path: Path, key: str, element: Any) -> StoredArray:
    """Describe an element from its attributes; only tables are read, because they are small."""
    encoding = element.attrs.get("encoding-type", "")
    if encoding == "dataframe":
        require_sound(path, key, element)
        return _table(optional("anndata.io", path).read_elem(element))
    if encoding in _SPARSE:
        shape, dtype = tuple(map(int, element.attrs["shape"])), element["data"].dtype
    elif hasattr(element, "dtype") and element.shape is not None:
        shape, dtype = tuple(element.shape), element.dtype
    else:
        return _not_a_matrix(f"contains {encoding or 'a group'}, not a matrix")
    return StoredArray(shape, dtype, partial(_dense, path, key, element, shape, dtype))


def _table(frame: pd.DataFrame) -> StoredArray:
    """Describe the numeric columns of a table as one array."""
    numeric = frame[[name for name, column in frame.items() if is_numeric(column)]]
    if not numeric.shape[1]:
        return _not_a_matrix("is a table without numeric columns")
    return StoredArray(numeric.shape, np.dtype(float), partial(numbers, numeric))


def _not_a_matrix(refusal: str) -> StoredArray:
    return StoredArray((), np.dtype("V1"), lambda: np.empty((0, 0)), refusal)


def _dense(path: Path, key: str, element: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Read an element as a dense array."""
    require_memory(path, key, shape, dtype, "name an obsm entry such as obsm/X_pca in keys")
    with reading(path):
        require_sound(path, key, element)
        if hasattr(element, "keys"):
            kept = sum(math.prod(element[part].shape) * element[part].dtype.itemsize for part in _PARTS)
            require_plausible(path, key, math.prod(shape) * dtype.itemsize, kept)
        values = optional("anndata.io", path).read_elem(element)
        if hasattr(values, "toarray"):
            # SciPy does not check indices, so a damaged file could otherwise make it write outside the array.
            values.check_format(full_check=True)
            values = values.toarray()
        return np.asarray(values)


def from_anndata(adata: Any, *, obsm: str | None = None, layer: str | None = None) -> NamedRows:
    """Return one matrix of an AnnData object, with the names of its observations.

    If you need only X, you can also pass the AnnData object itself as a representation.

    Parameters
    ----------
    adata : AnnData
        The data, in memory or backed by a file. A backed matrix is read into memory.
    obsm : str, optional
        Name of an embedding, such as 'X_pca' or 'obsm/X_pca'. Default: X, unless `layer` is given.
    layer : str, optional
        Name of a layer, such as 'counts' or 'layers/counts', or 'raw' for the matrix in `adata.raw`. Sparse layers stay
        sparse. Default: X, unless `obsm` is given.

    Returns
    -------
    NamedRows
        The matrix and its row names, by which several representations are aligned.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> adata = anndata.AnnData(np.eye(3), obsm={"X_pca": np.ones((3, 2))})
    >>> from_anndata(adata), from_anndata(adata, obsm="X_pca")
    (NamedRows(shape (3, 3)), NamedRows(shape (3, 2)))
    >>> from_anndata(adata, obsm="X_umap")
    Traceback (most recent call last):
    ValueError: obsm must be among X_pca, got 'X_umap'
    """
    if not (hasattr(adata, "obsm") and hasattr(adata, "obs_names")):
        raise TypeError(f"adata must be AnnData, got {type(adata).__name__}")
    if obsm is not None and layer is not None:
        raise ValueError(f"obsm or layer must be None, got {obsm!r} and {layer!r}")
    names = Names.build(adata.obs_names)
    if obsm is not None:
        return NamedRows(
            split_names(load_backed(_choose_matrix(adata.obsm, obsm, "obsm")), f"obsm[{obsm!r}]")[0], names
        )
    if layer in ("raw", "raw/X", "raw.X") and layer not in adata.layers and adata.raw is not None:
        return NamedRows(load_backed(adata.raw.X), names)
    if layer is not None:
        return NamedRows(load_backed(_choose_matrix(adata.layers, layer, "layer", "layers")), names)
    return NamedRows(split_names(adata, "adata")[0], names)


def _choose_matrix(matrices: Mapping[str, Any], key: str, name: str, folder: str | None = None) -> Any:
    short = key.removeprefix(f"{folder or name}/") if isinstance(key, str) else key
    if kinds.label(short, name) not in matrices:
        # Since version 0.13, anndata lists X among the layers, under the key None.
        known = join_names(str(entry) for entry in matrices if entry is not None)
        raise ValueError(f"{name} must be among {known}, got {key!r}")
    return matrices[short]
