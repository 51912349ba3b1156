"""The unpacked size of chunks of a Zarr array, checked before decoding."""

from __future__ import annotations

import bz2
import json
import lzma
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.paths import UnreadableFileError
from shesha.support.memory import readable

_METADATA = {".zarray", ".zattrs", "zarr.json"}
_HARMLESS = 1 << 28
"""Bytes to which any chunk may unpack, because text has no declared length."""
_DEFLATE_RATIO = 1032
"""Largest compression ratio of zlib, gzip and deflate."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17


def require_bounded_chunks(path: Path, place: str, folder: Path, chunk: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array with a chunk that unpacks to far more than its shape declares.

    Parameters
    ----------
    path, place : path, str
        The store, and what the array is called in it.
    folder : path
        Of the array.
    chunk : tuple of int
        Declared shape of a chunk (of a shard, where chunks are sharded).
    dtype : numpy.dtype

    Raises
    ------
    UnreadableFileError
        With the chunk, what it declares, and what it unpacks to.
    """
    measure = _SIZES.get(_compressor(folder))
    if measure is None:
        return
    limit = max(2 * math.prod(chunk) * dtype.itemsize, _HARMLESS)
    for file in sorted(folder.rglob("*")):
        if file.name in _METADATA or not file.is_file():
            continue
        size = measure(file, limit)
        if size > limit:
            raise UnreadableFileError(
                f"{place} in {path} must unpack to chunks of {chunk}, got {file.relative_to(folder)}, which unpacks to "
                f"{readable(size)} or more; the store is damaged, or was made to exhaust memory"
            )


def _compressor(folder: Path) -> str:
    """Return the codec that unpacks the bytes of a chunk first."""
    for name in ("zarr.json", ".zarray"):
        if (folder / name).is_file():
            about = json.loads((folder / name).read_bytes())
            codecs = about.get("codecs") or [about.get("compressor") or {}]
            last = codecs[-1] if isinstance(codecs, list) else {}
            found = last.get("name", last.get("id", "")) if isinstance(last, dict) else ""
            return str(found).removeprefix("numcodecs.")
    return ""


def _deflated(file: Path, limit: int) -> int:
    if file.stat().st_size * _DEFLATE_RATIO <= limit:
        return 0
    return _streamed(zlib.decompressobj(wbits=47), file, limit)


def _streamed(decoder: Any, file: Path, limit: int) -> int:
    """Unpack piece by piece without storing the result, until the end or the limit."""
    data, total = file.read_bytes(), 0
    piece = decoder.decompress(data, 1 << 20)
    while piece and total <= limit:
        total += len(piece)
        rest = getattr(decoder, "unconsumed_tail", b"")
        piece = b"" if decoder.eof else decoder.decompress(rest, 1 << 20)
    return total


def _number_at(start: int) -> Callable[[Path, int], int]:
    """Read the declared size: four bytes at a position in the header."""

    def size(file: Path, limit: int) -> int:
        with file.open("rb") as stream:
            return int.from_bytes(stream.read(start + 4)[start:], "little")

    return size


def _zstd_size(file: Path, limit: int) -> int:
    """Sum the maximum sizes of the blocks of the first frame, because header sizes may be missing or wrong."""
    data = file.read_bytes()
    if data[:4] != _ZSTD_MAGIC or len(data) < 6:
        return 0
    about = data[4]
    single = about >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[about >> 6]
    at = 5 + (0 if single else 1) + (0, 1, 2, 4)[about & 3]
    declared = int.from_bytes(data[at : at + content], "little") + (256 if content == 2 else 0)
    at, total = at + content, 0
    while at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        kind, size = header >> 1 & 3, header >> 3
        # Raw, one byte repeated, compressed (of which each is at most 128 KiB unpacked).
        total += size if kind < 2 else _ZSTD_BLOCK
        at += 3 + (1 if kind == 1 else size)
        if header & 1:
            break
    return max(declared, total)


_SIZES: dict[str, Callable[[Path, int], int]] = {
    "zlib": _deflated,
    "gzip": _deflated,
    "bz2": lambda file, limit: _streamed(bz2.BZ2Decompressor(), file, limit),
    "lzma": lambda file, limit: _streamed(lzma.LZMADecompressor(), file, limit),
    "blosc": _number_at(4),
    "lz4": _number_at(0),
    "zstd": _zstd_size,
}
