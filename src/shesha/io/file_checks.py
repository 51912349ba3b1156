"""Checks of paths, sizes, compressed files and links, and one error class for unreadable files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from shesha.support import types as kinds
from shesha.support.files import open_regular, text_fault
from shesha.support.memory import format_bytes, is_memory_error, memory_budget
from shesha.support.optional import require

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Endings of compressed files."""


def file_ending(path: Path) -> str:
    """Return the ending of a file name in lower case, such as '.npy' or '.csv.gz'."""
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + last if last in (*COMPRESSED, ".out") else last


def file_stem(path: Path) -> str:
    """Return a file name without its ending."""
    ending = file_ending(path)
    return path.name[: len(path.name) - len(ending)] if ending else path.name


_MOST_UNASKED = 1 << 28
"""Number of bytes that any file may need in memory, however small it is on disk."""
_TIGHTEST = 1000
"""Largest plausible number of unpacked bytes per stored byte; zeros packed with deflate reach it."""
_RENAME = "; for the lines that read it, let its name end in"
_SIGNATURES = {
    b"\x93NUMPY": "a .npy file",
    b"PK\x03\x04": "a zip archive such as .npz or .pt",
    b"PAR1": "a .parquet file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file such as .h5ad",
    b"\x80\x02": "a Python pickle, which is never read",
    b"\x80\x03": "a Python pickle, which is never read",
    b"\x80\x04": "a Python pickle, which is never read",
    b"\x80\x05": "a Python pickle, which is never read",
    **dict.fromkeys((b"IxF", b"IxM", b"IxP", b"IwF", b"IwP", b"IHN", b"IBx"), f"an index of FAISS{_RENAME} .faiss"),
    b"ARROW1": f"an Arrow file{_RENAME} .arrow",
    b"SQLite format 3": f"a database of SQLite{_RENAME} .sqlite",
}
"""First bytes of files, and what they are."""


TOKENS = ", which look like the tokens of each row; average them (numpy.mean, axis=0)"
"""What lists of different lengths may be, and what to do."""
_NOT_DOWNLOADED = {
    b"version https://git-lfs": "a pointer of Git LFS instead of the content; download it with git lfs pull",
    b"<!doctype html": "a web page, such as an error of the server; download the file again",
    b"<html": "a web page, such as an error of the server; download the file again",
}
"""First bytes in lower case of what a failed download leaves, and what it is."""


class UnreadableFileError(ValueError):
    """Raised if a file is damaged, too large, or not of the kind that its extension indicates."""


def require_existing(path: str | os.PathLike[str]) -> Path:
    """Check that a path exists, and return it."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path, got {type(path).__name__}")
    target = kinds.path(path, "path")
    if not target.exists():
        raise FileNotFoundError(f"path must be an existing file, got {target}")
    return target


def require_file(path: Path) -> Path:
    """Check that a path is a regular file that can be read and is not empty, and return it."""
    if path.is_dir():
        raise IsADirectoryError(f"path must be a {path.suffix} file, got the directory {path}")
    if not path.is_file():
        raise UnreadableFileError(f"path must be a regular file, got {path}")
    start = _first_bytes(path)
    if not start:
        raise UnreadableFileError(f"{path} must be a {file_ending(path)} file, got an empty file; write the file again")
    instead = next((text for mark, text in _NOT_DOWNLOADED.items() if start.lower().startswith(mark)), None)
    if instead is not None:
        raise UnreadableFileError(f"{path} must be a {file_ending(path)} file, got {instead}")
    return path


def require_plain(folder: Path, files: Sequence[Path]) -> None:
    """Refuse links, which could lead to files outside the folder."""
    for file in files:
        for place in (file, *file.parents):
            if place == folder:
                break
            if place.is_symlink() and not _is_inside(place, folder):
                raise UnreadableFileError(f"folder {folder} must contain its files, got a link: {place}")


def _is_inside(link: Path, folder: Path) -> bool:
    """Return whether a link leads into the same folder, or to the blobs of a download cache of the same data set."""
    target = link.resolve()
    roots = [folder.resolve(), *(up / "blobs" for up in folder.resolve().parents if (up / "blobs").is_dir())]
    return any(root in target.parents for root in roots)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(max(map(len, (*_SIGNATURES, *_NOT_DOWNLOADED))))


def _advice(path: Path, error: BaseException) -> str:
    """Return advice on a damaged file."""
    start = _first_bytes(path) if path.is_file() else b""
    kind = next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), "")
    if kind and path.suffix.lower() not in kind:
        return f"its content looks like {kind}"
    if isinstance(error, UnicodeDecodeError) and path.is_file():
        with open_regular(path) as stream:
            return f"text must be in UTF-8, got {text_fault(stream)}; save the file as UTF-8"
    return "the file is damaged or has another format; write it again"


_SMALL = 1 << 16
"""Size of a file, in bytes, below which only damage can make it exceed the memory."""


def _stored_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder, such as a zarr store."""
    parts = [path] if path.is_file() else path.rglob("*")
    return sum(part.stat().st_size for part in parts if part.is_file())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Replace any error of a parser with one that names the file."""
    try:
        yield
    except (UnreadableFileError, ImportError):
        raise
    # Parsers raise errors of many classes for damaged bytes, and these classes differ between versions. Only calls of
    # parsers run in this block, so errors of this library are not hidden.
    except BaseException as error:
        # A panic in a Rust library is not an Exception, although it only means that the bytes are damaged.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if is_memory_error(error):
            if (size := _stored_bytes(path)) < _SMALL:
                kind = "folder" if path.is_dir() else "file"
                raise UnreadableFileError(
                    f"{path} must fit in the free memory, got a {kind} of {size:,} bytes that declares more than this: "
                    f"the {kind} is damaged; write it again"
                ) from error
            raise MemoryError(f"{path} does not fit in the free memory") from error
        cause = f"{type(error).__name__}: {error}".rstrip(": ")
        ending = path.name.removeprefix(file_stem(path))
        raise UnreadableFileError(
            f"{path} must be a complete {ending} file, got one that cannot be read ({cause}): {_advice(path, error)}"
        ) from error


def optional(module: str, path: Path) -> ModuleType:
    """Import a library that the extra `files` installs."""
    package = module.partition(".")[0]
    return require(module, "files", f"{package} must be installed to read {path.suffix} files such as {path}")


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open an HDF5 file for reading."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        yield root


def require_memory(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], instead: str) -> None:
    """Refuse an array that would not fit in memory, before it is read."""
    need, limit = math.prod(shape) * dtype.itemsize, memory_budget()
    if need > limit:
        raise UnreadableFileError(
            f"{name} in {path} must fit the memory budget of {format_bytes(limit)}, "
            f"got shape {shape} of {dtype}, {format_bytes(need)}: {instead}, or raise SHESHA_MEMORY"
        )


def require_plausible(path: Path, name: str, declared: int, stored: int) -> None:
    """Refuse arrays with an implausibly high compression ratio."""
    if declared > _MOST_UNASKED and declared > _TIGHTEST * stored:
        raise UnreadableFileError(
            f"{name} in {path} must have at most {_TIGHTEST:,} unpacked bytes per stored byte, got "
            f"{format_bytes(declared)} in {stored:,} bytes; the file is damaged, or was made to exhaust memory"
        )


def dense_from_sparse(
    path: Path, name: str, form: str, parts: Sequence[Any], shape: tuple[int, int], dtype: np.dtype[Any]
) -> Any:
    """Return the values, indices and pointers (or rows and columns) of a sparse matrix as a dense one, checked first.

    SciPy does not check indices, so a damaged file could otherwise make it write outside the array.
    """
    from scipy import sparse

    require_memory(path, name, shape, dtype, "write fewer rows or columns")
    packed = sum(part.nbytes for part in parts)
    require_plausible(path, name, math.prod(shape) * dtype.itemsize, packed)
    values, *places = parts
    with reading(path):
        if form == "coo":
            return sparse.coo_matrix((values, tuple(places)), shape=shape).toarray()
        matrix = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[form]((values, *places), shape=shape)
        matrix.check_format(full_check=True)
        return matrix.toarray()


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda path: optional("pyarrow", path).CompressedInputStream(str(path), "zstd"),
}
"""Functions that open a compressed file, by the last part of its name."""


class _Limited(io.RawIOBase):
    """Unpacked bytes that end in an error if there are too many for the memory, or for the size of the file."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream, self._size = path, stream, path.stat().st_size
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._read += len(data)
        limit = memory_budget()
        if self._read > limit:
            raise UnreadableFileError(
                f"{self._path} must unpack to at most the memory budget of {format_bytes(limit)}, got more: unpack the "
                "file, or raise SHESHA_MEMORY"
            )
        require_plausible(self._path, "text", self._read, self._size)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, and unpack it on the way if its name says that it is compressed."""
    opener = _OPENERS.get(path.suffix.lower())
    return path.open("rb") if opener is None else io.BufferedReader(_Limited(path, opener(path)), 1 << 20)


MOST_CHUNKS = 1 << 18
"""Maximum number of chunks in an array; readers look up each chunk separately, which takes time."""


def require_chunks(
    path: Path, place: str, shape: tuple[int, ...], chunks: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> None:
    """Refuse arrays whose chunks are too large for the memory or too many to read."""
    if not chunks or not all(chunks):
        return
    require_memory(path, f"a chunk of {place}", tuple(chunks), dtype, "store it in smaller chunks")
    n_chunks = math.prod(math.ceil(n / chunk) for n, chunk in zip(shape, chunks, strict=True))
    if n_chunks > MOST_CHUNKS:
        raise UnreadableFileError(
            f"{place} in {path} must be stored in at most {MOST_CHUNKS:,} chunks, got {n_chunks:,} of shape {chunks}"
        )


def require_own(path: Path, root: Any, names: Iterable[str]) -> None:
    """Refuse parts of a file that are links, or whose values are stored in other files."""
    with reading(path):
        present = [name for name in names if name in _keys(root)]
        for name in present:
            for place, dataset in _datasets(path, root, name, name, set()):
                if getattr(dataset, "is_virtual", False) or getattr(dataset, "external", None):
                    raise UnreadableFileError(
                        f"{path} must contain the values of {place}, got values in other files; copy the values into "
                        "this file"
                    )


def require_sound(path: Path, place: str, element: Any) -> None:
    """Refuse an array or group whose declared size is implausible, before anything is read."""
    if not hasattr(element, "keys"):
        _require_sound(path, place, element)
        return
    for name in _keys(element):
        require_sound(path, f"{place}/{name}", element[name])


def _keys(group: Any) -> Iterable[str]:
    return map(str, group.keys())


def _datasets(path: Path, group: Any, name: str, place: str, seen: set[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays below a name, after checking that each is in this file and occurs only once."""
    link = group.get(name, getlink=True) if hasattr(group, "file") else None
    if link is not None and type(link).__name__ != "HardLink":
        target = getattr(link, "filename", "") or getattr(link, "path", "")
        raise UnreadableFileError(
            f"{path} must contain {place} itself, got a link to {target}; copy the target into this file"
        )
    member = group[name]
    if not hasattr(member, "keys"):
        yield place, member
        return
    identity = member.id if hasattr(member, "file") else place
    if identity in seen:
        raise UnreadableFileError(f"{path} must contain every group once, got {place} twice")
    seen.add(identity)
    for inner in _keys(member):
        yield from _datasets(path, member, inner, f"{place}/{inner}", seen)


def _require_sound(path: Path, place: str, dataset: Any) -> None:
    if dataset.shape is None:
        return
    shape, dtype = tuple(dataset.shape), np.dtype(dataset.dtype)
    require_memory(path, place, shape, dtype, "write fewer rows")
    require_chunks(path, place, shape, dataset.chunks, dtype)
    stored = dataset.id.get_storage_size() if hasattr(dataset, "file") else dataset.nbytes_stored()
    require_plausible(path, place, math.prod(shape) * dtype.itemsize, stored)
