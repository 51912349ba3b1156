"""Read MATLAB files: up to version 7 with SciPy, version 7.3 with h5py; fields of structs are joined by dots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shesha.io.array_selection import NamedArrays, StoredArray, flatten, gather, in_memory, refused
from shesha.io.declared_sizes import deflate_size, require_own, require_sound
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory, require_plausible
from shesha.support.memory import memory_budget, readable
from shesha.support.types import Array

_COMPRESSED = 15
"""Type of a compressed element in a file of version 7."""
_CLASSES = {"double": "f8", "single": "f4", "logical": "?", "sparse": "f8", "char": "U1"}
_CLASSES |= {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_HIDDEN = ("#refs#", "#subsystem#")


def matlab_arrays(path: Path) -> NamedArrays:
    """Describe the variables of a .mat file; row and column vectors become 1-D, as MATLAB has no 1-D arrays."""
    with path.open("rb") as stream:
        start = stream.read(20)
    if start.startswith(b"MATLAB 7.3") or start.startswith(b"\x89HDF"):
        return matlab_hdf5_arrays(path)
    _require_bounded(path)
    from scipy import io

    with reading(path):
        variables = io.whosmat(str(path))
    tree: dict[str, Any] = {}
    for name, shape, kind in variables:
        if kind in _CLASSES:
            tree[name] = _stored(path, name, tuple(map(int, shape)), np.dtype(_CLASSES[kind]))
        elif kind in ("struct", "cell"):
            tree[name] = _plain(_load(path, name), 0)
        else:
            tree[name] = refused(f"is a MATLAB {kind}; convert it with table2array, cellstr or double")
    return gather(path, flatten(path, tree, _leaf))


def _leaf(node: Any) -> StoredArray | None:
    if isinstance(node, StoredArray):
        return node
    return in_memory(node) if isinstance(node, np.ndarray) else None


def _require_bounded(path: Path) -> None:
    """Refuse a file that unpacks to more than fits the memory, before SciPy reads it."""
    limit, size, total = memory_budget(), path.stat().st_size, 0
    with reading(path), path.open("rb") as stream:
        head = stream.read(128)
        order: Literal["little", "big"] = "little" if head[126:128] == b"IM" else "big"
        while len(tag := stream.read(8)) == 8 and head.startswith(b"MATLAB"):
            kind, n_bytes = (int.from_bytes(tag[i : i + 4], order) for i in (0, 4))
            if kind == _COMPRESSED:
                total += deflate_size(stream.read(min(n_bytes, size)), limit)
            else:
                stream.seek(n_bytes, 1)
            if total > limit:
                raise UnreadableFileError(
                    f"MATLAB file {path} must unpack to at most the memory budget of {readable(limit)}, got more: save "
                    "fewer variables, or raise SHESHA_MEMORY"
                )
    require_plausible(path, "the variables", total, size)


def _load(path: Path, name: str) -> Any:
    from scipy import io

    with reading(path):
        return io.loadmat(str(path), variable_names=[name], mat_dtype=True)[name]


def _stored(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> StoredArray:
    flat = _without_singletons(shape)

    def load() -> Array:
        require_memory(path, name, shape, dtype, "save fewer variables")
        values = _load(path, name)
        dense = values.toarray() if hasattr(values, "toarray") else values
        return np.asarray(dense).reshape(flat)

    if dtype.kind == "U":
        return in_memory(np.array([str(row) for row in np.atleast_1d(_load(path, name))]))
    return StoredArray(flat, dtype, load)


def _without_singletons(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a vector as 1-D, and of a single value as 0-D."""
    if len(shape) == 2 and 1 in shape:
        return () if shape == (1, 1) else (math.prod(shape),)
    return shape


def _plain(value: Any, depth: int) -> Any:
    """Return structs as dictionaries and cells as lists; anything else as an array."""
    if depth > 40:
        return refused("is nested too deeply")
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        if type(value).__name__ == "MatlabFunction" or "MatlabOpaque" in type(value).__name__:
            return refused("is a MATLAB object; convert it with table2array, cellstr or double")
        rows = [{name: _plain(row[name], depth + 1) for name in value.dtype.names} for row in value.ravel("F")]
        return rows[0] if len(rows) == 1 else rows
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        items = [_plain(item, depth + 1) for item in value.ravel("F")]
        texts = [item for item in items if isinstance(item, str)]
        return np.array(texts) if items and len(texts) == len(items) else items
    if hasattr(value, "toarray"):
        return value.toarray()
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return str(array.ravel()[0]) if array.size == 1 else "" if not array.size else array.ravel()
    return array.reshape(_without_singletons(array.shape))


def matlab_hdf5_arrays(path: Path) -> NamedArrays:
    """Describe the variables of a .mat file of version 7.3, whose arrays are stored transposed."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        with reading(path):
            names = [name for name in root if name not in _HIDDEN]
        require_own(path, root, [*names, *(name for name in _HIDDEN if name in root)])
        with reading(path):
            tree = {name: _hdf5_tree(path, root, root[name], 0) for name in names}
    return gather(path, flatten(path, tree, _leaf))


def _matlab_class(node: Any) -> str:
    kind = node.attrs.get("MATLAB_class", b"")
    return kind.decode() if isinstance(kind, bytes) else str(kind)


def _hdf5_tree(path: Path, root: Any, node: Any, depth: int) -> Any:
    """Describe a variable of version 7.3: a struct as dictionary, a cell as list, an array as it will be read."""
    if depth > 40:
        return refused("is nested too deeply")
    if hasattr(node, "keys"):
        if "MATLAB_sparse" in node.attrs:
            return _sparse(path, node)
        if _matlab_class(node) not in ("struct", ""):
            return refused(f"is a MATLAB {_matlab_class(node)}; convert it with table2array, cellstr or double")
        return _struct({name: _hdf5_tree(path, root, node[name], depth + 1) for name in node})
    if node.dtype.kind == "O" and node.dtype.metadata and "ref" in node.dtype.metadata:
        require_sound(path, node.name, node)
        references = np.asarray(node[()]).T.ravel("F")
        items = [_hdf5_tree(path, root, root[reference], depth + 1) for reference in references]
        if items and all(isinstance(item, str) for item in items):
            return np.array(items)
        return items
    if "MATLAB_empty" in node.attrs:
        return refused("is empty")
    if _matlab_class(node) == "char":
        require_sound(path, node.name, node)
        codes = np.atleast_2d(node[()].T)
        texts = ["".join(map(chr, row)) for row in codes]
        return texts[0] if len(texts) == 1 else np.array(texts)
    if node.shape is None or node.dtype.kind not in "fiub":
        return refused(f"contains {_matlab_class(node) or node.dtype}, not numbers")
    shape = _without_singletons(tuple(node.shape[::-1]))
    return StoredArray(shape, node.dtype, partial(_transposed, path, node.name, shape))


def _struct(fields: dict[str, Any]) -> Any:
    """Return a struct array, whose fields are lists of one length, as a list of structs."""
    lengths = {len(value) if isinstance(value, list) else 0 for value in fields.values()}
    if len(lengths) == 1 and (n := lengths.pop()):
        return [{name: values[i] for name, values in fields.items()} for i in range(n)]
    return fields


def _transposed(path: Path, place: str, shape: tuple[int, ...]) -> Array:
    h5py = optional("h5py", path)
    with reading(path), h5py.File(path, "r") as root:
        require_sound(path, place, root[place])
        return np.asarray(root[place][()]).T.reshape(shape)


def _sparse(path: Path, group: Mapping[str, Any]) -> StoredArray:
    """Describe a sparse matrix, which is stored by columns."""
    if "ir" not in group:
        return refused("is an empty sparse matrix")
    rows, columns = int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1  # type: ignore[attr-defined]
    shape, dtype, place = (rows, columns), group["data"].dtype, group.name  # type: ignore[attr-defined]

    def load() -> Array:
        from scipy import sparse

        require_memory(path, place, shape, dtype, "save fewer rows")
        h5py = optional("h5py", path)
        with reading(path), h5py.File(path, "r") as root:
            require_sound(path, place, root[place])
            parts = tuple(root[f"{place}/{name}"][()] for name in ("data", "ir", "jc"))
            require_plausible(path, place, math.prod(shape) * dtype.itemsize, sum(part.nbytes for part in parts))
            matrix = sparse.csc_matrix((parts[0], parts[1].astype(np.int64), parts[2].astype(np.int64)), shape=shape)
            matrix.check_format(full_check=True)
            return np.asarray(matrix.toarray())

    return StoredArray(shape, dtype, load)
