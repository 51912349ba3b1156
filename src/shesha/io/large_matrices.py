"""Matrices in files, read in chunks of rows, and NumPy files, whose headers are checked before values are loaded."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import sys
import tempfile
import zipfile
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol

import numpy as np

from shesha.inputs import Names
from shesha.inputs.table_columns import decide, state_layout
from shesha.inputs.vector_columns import to_float32
from shesha.io._zarr import open_zarr_matrix
from shesha.io.array_selection import StoredArray, in_order, refused, strings
from shesha.io.file_checks import (
    UnreadableFileError,
    dense_from_sparse,
    optional,
    reading,
    require_existing,
    require_file,
    require_memory,
    require_plausible,
)
from shesha.io.tables import arrow_vectors, parquet_table
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.provenance import ignore_statements, state
from shesha.support.types import Array
from shesha.support.wording import join_names, natural_place, visible_name

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
    """Describe the arrays in a .npz file, in the order of the file; names sorted as text get natural order."""
    with reading(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        packed, size = sum(member.compress_size for member in members), path.stat().st_size
        # Overlapping members share bytes, so they could unpack to any size.
        if packed > size:
            raise UnreadableFileError(
                f"{path} must not contain overlapping members, got members of {packed:,} bytes in a file of {size:,} "
                "bytes"
            )
        arrays = in_order(path, dict(_describe(path, archive, member) for member in members))
    return _sparse(path, arrays) if {"data", "format", "shape"} <= set(arrays) else arrays


_PARTS = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
"""The arrays of the formats of sparse matrices that `scipy.sparse.save_npz` writes."""


def _sparse(path: Path, arrays: dict[str, StoredArray]) -> dict[str, StoredArray]:
    """Describe the matrix that `scipy.sparse.save_npz` wrote; other arrays are unchanged."""
    kind, size = (np.ravel(arrays[name].load())[:3].tolist() for name in ("format", "shape"))
    form = strings(kind[:1]).tolist()[0] if kind else ""
    if form in ("bsr", "dia"):
        raise UnreadableFileError(
            f"{path} must contain a matrix of the format csr, csc or coo, got {form}; use .tocsr()"
        )
    if form not in _PARTS or len(size) != 2 or not set(_PARTS[form]) <= set(arrays):
        return arrays
    shape, dtype = (int(size[0]), int(size[1])), arrays["data"].dtype

    def load() -> Array:
        require_memory(path, path.stem, shape, dtype, "save fewer rows")
        return np.asarray(
            dense_from_sparse(path, path.stem, form, [arrays[name].load() for name in _PARTS[form]], shape, dtype)
        )

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
        return name, refused("is not an array")
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


Opener = Callable[[Path], Any]


class MatrixInParts(ABC):
    """Consecutive rows in several parts; the last part is kept, because rows are usually read in order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, lengths: Iterable[int]) -> None:
        self._starts = [0, *accumulate(lengths)]
        self._lock = Lock()
        self._last: tuple[int, Any] | None = None

    @abstractmethod
    def _load(self, place: int) -> Any:
        """Read one part, or map it to memory."""

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows from the parts that contain them."""
        start, stop, _ = rows.indices(self._starts[-1])
        blocks: list[Array] = []
        while start < stop:
            place = bisect_right(self._starts, start) - 1
            first, end = self._starts[place], min(stop, self._starts[place + 1])
            blocks.append(self._part(place)[start - first : end - first])
            start = end
        if len(blocks) == 1:
            # A single block stays a memory map, whose pages are read ahead.
            return blocks[0]
        return np.concatenate(blocks) if blocks else np.empty((0, *self.shape[1:]), dtype=self.dtype)

    def _part(self, place: int) -> Any:
        with self._lock:
            if self._last is None or self._last[0] != place:
                self._last = place, self._load(place)
            return self._last[1]


class ShardedMatrix(MatrixInParts):
    """The files of a directory as one matrix, in the order of their names (part-2 before part-10).

    Only the shape and data type of each file are kept; a file is opened when its rows are read.
    """

    def __init__(self, path: Path, openers: dict[str, Opener]) -> None:
        self.files = sorted(_shards(path, openers), key=natural_place)
        self._openers = openers
        widths: list[int] = []
        dtypes: list[np.dtype[Any]] = []
        lengths: list[int] = []
        for place, file in enumerate(self.files):
            shard = self._load(place)
            if len(shard.shape) != 2 or (widths and shard.shape[1] != widths[0]):
                expected = "a matrix" if not widths else f"{widths[0]} features, as {self.files[0].name} has"
                raise UnreadableFileError(f"{file} must contain {expected}, got shape {tuple(shard.shape)}")
            widths.append(int(shard.shape[1]))
            dtypes.append(np.dtype(shard.dtype))
            lengths.append(int(shard.shape[0]))
        super().__init__(lengths)
        self.shape = (self._starts[-1], widths[0])
        self.dtype = np.result_type(*dtypes)
        state(f"{path.name}: {len(self.files)} files of consecutive rows, in the order of their names")

    def ids(self) -> Array | None:
        """Return the identifiers of all rows, or None if a file has none."""
        parts = [file_ids(self._load(place)) for place in range(len(self.files))]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    def _load(self, place: int) -> Any:
        file = self.files[place]
        with ignore_statements():
            return self._openers[file.suffix.lower()](file)


def _shards(path: Path, openers: dict[str, Opener]) -> list[Path]:
    files = [file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_"))]
    shards = [file for file in files if file.suffix.lower() in openers]
    endings = " or ".join(openers)
    if not shards:
        raise UnreadableFileError(f"{path} must contain {endings} files with consecutive rows, got none")
    if len({file.suffix.lower() for file in shards}) > 1:
        names = ", ".join(sorted(file.name for file in shards)[:4])
        raise UnreadableFileError(f"{path} must contain files of one kind, {endings}, got both: {names}")
    return shards


_UNPACKED = 24
"""Bytes of memory per value while a column is decoded: page, dictionary and array."""


class ParquetMatrix(MatrixInParts):
    """A column of vectors, or else columns of numbers, read one row group at a time."""

    def __init__(self, path: Path, key: str | None) -> None:
        self._path = path
        with reading(path):
            self._file = optional("pyarrow.parquet", path).ParquetFile(path, memory_map=True)
            groups = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        super().__init__(groups)
        table = parquet_table(path)
        layout = decide(table.columns, str(path), None if key is None else [key])
        matrices = [*layout.vectors, *layout.families, *["numbers"] * bool(layout.matrix)]
        if len(matrices) > 1:
            raise ValueError(f"key must name one of the columns {join_names(matrices)} of {path}, got {key}")
        if key is not None and not matrices:
            known = [column.name for column in table.columns if column.kind != "other"]
            raise ValueError(f"key must be one of {join_names(known)} in {path}, got {key!r}")
        self._vectors = next(iter(layout.vectors.values()), None)
        columns = layout.matrix or next(iter(layout.families.values()), ())
        self._columns = [self._vectors[0].name] if self._vectors else [column.name for column in columns]
        if not self._columns or not self._starts[-1]:
            raise UnreadableFileError(f"{path} must contain rows of numbers, got none")
        filled = int(np.flatnonzero(groups)[0])
        first = [next(self._batches(filled, [name], 1)) for name in self._columns]
        self.shape = (self._starts[-1], *(first[0].shape[1:] if self._vectors else (len(first),)))
        self.dtype = np.result_type(*first)
        state_layout(path.name, layout, self.shape, next(iter(layout.vectors), None))
        self._identity = layout.identity if layout.certain else None

    def ids(self) -> Array | None:
        """Return the values of the column that identifies the rows, or None if there is none."""
        if self._identity is None or Names.build(values := self._identity.values()).counts_rows:
            return None
        return np.asarray(values, dtype=str)

    @property
    def is_list(self) -> bool:
        """Whether each row is a vector in one column, so that other columns are not features."""
        return self._vectors is not None

    def pieces(self, n_bytes: int) -> Iterator[tuple[slice, slice, Array]]:
        """Yield (rows, columns, values) of pieces that each need about `n_bytes` bytes for decoding."""
        width = self.shape[1]
        for place, (start, end) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            together = 1 if self._vectors else min(max(1, n_bytes // (_UNPACKED * (end - start))), width)
            n_rows = max(1, n_bytes // (_UNPACKED * (width if self._vectors else together)))
            for first in range(0, len(self._columns), together):
                names, row = self._columns[first : first + together], start
                columns = slice(0, width) if self._vectors else slice(first, first + len(names))
                for block in self._batches(place, names, n_rows):
                    yield slice(row, row + len(block)), columns, block
                    row += len(block)

    def _load(self, place: int) -> Any:
        with reading(self._path):
            table = self._file.read_row_group(place, columns=self._columns)
        return self._to_array(table)

    def _batches(self, place: int, names: list[str], n_rows: int) -> Iterator[Array]:
        """Yield the values of the given columns in a row group, `n_rows` rows at a time."""
        options = {"batch_size": n_rows, "row_groups": [place], "columns": names, "use_threads": False}
        with reading(self._path):
            batches = self._file.iter_batches(**options)
        table = optional("pyarrow", self._path).Table
        while True:
            with reading(self._path):
                batch = next(batches, None)
                if batch is None:
                    return
                found = table.from_batches([batch])
            yield self._to_array(found)

    def _to_array(self, table: Any) -> Array:
        if self._vectors is None:
            with reading(self._path):
                return np.column_stack([column.to_numpy() for column in table.columns])
        with reading(self._path):
            array = table.column(0).combine_chunks()
        return arrow_vectors(self._path, self._columns[0], self._vectors[1], getattr(array, "storage", array), 0)


ENDINGS = (".npy", ".zarr", ".parquet")


class StoredRows(Protocol):
    """A matrix in a file that can be read in chunks of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type."""
        ...

    def __getitem__(self, rows: slice, /) -> Array:
        """Return some rows."""
        ...


def open_matrix(path: str | os.PathLike[str], key: str | None = None) -> StoredRows:
    """Open a matrix in a .npy or .parquet file, .zarr store or directory, without reading its values.

    Parameters
    ----------
    path : str or path
        Path of the file, store or directory. A directory must contain .npy or .parquet files with consecutive rows, in
        the order of the file names. Other kinds of files cannot be read in chunks.
    key : str, optional
        Name of an array in a Zarr store, or of a column of lists in a .parquet file. Required if there are several.

    Returns
    -------
    StoredRows
        Object with `shape` and `dtype`; slicing it reads rows.

    Raises
    ------
    ValueError
        If the path has another extension, or the file has several matrices and `key` names none of them.
    UnreadableFileError
        If the file is damaged or contains no matrix of real numbers.
    """
    existing = require_existing(path)
    matrix: StoredRows
    if is_sharded(existing):
        matrix = ShardedMatrix(existing, {name: partial(_OPENERS[name], key=key) for name in (".npy", ".parquet")})
    elif (opener := _OPENERS.get(existing.suffix.lower())) is not None:
        matrix = opener(existing, key=key)
    else:
        raise ValueError(f"path must end in one of {', '.join(ENDINGS)} to be read in chunks, got {str(existing)!r}")
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"{existing} must contain a matrix of real numbers (rows, features), got shape {tuple(matrix.shape)} of "
            f"{matrix.dtype}"
        )
    return matrix


def file_ids(matrix: Any) -> Array | None:
    """Return the identifiers of the rows of a matrix in a file, or None if there are none."""
    return matrix.ids() if isinstance(matrix, ParquetMatrix | ShardedMatrix) else None


def require_same_ids(matrices: Mapping[str, Any]) -> None:
    """Refuse matrices whose identifiers show that row i of each is not the same input."""
    found = {name: ids for name, matrix in matrices.items() if (ids := file_ids(matrix)) is not None}
    for name, ids in found.items():
        first, known = next(iter(found.items()))
        if len(ids) == len(known) and not np.array_equal(ids, known):
            row = int(np.flatnonzero(ids != known)[0])
            got, expected = (visible_name(str(values[row])) for values in (ids, known))
            raise ValueError(
                f"{name} must have its rows in the order of {first}, because files read in pieces are paired by "
                f"position, got {got} in row {row} in place of {expected}; sort both by their identifiers"
            )


def is_sharded(path: Path) -> bool:
    """Return whether a path is a directory of several files, not a store such as Zarr."""
    return path.is_dir() and path.suffix.lower() not in ENDINGS


_OPENERS: dict[str, Callable[..., Any]] = {
    ".npy": lambda path, key: next(iter(npy_arrays(require_file(path)).values())).load(),
    ".zarr": open_zarr_matrix,
    ".parquet": lambda path, key: ParquetMatrix(require_file(path), key),
}


_COPIED = (".zarr", ".parquet")
_PIECE = 1 << 26
"""Maximum number of bytes to copy at a time."""
_SHARE = 16
"""A copied piece may take at most one over this number of the memory budget."""
_HELD = 4
"""A file is copied if it needs more than one over this number of the memory budget."""
_MAP_FROM, _TRIM_FROM = -3, -1
"""Options of the C library (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD)."""
_MAPPED, _KEPT = 1 << 18, 1 << 25
"""Size in bytes above which an array gets memory pages of its own, during the copy and afterwards."""


def copy_large_files(
    enter: Callable[[AbstractContextManager[str]], str],
    files: Sequence[Path],
    tell: Callable[[str], None],
    inside: Sequence[str] = (),
    *,
    paired: bool = True,
) -> list[Path]:
    """Return the files, with temporary .npy copies in place of those too large for the memory budget.

    `enter` enters a context, such as a temporary folder, that lasts until the work ends. `inside` names the columns
    that contain labels. If rows are `paired`, those of the copies must have the same identifiers.
    """
    large = {str(file): matrix for file in files if (matrix := _large(file, inside)) is not None}
    if paired:
        require_same_ids(large)
    return [_copy(enter, file, large[str(file)], tell) if str(file) in large else file for file in files]


def _large(file: Path, inside: Sequence[str]) -> Any:
    """Open a file's single matrix for piecewise reading if it is too large for memory, else return None."""
    if file.suffix.lower() not in _COPIED:
        return None
    try:
        # Files that are not copied are read later, which states their columns or reports the same error.
        with ignore_statements():
            matrix = open_matrix(file)
    except (ValueError, OSError):
        return None
    if isinstance(matrix, ParquetMatrix) and inside and not matrix.is_list:
        return None
    return open_matrix(file) if _n_bytes(matrix) > memory_budget() // _HELD else None


def _n_bytes(matrix: Any) -> int:
    return int(matrix.shape[0]) * int(matrix.shape[1]) * int(np.dtype(matrix.dtype).itemsize)


def _copy(
    enter: Callable[[AbstractContextManager[str]], str], file: Path, matrix: Any, tell: Callable[[str], None]
) -> Path:
    folder = Path(enter(tempfile.TemporaryDirectory(prefix="shesha-")))
    need, free = _n_bytes(matrix), shutil.disk_usage(folder).free
    if need > free:
        raise ValueError(
            f"the temporary folder must have {format_bytes(need)} of free space for a copy of {file}, got "
            f"{format_bytes(free)}; set TMPDIR to another folder, or save the file as .npy"
        )
    tell(
        f"{file} takes too much of the memory budget, so its rows are copied to a temporary file of "
        f"{format_bytes(need)}"
    )
    target = folder / f"{file.stem}.npy"
    dtype = np.dtype(matrix.dtype)
    with _memory_given_back():
        while (needed := _write(matrix, target, dtype)) != dtype:
            dtype = needed
    return target


def _write(matrix: Any, target: Path, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Copy the values, and return their type; it is a wider one if some values do not fit `dtype`."""
    n, d = (int(size) for size in matrix.shape)
    with target.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
        np.lib.format.write_array_header_1_0(stream, header)
        _reserve(stream, n * d * dtype.itemsize)
    rows_of_file = np.load(target, mmap_mode="r+")
    for rows, columns, values in matrix.pieces(min(_PIECE, memory_budget() // _SHARE)):
        if not np.can_cast(values.dtype, dtype):
            return np.result_type(values.dtype, dtype)
        rows_of_file[rows, columns] = values
    rows_of_file.flush()
    return dtype


def _reserve(stream: IO[bytes], n_bytes: int) -> None:
    """Reserve disk space for the values, because writing to a map on a full disk would end the process."""
    stream.flush()
    start = stream.tell()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), start, n_bytes)
    else:
        stream.truncate(start + n_bytes)


@contextmanager
def _memory_given_back() -> Iterator[None]:
    """Return the memory of decoded values to the system instead of keeping it in each decoding thread."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    set_option = getattr(library, "mallopt", lambda option, n_bytes: None)
    set_option(_MAP_FROM, _MAPPED)
    try:
        yield
    finally:
        # The C library would raise these limits by itself once large arrays are freed; a small budget needs lower
        # limits.
        kept = min(_KEPT, memory_budget() // _SHARE)
        set_option(_MAP_FROM, kept)
        set_option(_TRIM_FROM, 2 * kept)
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()
