"""Checks of paths and sizes, file endings, compressed files, and one error class for unreadable files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from shesha.support import argument_types as kinds
from shesha.support.memory import memory_budget, readable
from shesha.support.optional import require
from shesha.support.regular_files import open_regular, text_fault

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Endings of compressed files."""


def file_ending(path: Path) -> str:
    """Return the ending of a file name in lower case, such as '.npy' or '.csv.gz'."""
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + last if last in COMPRESSED else last


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
    b"PK\x03\x04": "a zip archive such as .npz",
    b"PAR1": "a .parquet file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file such as .h5ad",
    b"\x80\x02": "a Python pickle, which is never read",
    b"\x80\x03": "a Python pickle, which is never read",
    b"\x80\x04": "a Python pickle, which is never read",
    b"\x80\x05": "a Python pickle, which is never read",
}


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
    if not _first_bytes(path):
        raise UnreadableFileError(f"{path} must be a {file_ending(path)} file, got an empty file; write the file again")
    return path


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(max(map(len, _SIGNATURES)))


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


def require_memory(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], instead: str) -> None:
    """Refuse an array that would not fit in memory, before it is read."""
    need, limit = math.prod(shape) * dtype.itemsize, memory_budget()
    if need > limit:
        raise UnreadableFileError(
            f"{name} in {path} must fit the memory budget of {readable(limit)}, "
            f"got shape {shape} of {dtype}, {readable(need)}: {instead}, or raise SHESHA_MEMORY"
        )


def require_plausible(path: Path, name: str, declared: int, stored: int) -> None:
    """Refuse arrays with an implausibly high compression ratio."""
    if declared > _MOST_UNASKED and declared > _TIGHTEST * stored:
        raise UnreadableFileError(
            f"{name} in {path} must have at most {_TIGHTEST:,} unpacked bytes per stored byte, got "
            f"{readable(declared)} in {stored:,} bytes; the file is damaged, or was made to exhaust memory"
        )


def _open_zstandard(path: Path) -> IO[bytes]:
    pyarrow = optional("pyarrow", path)
    return io.BufferedReader(_Readable(pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")))


class _Readable(io.RawIOBase):
    """A stream of another library as a stream of Python."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zstandard,
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
                f"{self._path} must unpack to at most the memory budget of {readable(limit)}, got more: unpack the "
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


def open_text(path: Path) -> IO[str]:
    """Open a text file with its line ends as they are, compressed or not."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")
