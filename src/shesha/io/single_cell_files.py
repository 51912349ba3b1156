"""Files of single cells, with cells as rows: AnnData, 10x, Matrix Market, Loom and MuData."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import NamedRows, Names, is_numeric, load_backed, names_of_cells, numbers, split_names
from shesha.inputs.class_labels import FEATURE_TYPES, state_feature_types
from shesha.inputs.column_words import is_picture
from shesha.inputs.unsuited_tables import DROPLETS_ADVICE, describe_droplets
from shesha.io._unsupported_formats import Format
from shesha.io.array_selection import (
    Contents,
    Keys,
    NamedArrays,
    StoredArray,
    contents,
    pick,
    refused,
    visible_names,
    why_not,
)
from shesha.io.file_checks import (
    COMPRESSED,
    UnreadableFileError,
    dense_from_sparse,
    file_ending,
    file_stem,
    open_bytes,
    open_hdf5,
    optional,
    reading,
    require_memory,
    require_own,
    require_plausible,
    require_sound,
)
from shesha.io.hdf5_arrays import describe, read_dataset, require_groups
from shesha.io.tables import as_labels
from shesha.support import types as kinds
from shesha.support.provenance import state, state_warning
from shesha.support.types import Array
from shesha.support.wording import count, join_items, join_names, lowercase_start, natural_key

if TYPE_CHECKING:
    import pandas as pd


_READ = ("obs", "var", "X", "layers", "obsm", "raw")
"""Elements of AnnData that can be read; all others are ignored."""
_RAW = ("raw", "raw.X")
"""Other names of the matrix raw/X."""
_SPARSE = ("csr_matrix", "csc_matrix")
_PARTS = ("data", "indices", "indptr")


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
        keys = ["raw/X" if key in _RAW and "raw/X" in elements else key for key in keys]
    result = contents(path, wanted, keys)
    unread = {name: _why_unread(name, element) for name, element in elements.items() if name not in wanted}
    sizes = (" x ".join(f"{length:,}" for length in matrix.shape) for matrix in result.representations.values())
    state(f"{path.name}: {join_items(map(', '.join, zip(result.representations, sizes, strict=True)))}")
    positions = [name for name in elements if "spatial" in name.lower() and name not in result.representations]
    if positions and len(result.representations) > 0:
        state_warning(
            f"{path.name} has positions of cells ({positions[0]}), and neighbours in a tissue are alike, so p-values "
            "for single cells are too small. Declare sections, donors or regions as groups"
        )
    for name in result.representations:
        if "spatial" in name.lower():
            _warn_of_sections(path, root, name, result.representations[name], columns)
    if counts := [name for name in result.representations if _COUNTS.search(name)]:
        state_warning(
            f"{path.name}: {counts[0]} is named like raw counts, of which sequencing depth dominates distances. "
            "Normalise and log-transform them"
        )
    by_gene = all(name == "X" or name.startswith("layers/") for name in result.representations)
    if by_gene and FEATURE_TYPES in _members(root, "var"):
        with reading(path):
            require_sound(path, f"var/{FEATURE_TYPES}", root["var"][FEATURE_TYPES])
            types = optional("anndata.io", path).read_elem(root["var"][FEATURE_TYPES])
        state_feature_types(path.name, np.asarray(types))
    return replace(
        result,
        skipped=result.skipped | unread,
        labels_available=columns,
        row_names=_names(path, root, "obs"),
        column_names=_names(path, root, "var") if by_gene else None,
    )


_SECTION = re.compile(r"(?i)section|slide|slice|fov|(^|_)(library|sample|batch)(_?id|_?name)?$")
"""Names of columns that say in which section, slide or field of view a cell has its position."""
_MOST_SECTIONS = 200


def _warn_of_sections(path: Path, root: Any, name: str, positions: Array, columns: Sequence[str]) -> None:
    """Warn if positions are those of several sections in one range of coordinates."""
    for column in filter(_SECTION.search, columns):
        sections = np.asarray(labels_of_anndata(path, root, column).values).astype(str)
        known = np.unique(sections)
        if not 1 < len(known) <= _MOST_SECTIONS:
            continue
        inside = [positions[sections == one] for one in known]
        low, high = (np.array([limit(rows, axis=0) for rows in inside]) for limit in (np.min, np.max))
        if (low.max(axis=0) < high.min(axis=0)).all():
            state_warning(
                f"{path.name}: the {len(known)} values of {column} share one range of coordinates in {name}, so that "
                "distances between their cells mean nothing if each is a section of its own; compare each section "
                "by itself"
            )
            return


_COUNTS = re.compile(r"(?i)^layers/(raw_?)?(counts?|umis?|raw)$")
"""Names of layers of raw counts."""


def _members(root: Any, axis: str) -> Any:
    """Return the table of an axis as a group; nothing for an array, in which a search would read all rows."""
    table = root.get(axis, {})
    return table if hasattr(table, "keys") else {}


def _names(path: Path, root: Any, axis: str) -> Names | None:
    """Return the names of the observations or variables, read at once because the file will be closed."""
    with reading(path):
        table = _members(root, axis)
        index = table.attrs.get("_index", "") if hasattr(table, "attrs") else ""
        if index not in table:
            return None
        require_sound(path, f"{axis}/{index}", table[index])
        names = np.asarray(optional("anndata.io", path).read_elem(table[index]))
        if names.ndim != 1:
            raise ValueError(f"{axis}/{index} has shape {names.shape} instead of one name per row")
        return Names.build(names)


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
    """Return the embeddings that are no pictures, otherwise the data matrix, the pictures or the layers."""
    embeddings = {name: element for name, element in elements.items() if name.startswith("obsm/")}
    wide = {name: element for name, element in embeddings.items() if not _is_picture(name, element)}
    if any(why_not(element) is None for element in wide.values()):
        return wide
    data = {name: element for name, element in elements.items() if name == "X"}
    return data | wide if any(why_not(element) is None for element in data.values()) else embeddings | data or elements


def _is_picture(name: str, element: StoredArray) -> bool:
    place, _, short = name.partition("/")
    return place == "obsm" and len(element.shape) == 2 and is_picture(short, element.shape[1])


def _why_unread(name: str, element: StoredArray) -> str:
    if why_not(element) is None and _is_picture(name, element):
        return f"has only {count(element.shape[1], 'column')}, like a UMAP; it is read only if --key names it"
    return "is read only if keys= names it"


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
        return refused(f"contains {encoding or 'a group'}, not a matrix")
    return StoredArray(shape, dtype, partial(_dense, path, key, element, shape, dtype))


def _table(frame: pd.DataFrame) -> StoredArray:
    """Describe the numeric columns of a table as one array."""
    numeric = frame[[name for name, column in frame.items() if is_numeric(column)]]
    if not numeric.shape[1]:
        return refused("is a table without numeric columns")
    return StoredArray(numeric.shape, np.dtype(float), partial(numbers, numeric))


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
    names = names_of_cells(adata)
    if obsm is not None:
        return NamedRows(
            split_names(load_backed(_choose_matrix(adata.obsm, obsm, "obsm")), f"obsm[{obsm!r}]")[0], names
        )
    if (
        isinstance(layer, str)
        and layer in ("raw", "raw/X", "raw.X")
        and layer not in adata.layers
        and adata.raw is not None
    ):
        state_feature_types("raw", adata.raw.var.get(FEATURE_TYPES, ()))
        return NamedRows(load_backed(adata.raw.X), names)
    if layer is not None:
        state_feature_types(f"layers[{layer!r}]", adata.var.get(FEATURE_TYPES, ()))
        return NamedRows(load_backed(_choose_matrix(adata.layers, layer, "layer", "layers")), names)
    return NamedRows(split_names(adata, "adata")[0], names)


def _choose_matrix(matrices: Mapping[str, Any], key: str, name: str, folder: str | None = None) -> Any:
    short = key.removeprefix(f"{folder or name}/") if isinstance(key, str) else key
    if kinds.label(short, name) not in matrices:
        # Since version 0.13, anndata lists X among the layers, under the key None.
        known = join_names(str(entry) for entry in matrices if entry is not None)
        raise ValueError(f"{name} must be among {known}, got {key!r}")
    return matrices[short]


_FEATURES = ("features", "genes")
_INSTEAD = "write an embedding of fewer columns, such as X_pca"


def is_tenx_folder(path: Path) -> bool:
    """Return whether a folder has the layout of Cell Ranger: a matrix with barcodes and features."""
    prefix = _prefix(path)
    return prefix is not None and _part(path, "barcodes", ".tsv", prefix) is not None


def _prefix(path: Path) -> str | None:
    """Return what the names of a sample's files begin with, as in archives; None without exactly one matrix."""
    if not path.is_dir():
        return None
    endings = tuple(f"matrix.mtx{packed}" for packed in ("", *COMPRESSED))
    found = [file.name for file in path.iterdir() if file.name.endswith(endings)]
    return found[0][: found[0].index("matrix.mtx")] if len(found) == 1 else None


def _part(folder: Path, name: str, ending: str, prefix: str = "") -> Path | None:
    candidates = (folder / f"{prefix}{name}{ending}{packed}" for packed in ("", *COMPRESSED))
    return next((path for path in candidates if path.is_file()), None)


def tenx_folder_arrays(path: Path) -> NamedArrays:
    """Describe the matrix of a folder written by Cell Ranger, transposed to cells x features."""
    prefix = _prefix(path) or ""
    matrix = _part(path, "matrix", ".mtx", prefix)
    assert matrix is not None
    return _market(matrix, path, file_stem(path), prefix)


def market_arrays(path: Path) -> NamedArrays:
    """Describe a Matrix Market file, with the barcodes and features in files beside it if there are any."""
    ending = file_ending(path)
    prefix = path.name[: -len(ending)].removesuffix("matrix")
    if (path.parent / f"{prefix}.barcodes.txt").is_file():
        # kallisto and bustools name the files of a matrix after it.
        prefix += "."
    return _market(path, path.parent, file_stem(path), prefix)


def _market(file: Path, folder: Path, name: str, prefix: str) -> NamedArrays:
    rows, columns, kind, symmetric = _market_header(file)
    barcodes = _part(folder, "barcodes", ".tsv", prefix) or _part(folder, "barcodes", ".txt", prefix)
    cells = None if barcodes is None else np.array([fields[0] for fields in _fields(barcodes)], dtype=object)
    transposed = False
    if cells is not None:
        if len(cells) not in (rows, columns):
            raise UnreadableFileError(
                f"Matrix Market file {file} must have one barcode per row or column, got {rows:,} x {columns:,} and "
                f"{len(cells):,} barcodes"
            )
        transposed = len(cells) == columns
        state(f"{name}: cells are {'columns' if transposed else 'rows'}, as barcodes show")
    shape = (columns, rows) if transposed else (rows, columns)
    load: Any = partial(_read_market, file, name, shape, kind, transposed=transposed, symmetric=symmetric)
    load = load if cells is None else partial(_state_droplets, name, load)
    stored = StoredArray(shape, kind, load)
    if cells is None:
        text = f"{name}: {rows:,} x {columns:,}, rows as in the file, because no barcodes show which side has the cells"
        state(f"{text}; if rows are genes, as most programs write them, pass transpose=True")
        return NamedArrays({name: stored})
    types = _feature_types(folder, prefix, shape[1])
    if types is None or len(set(types.tolist())) < 2:
        return NamedArrays({name: stored}, Names.build(cells))
    parts = {
        kind_of: StoredArray((shape[0], int((types == kind_of).sum())), kind, partial(_columns, load, types == kind_of))
        for kind_of in dict.fromkeys(types.tolist())
    }
    return NamedArrays(parts, Names.build(cells))


def _state_droplets(name: str, load: Callable[[], Array]) -> Array:
    """Return the counts, and state if most barcodes are droplets without a cell."""
    counts = load()
    if text := describe_droplets(counts.sum(axis=1)):
        state_warning(f"{name}: {text}: {lowercase_start(DROPLETS_ADVICE)}")
    return counts


def _columns(load: Any, wanted: Array) -> Array:
    return np.asarray(load()[:, wanted])


def _market_header(file: Path) -> tuple[int, int, np.dtype[Any], bool]:
    with reading(file), open_bytes(file) as stream:
        head = stream.readline(1 << 12).decode("latin-1").lower().split()
        if len(head) < 5 or head[0] != "%%matrixmarket":
            raise UnreadableFileError(f"Matrix Market file {file} must begin with %%MatrixMarket, got {head[:1]}")
        line = stream.readline(1 << 16)
        while line.startswith(b"%") or (line and not line.strip()):
            line = stream.readline(1 << 16)
        sizes = [int(field) for field in line.split()]
    if head[3] not in ("real", "integer", "double", "unsigned-integer", "pattern") or len(sizes) not in (2, 3):
        raise UnreadableFileError(f"Matrix Market file {file} must contain real numbers, got {' '.join(head[1:])}")
    size, rows, columns = file.stat().st_size, *sizes[:2]
    n_values = sizes[2] if len(sizes) == 3 else rows * columns
    if min(sizes) < 0 or 2 * n_values > 1000 * size:
        raise UnreadableFileError(
            f"Matrix Market file {file} must contain the values that it declares, got {n_values:,} in {size:,} bytes"
        )
    return (
        rows,
        columns,
        np.dtype("f4" if head[3] in ("integer", "pattern", "unsigned-integer") else "f8"),
        head[4] != "general",
    )


def _read_market(
    file: Path, name: str, shape: tuple[int, int], kind: np.dtype[Any], *, transposed: bool, symmetric: bool
) -> Array:
    """Read the values of a Matrix Market file; SciPy's parser ends the process if a file is damaged."""
    import pandas as pd

    require_memory(file, name, shape, kind, _INSTEAD)
    require_plausible(file, name, math.prod(shape) * kind.itemsize, file.stat().st_size)
    stored = shape[::-1] if transposed else shape
    with reading(file), open_bytes(file) as stream:
        words = stream.readline(1 << 12).lower().split()
        table = pd.read_csv(stream, sep=r"\s+", comment="%", header=None, dtype=float).to_numpy()
    sparse, sizes = b"coordinate" in words, table[0]
    with reading(file):
        if not sparse:
            # Values are stored column by column.
            if len(table) - 1 != math.prod(stored):
                raise UnreadableFileError(
                    f"Matrix Market file {file} must contain {stored} values, got {len(table) - 1:,}"
                )
            matrix = table[1:, 0].reshape(stored[::-1])
            return np.ascontiguousarray(matrix if transposed else matrix.T)
        if len(table) - 1 != int(sizes[2]) or table.shape[1] < (2 if b"pattern" in words else 3):
            raise UnreadableFileError(
                f"Matrix Market file {file} must contain the {int(sizes[2]):,} values that it declares, got "
                f"{len(table) - 1:,}"
            )
        rows, columns = (table[1:, i].astype(np.int64) - 1 for i in range(2))
        if rows.size and (rows.min() < 0 or columns.min() < 0 or rows.max() >= stored[0] or columns.max() >= stored[1]):
            raise UnreadableFileError(f"Matrix Market file {file} must contain places within {stored}, got others")
        values = np.ones(len(rows)) if b"pattern" in words else table[1:, 2]
        matrix = np.zeros(stored, kind)
        np.add.at(matrix, (rows, columns), values)
        if symmetric:
            below = rows != columns
            np.add.at(
                matrix, (columns[below], rows[below]), -values[below] if b"skew-symmetric" in words else values[below]
            )
        return np.ascontiguousarray(matrix.T) if transposed else matrix


def _fields(file: Path) -> list[list[str]]:
    """Return the fields of each line of a table with tabs."""
    with reading(file), open_bytes(file) as stream:
        return [line.split("\t") for line in stream.read().decode("utf-8").splitlines() if line]


def _feature_types(folder: Path, prefix: str, n_features: int) -> Array | None:
    """Return the type of each feature, from the third column of features.tsv."""
    file = next((found for name in _FEATURES if (found := _part(folder, name, ".tsv", prefix))), None)
    if file is None:
        return None
    types = [row[2] if len(row) > 2 else "" for row in _fields(file)]
    return np.array(types) if len(types) == n_features and all(types) else None


def tenx_hdf5_arrays(path: Path) -> NamedArrays:
    """Describe the matrix of a 10x .h5 file, which is stored by cells; each genome or type of feature is an array."""
    with open_hdf5(path) as root:
        with reading(path):
            groups = ["matrix"] if "matrix" in root else list(root)
        require_own(path, root, groups)
        arrays: dict[str, StoredArray] = {}
        for group in groups:
            with reading(path):
                features, cells = (int(n) for n in read_dataset(path, f"{group}/shape"))
                kind = np.dtype(root[group]["data"].dtype)
            name = file_stem(path) if len(groups) == 1 else group
            kind = np.dtype("f4") if kind.kind in "iu" and kind.itemsize <= 4 else kind
            load = partial(_state_droplets, name, partial(_read_tenx, path, group, (cells, features), kind))
            types = _tenx_types(path, root, group, features)
            if types is None:
                arrays[name] = StoredArray((cells, features), kind, load)
                continue
            for feature_type in dict.fromkeys(types.tolist()):
                chosen = types == feature_type
                arrays[feature_type] = StoredArray((cells, int(chosen.sum())), kind, partial(_columns, load, chosen))
    return NamedArrays(arrays, Names(lambda: read_dataset(path, f"{groups[0]}/barcodes").astype(str)))


def _tenx_types(path: Path, root: Any, group: str, n_features: int) -> Array | None:
    place = f"{group}/features/feature_type"
    if place not in root:
        return None
    types = read_dataset(path, place).astype(str)
    return types if len(types) == n_features and len(set(types.tolist())) > 1 else None


def _read_tenx(path: Path, group: str, shape: tuple[int, int], kind: np.dtype[Any]) -> Array:
    require_memory(path, group, shape, kind, _INSTEAD)
    data, *places = (read_dataset(path, f"{group}/{name}") for name in _PARTS)
    # Genes x cells by columns is cells x genes by rows.
    return np.asarray(dense_from_sparse(path, group, "csr", [data.astype(kind), *places], shape, kind))


def loom_arrays(path: Path) -> NamedArrays:
    """Describe the matrix and layers of a Loom file, transposed to cells x genes, and the attributes of the cells."""
    with open_hdf5(path) as root:
        require_own(path, root, [name for name in ("matrix", "layers", "col_attrs") if name in root])
        arrays: dict[str, StoredArray] = {}
        with reading(path):
            require_groups(path, root, [name for name in ("layers", "col_attrs") if name in root])
            places = ["matrix", *(f"layers/{name}" for name in sorted(root.get("layers", ()), key=natural_key))]
            for place in places:
                dataset = root[place]
                stored = describe(path, place, dataset)
                arrays[place] = StoredArray(
                    stored.shape[::-1],
                    stored.dtype,
                    partial(lambda place: np.ascontiguousarray(read_dataset(path, place).T), place),
                    stored.refusal,
                )
            columns = {name: describe(path, f"col_attrs/{name}", root["col_attrs"][name]) for name in root["col_attrs"]}
        name = next((name for name in ("CellID", "obs_names", "cell_id", "barcode") if name in columns), None)
    names = None if name is None else Names(lambda: read_dataset(path, f"col_attrs/{name}").astype(str), column=name)
    more = [name for name, array in columns.items() if len(array.shape) > 1]
    return NamedArrays(arrays | columns, names, on_request=[*(name for name in arrays if name != "matrix"), *more])


def _open_mudata(path: Path, keys: Keys, labels: Any, layer_axis: Any) -> Contents:
    """Read a representation per modality, for the cells that all modalities have."""
    with open_hdf5(path) as root:
        require_own(path, root, ["mod", "obsm", "obs"])
        elements: dict[str, StoredArray] = {}
        defaults: list[str] = []
        cells: dict[str, Array] = {}
        for place, group in _mudata_parts(path, root):
            own = {name: element for name, element in _elements(path, group) if place or name.startswith("obsm/")}
            prefix = f"{place}/" if place else ""
            elements |= {f"{prefix}{name}": element for name, element in own.items()}
            names = _names(path, group, "obs")
            cells |= {f"{prefix}{name}": names.values for name in own} if names is not None else {}
            defaults += [f"{prefix}{name}" for name in _default(own)] if place else []
        wanted = {name: elements[name] for name in (elements if keys is not None else defaults)}
        if keys is not None and not isinstance(keys, str):
            # The name of a modality stands for its default.
            inside = {key: [name for name in defaults if name.startswith(f"{key}/")] for key in keys}
            keys = [name for key in keys for name in ([key] if key in elements else inside[key] or [key])]
        found = contents(path, wanted, keys)
        if keys is None and len(found.representations) > 1:
            state(f"{path.name}: {join_names(found.representations)}, in the order of the file; cells matched by name")
        with reading(path):
            columns = _obs_columns(root)
    unread = {name: "is read only if keys= names it" for name in elements if name not in wanted}
    return replace(_shared_cells(path, found, cells), skipped=found.skipped | unread, labels_available=columns)


def _mudata_parts(path: Path, root: Any) -> list[tuple[str, Any]]:
    with reading(path):
        require_groups(path, root, [name for name in ("mod",) if name in root])
        if "mod" not in root or not list(root["mod"]):
            raise UnreadableFileError(f"MuData file {path} must contain modalities, got none")
        order = [str(name) for name in root["mod"].attrs.get("mod-order", sorted(root["mod"], key=natural_key))]
        return [*((name, root["mod"][name]) for name in order if name in root["mod"]), ("", root)]


def _shared_cells(path: Path, found: Contents, cells: dict[str, Array]) -> Contents:
    """Keep the cells that all representations have, in the order of the first one, and state how many."""
    own = [cells[name] for name in found.representations if name in cells]
    if len(own) < len(found.representations) or not own:
        return found
    shared = set(own[0].tolist()).intersection(*(names.tolist() for names in own[1:]))
    kept = [name for name in own[0].tolist() if name in shared]
    if not kept:
        raise UnreadableFileError(
            f"MuData file {path} must have cells that all modalities share, got none; choose one with keys= (--key)"
        )
    for names in own:
        if len(set(names.tolist())) != len(names):
            raise UnreadableFileError(f"MuData file {path} must have distinct names of cells, got repeats")
    total = len(set().union(*(names.tolist() for names in own)))
    if len(kept) < total:
        state(f"{file_stem(path)}: {len(kept):,} of {total:,} cells, those in {join_names(found.representations)}")
    aligned = {}
    for (name, matrix), names in zip(found.representations.items(), own, strict=True):
        place = {cell: row for row, cell in enumerate(names.tolist())}
        rows = np.array([place[cell] for cell in kept])
        same = len(rows) == len(matrix) and (rows == np.arange(len(rows))).all()
        aligned[name] = matrix if same else matrix[rows]
    return replace(found, representations=aligned, row_names=Names.build(np.array(kept, dtype=object)))


def _labels_of_mudata(path: Path, column: str | None) -> Array | NamedRows:
    with open_hdf5(path) as root:
        require_own(path, root, ["mod", "obs"])
        modality, _, last = (column or "").partition(":")
        if column is not None and last and modality in root["mod"] and column not in root["obs"]:
            return labels_of_anndata(path, root["mod"][modality], last)
        known = {place: _obs_columns(group) for place, group in _mudata_parts(path, root)}
        owners = [place for place, columns in known.items() if column in columns]
        if column is not None and "" not in owners:
            if len(owners) == 1:
                return labels_of_anndata(path, root["mod"][owners[0]], column)
            among = [f"{place}:{name}" if place else name for place, columns in known.items() for name in columns]
            raise ValueError(f"column must be among {join_names(among)} in {path}, got {column!r}")
        return labels_of_anndata(path, root, column)


def _obs_columns(group: Any) -> tuple[str, ...]:
    return tuple(map(str, group["obs"].attrs.get("column-order", ()))) if "obs" in group else ()


def _open_h5ad(path: Path, keys: Keys, *_: Any) -> Contents:
    with open_hdf5(path) as root:
        return open_anndata(path, root, keys)


def _labels_of_h5ad(path: Path, column: str | None) -> NamedRows:
    with open_hdf5(path) as root:
        return labels_of_anndata(path, root, column)


ANNDATA = Format(_labels_of_h5ad, _open_h5ad)
"""The format of .h5ad files."""
MUDATA = Format(_labels_of_mudata, _open_mudata)
"""The format of .h5mu files."""
