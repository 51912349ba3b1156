"""NumPy files, whose headers are checked before any values are loaded."""

from __future__ import annotations

import math
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from shesha.io.array_selection import StoredArray, refused, to_float32
from shesha.io.file_checks import UnreadableFileError, reading, require_memory, require_plausible
from shesha.support.provenance import state
from shesha.support.types import Array

_UNKNOWN = "contains values of {} bytes of a type that NumPy lacks, such as float8; save them as float32"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def npy_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe the array in a .npy file; it stays on disk until its values are used."""
    with reading(path), path.open("rb") as stream:
        shape, dtype = _header(stream)
    if _is_bfloat16(dtype):
        return {path.stem: StoredArray(shape, np.dtype("f4"), partial(_bfloat16, path, shape))}
    if dtype.names is not None and len(shape) == 1 and not dtype.hasobject:
        return {name: _field(path, shape, name, dtype[name]) for name in dtype.names}
    if dtype.kind == "V" and dtype.names is None:
        return {path.stem: refused(_UNKNOWN.format(dtype.itemsize))}
    return {path.stem: StoredArray(shape, dtype, partial(_memory_map, path))}


def _field(path: Path, shape: tuple[int, ...], name: str, dtype: np.dtype[Any]) -> StoredArray:
    """Describe one field of an array of records, such as the vectors beside their ids."""
    return StoredArray((*shape, *dtype.shape), dtype.base, lambda: np.asarray(_memory_map(path)[name]))


def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is how NumPy writes the bfloat16 of ml_dtypes and JAX: two bytes without a meaning."""
    return dtype.kind == "V" and dtype.names is None and dtype.itemsize == 2


def _bfloat16(path: Path, shape: tuple[int, ...]) -> Array:
    require_memory(path, path.stem, shape, np.dtype("f4"), "write fewer rows")
    state(f"{path.name}: values of two bytes read as bfloat16")
    return to_float32(np.asarray(_memory_map(path)).view("<u2"))


def npz_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe the arrays in a .npz file, in the order of the file."""
    with reading(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        packed, size = sum(member.compress_size for member in members), path.stat().st_size
        # Overlapping members share bytes, so they could unpack to any size.
        if packed > size:
            raise UnreadableFileError(
                f"{path} must not contain overlapping members, got members of {packed:,} bytes in a file of {size:,} "
                "bytes"
            )
        arrays = dict(_describe(path, archive, member) for member in members)
    return _sparse(path, arrays) if {"data", "format", "shape"} <= set(arrays) else arrays


_PARTS = {b"csr": ("data", "indices", "indptr"), b"csc": ("data", "indices", "indptr"), b"coo": ("data", "row", "col")}
"""The arrays of the formats of sparse matrices that `scipy.sparse.save_npz` writes."""


def _sparse(path: Path, arrays: dict[str, StoredArray]) -> dict[str, StoredArray]:
    """Describe the matrix that `scipy.sparse.save_npz` wrote; other arrays are unchanged."""
    kind, size = (np.ravel(arrays[name].load())[:3].tolist() for name in ("format", "shape"))
    form = kind[0].encode() if kind and isinstance(kind[0], str) else kind[0] if kind else b""
    if form not in _PARTS or len(size) != 2 or not set(_PARTS[form]) <= set(arrays) or min(size) < 0:
        return arrays
    shape, dtype = (int(size[0]), int(size[1])), arrays["data"].dtype

    def load() -> Array:
        from scipy import sparse

        require_memory(path, path.stem, shape, dtype, "save fewer rows")
        loaded: list[Any] = [arrays[name].load() for name in _PARTS[form]]
        data, places = loaded[0], loaded[1:]
        packed = data.nbytes + sum(part.nbytes for part in places)
        require_plausible(path, path.stem, math.prod(shape) * dtype.itemsize, packed)
        with reading(path):
            if form == b"coo":
                return np.asarray(sparse.coo_matrix((data, tuple(places)), shape=shape).toarray())
            matrix = (sparse.csr_matrix if form == b"csr" else sparse.csc_matrix)((data, *places), shape=shape)
            matrix.check_format(full_check=True)
            return np.asarray(matrix.toarray())

    return {path.stem: StoredArray(shape, dtype, load)}


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and data type without unpickling."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        # Version 3 is used only for structured arrays whose field names are not Latin-1.
        return (), np.dtype("V1")
    shape, _, dtype = _HEADERS[version](stream)
    return shape, dtype


def _memory_map(path: Path) -> Array:
    with reading(path):
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _describe(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[str, StoredArray]:
    name = member.filename.removesuffix(".npy")
    if name == member.filename:
        return name, StoredArray((), np.dtype("V1"), lambda: np.empty(0), refusal="is not an array")
    with archive.open(member) as stream:
        shape, dtype = _header(stream)
        size = member.file_size - stream.tell()
    # NumPy would allocate memory even for a shape that the file cannot fill. Pickled objects are exempt, because they
    # can have any number of bytes.
    if not dtype.hasobject and math.prod(shape) * dtype.itemsize > size:
        raise UnreadableFileError(
            f"{path} must contain {name!r} completely, shape {shape} of {dtype}, got {size} bytes; write the file again"
        )
    require_plausible(path, name, member.file_size, member.compress_size)
    if _is_bfloat16(dtype):
        load = partial(_member, path, member.filename, shape, dtype)
        state(f"{path.name}: values of two bytes in {name} read as bfloat16")
        return name, StoredArray(shape, np.dtype("f4"), lambda: to_float32(load().view("<u2")))
    return name, StoredArray(shape, dtype, partial(_member, path, member.filename, shape, dtype))


def _member(path: Path, filename: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    require_memory(path, filename.removesuffix(".npy"), shape, dtype, "save it as .npy, which stays on disk")
    with reading(path), zipfile.ZipFile(path) as archive, archive.open(filename) as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        # The archive verifies a member's checksum only when the member is read to its end.
        if stream.read(1):
            raise UnreadableFileError(f"{path} must end after {filename!r}, got more bytes; write the file again")
    return array
