"""Checks of HDF5 files and Zarr groups: no links to other files, and declared sizes that fit and are kept."""

from __future__ import annotations

import bz2
import json
import lzma
import math
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.file_checks import UnreadableFileError, reading, require_memory, require_plausible
from shesha.support.memory import readable

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
                f"{readable(size)} or more; the store is damaged, or was made to exhaust memory"
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
        require_bounded_chunks(path, place, path / dataset.path, tuple(dataset.chunks), dtype)
    stored = dataset.id.get_storage_size() if hasattr(dataset, "file") else dataset.nbytes_stored()
    require_plausible(path, place, math.prod(shape) * dtype.itemsize, stored)
