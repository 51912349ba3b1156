"""Open files, compressed or not, as streams whose unpacked length is limited."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from shesha.io.file_checks import UnreadableFileError, optional, require_plausible
from shesha.support.memory import memory_budget, readable


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
