"""Checks of paths, sizes, compressed files and links, and one error class for unreadable files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from shesha.support import types as kinds
from shesha.support.files import open_regular, text_fault
from shesha.support.memory import format_bytes, memory_budget
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
_SIGNATURES = {
    b"\x93NUMPY": "a .npy file",
    b"PK\x03\x04": "a zip archive such as .npz or .pt",
    b"PAR1": "a .parquet file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file such as .h5ad",
    b"\x80\x02": "a Python pickle, which is never read",
    b"\x80\x03": "a Python pickle, which is never read",
    b"\x80\x04": "a Python pickle, which is never read",
    b"\x80\x05": "a Python pickle, which is never read",
}


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


_METADATA = {".zarray", ".zattrs", "zarr.json"}
_HARMLESS = 1 << 28
"""Number of bytes to which any chunk may unpack, because chunks of text declare no size."""
_DEFLATE_RATIO = 1032
"""Largest compression ratio that zlib, gzip and deflate can reach."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17
_SHARDED = "sharding_indexed"
_NO_CHUNK = (1 << 64) - 1
"""Value that stands for the position and length of an inner chunk that was never written."""


def require_bounded_chunks(path: Path, place: str, folder: Path, chunk: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array if one of its chunks unpacks to far more than its shape declares.

    Parameters
    ----------
    path, place : path, str
        Path of the store, and name of the array in it.
    folder : path
        Folder of the array.
    chunk : tuple of int
        Declared shape of a chunk, which the chunk grid in the array's metadata overrides if there is one.
    dtype : numpy.dtype
        Data type of the array.

    Raises
    ------
    UnreadableFileError
        If a chunk unpacks to more than twice its declared size and to more than 256 MiB, or if its codecs cannot be
        checked.
    """
    try:
        about = _metadata(folder)
        grid = about["chunk_grid"]["configuration"]["chunk_shape"] if "chunk_grid" in about else chunk
        chunk = tuple(int(n) for n in grid)
        measure = _measure(_codecs(about), chunk)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UnreadableFileError(
            f"{place} in {path} must be compressed once, or sharded with a plain index, got {error}; store it again"
        ) from error
    if measure is None:
        return
    require_memory(path, f"a chunk of {place}", chunk, dtype, "store it in smaller chunks")
    limit = max(2 * math.prod(chunk) * dtype.itemsize, _HARMLESS)
    for file in sorted(folder.rglob("*")):
        if file.name in _METADATA or not file.is_file() or not file.stat().st_size:
            continue
        with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            size = measure(data, limit)
        if size > limit:
            raise UnreadableFileError(
                f"{place} in {path} must unpack to chunks of {chunk}, got {file.relative_to(folder)}, which unpacks to "
                f"{format_bytes(size)} or more; the store is damaged, or was made to exhaust memory"
            )


Bytes = Any
"""Bytes, or a memory-mapped file."""
Measure = Callable[[Bytes, int], int]


def _metadata(folder: Path) -> dict[str, Any]:
    file = next((folder / name for name in ("zarr.json", ".zarray") if (folder / name).is_file()), None)
    return {} if file is None else dict(json.loads(file.read_bytes()))


def _codecs(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the codecs in the order in which they pack data, for either version of the Zarr format."""
    if "codecs" in about:
        return list(about["codecs"])
    return [codec for codec in (*(about.get("filters") or ()), about.get("compressor")) if codec]


def _name(codec: dict[str, Any]) -> str:
    return str(codec.get("name", codec.get("id", ""))).removeprefix("numcodecs.")


def _measure(codecs: Sequence[dict[str, Any]], shape: Sequence[int]) -> Measure | None:
    """Return a function that measures the unpacked size of bytes, or None if nothing is compressed."""
    packing = [codec for codec in codecs if _name(codec) in (*_SIZES, _SHARDED)]
    if not packing:
        return None
    if len(packing) > 1:
        # Only one decompression is measured; a second one could expand its result without limit.
        raise ValueError(" and ".join(map(_name, packing)))
    return _SIZES[_name(packing[0])] if _name(packing[0]) in _SIZES else _shard(packing[0]["configuration"], shape)


def _shard(about: dict[str, Any], shape: Sequence[int]) -> Measure | None:
    """Return a function that sums the unpacked sizes of the inner chunks of a shard."""
    inner = about["chunk_shape"]
    measure = _measure(about["codecs"], inner)
    if measure is None:
        return None
    n_chunks = math.prod(-(-extent // part) for extent, part in zip(shape, inner, strict=True))
    endings = {"bytes": 0, "crc32c": 4}
    length = 16 * n_chunks + sum(endings[_name(codec)] for codec in about["index_codecs"])
    at_end = about.get("index_location", "end") == "end"

    def size(data: Bytes, limit: int) -> int:
        index = data[max(0, len(data) - length) :] if at_end else data[:length]
        total = 0
        for start, n_bytes in _entries(index[: 16 * n_chunks]):
            total += measure(data[start : start + n_bytes], limit) if start < len(data) else 0
            if total > limit:
                break
        return total

    return size


def _entries(index: bytes) -> Iterator[tuple[int, int]]:
    numbers = np.frombuffer(index[: len(index) // 16 * 16], dtype="<u8").reshape(-1, 2).tolist()
    yield from ((start, n_bytes) for start, n_bytes in numbers if (start, n_bytes) != (_NO_CHUNK, _NO_CHUNK))


def deflate_size(data: Bytes, limit: int) -> int:
    """Return the unpacked size of a deflate stream; 0 if it cannot exceed the limit."""
    if len(data) * _DEFLATE_RATIO <= limit:
        return 0
    return _stream_size(lambda: zlib.decompressobj(wbits=47), data, limit)


def _stream_size(make: Callable[[], Any], data: Bytes, limit: int) -> int:
    """Count unpacked bytes over all concatenated streams, stopping at the limit."""
    total, rest = 0, data[:]
    while rest and total <= limit:
        decoder = make()
        piece = decoder.decompress(rest, 1 << 20)
        while piece and total <= limit:
            total += len(piece)
            piece = b"" if decoder.eof else decoder.decompress(getattr(decoder, "unconsumed_tail", b""), 1 << 20)
        rest = decoder.unused_data.lstrip(b"\0")
    return total


def _size_reader(start: int) -> Measure:
    """Return a function that reads the declared size from four bytes at this position of the header."""
    return lambda data, limit: int.from_bytes(data[start : start + 4], "little")


def _zstd_size(data: Bytes, limit: int) -> int:
    """Sum the maximum sizes of all blocks, because the sizes that headers declare may be missing or wrong."""
    offset = total = 0
    while data[offset : offset + 4] == _ZSTD_MAGIC and offset + 6 <= len(data):
        declared, held, offset = _zstd_frame(data, offset)
        total += max(declared, held)
    return total


def _zstd_frame(data: Bytes, offset: int) -> tuple[int, int, int]:
    """Return the declared size of a frame, the maximum size of its blocks, and where the frame ends."""
    about = data[offset + 4]
    single = about >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[about >> 6]
    offset += 5 + (0 if single else 1) + (0, 1, 2, 4)[about & 3]
    declared = int.from_bytes(data[offset : offset + content], "little") + (256 if content == 2 else 0)
    offset, held = offset + content, 0
    while offset + 3 <= len(data):
        header = int.from_bytes(data[offset : offset + 3], "little")
        kind, size = header >> 1 & 3, header >> 3
        # A block is raw (0), one repeated byte (1) or compressed (2), which unpacks to at most 128 KiB.
        held += size if kind < 2 else _ZSTD_BLOCK
        offset += 3 + (1 if kind == 1 else size)
        if header & 1:
            break
    return declared, held, offset + 4 * (about >> 2 & 1)


_SIZES: dict[str, Measure] = {
    "zlib": deflate_size,
    "gzip": deflate_size,
    "bz2": lambda data, limit: _stream_size(bz2.BZ2Decompressor, data, limit),
    "lzma": lambda data, limit: _stream_size(lzma.LZMADecompressor, data, limit),
    "blosc": _size_reader(4),
    "lz4": _size_reader(0),
    "zstd": _zstd_size,
}


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
    if not hasattr(dataset, "file"):
        folder = Path(dataset.store.root) / dataset.path
        require_bounded_chunks(path, place, folder, tuple(dataset.chunks), dtype)
    stored = dataset.id.get_storage_size() if hasattr(dataset, "file") else dataset.nbytes_stored()
    require_plausible(path, place, math.prod(shape) * dtype.itemsize, stored)
