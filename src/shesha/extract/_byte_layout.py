"""The byte layout of the arrays in an output file.

Both formats store each array row by row, as one contiguous block of bytes. Rows can therefore be written in any order,
and read without loading the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shesha.support.optional import require
from shesha.support.regular_files import require_no_link
from shesha.support.types import Array

FORMATS = (".zarr", ".safetensors")
ABOUT = "shesha"
"""Metadata entry of a file that describes how its arrays were made."""
_CHUNK = 2**22
"""Size in bytes of a chunk in a Zarr store; a chunk is the smallest part that can be read."""
_CODES = {"float32": "F32", "float64": "F64"}


@dataclass(frozen=True)
class Region:
    """Where in a file one array is, with its shape and type."""

    file: Path
    offset: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def row_bytes(self) -> int:
        """Number of bytes of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * np.dtype(self.dtype).itemsize

    @property
    def n_bytes(self) -> int:
        """Number of bytes of all rows."""
        return self.shape[0] * self.row_bytes

    def memory_map(self) -> Array:
        """Return the array, memory-mapped from the file."""
        array: Array = np.memmap(self.file, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        return array


def regions(place: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Return where each array is in a file or store; the format follows from the file extension."""
    if place.suffix == ".zarr":
        return {name: Region(_shard(place, name, shape), 0, shape, dtype) for name, (shape, dtype) in arrays.items()}
    start = len(_safetensors_head(arrays, about))
    named_regions = {}
    for name, (shape, dtype) in arrays.items():
        named_regions[name] = Region(place, start, shape, dtype)
        start += named_regions[name].n_bytes
    return named_regions


def require_inside(place: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Return the regions of arrays that a file describes; raise ValueError if one is not inside the file or store."""
    for name, (shape, dtype) in arrays.items():
        sizes = all(isinstance(size, int) and size > 0 for size in shape)
        if dtype not in _CODES or not sizes or Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"arrays must be matrices of numbers inside {place}, got {name!r:.60}: {shape!r:.60}")
    named_regions = regions(place, arrays, about)
    for name, region in named_regions.items():
        require_no_link(region.file, "array")
        if not region.file.is_file() or region.offset + region.n_bytes > region.file.stat().st_size:
            raise ValueError(f"{place} must be complete, got fewer bytes than {name!r:.60} needs")
    return named_regions


def lay_out(place: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Create the file or store, with space for all rows."""
    named_regions = regions(place, arrays, about)
    if place.suffix == ".zarr":
        _make_store(place, named_regions, about)
        return named_regions
    with place.open("wb") as stream:
        stream.write(_safetensors_head(arrays, about))
        stream.truncate(stream.tell() + sum(region.n_bytes for region in named_regions.values()))
    return named_regions


def _safetensors_head(arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> bytes:
    header: dict[str, Any] = {"__metadata__": {ABOUT: about}}
    end = 0
    for name, (shape, dtype) in arrays.items():
        start, end = end, end + Region(Path(), 0, shape, dtype).n_bytes
        header[name] = {"dtype": _CODES[dtype], "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _make_store(place: Path, named_regions: Mapping[str, Region], about: str) -> None:
    """Create a Zarr group in which each array is one shard of uncompressed chunks in order."""
    zarr = require("zarr", "files")
    codecs = require("zarr.codecs", "files")
    # A directory does not keep the order of its arrays, so the metadata records it.
    metadata = {**json.loads(about), "arrays": list(named_regions)}
    group = zarr.open_group(place, mode="w-", zarr_format=3, attributes={ABOUT: metadata})
    for name, region in named_regions.items():
        rows = _chunk_rows(region)
        n_chunks = -(-region.shape[0] // rows)
        inner = (rows, *region.shape[1:])
        plain = codecs.BytesCodec()
        group.create_array(
            name,
            shape=region.shape,
            dtype=region.dtype,
            chunks=(rows * n_chunks, *region.shape[1:]),
            serializer=codecs.ShardingCodec(chunk_shape=inner, codecs=[plain], index_codecs=[plain]),
            filters=None,
            compressors=None,
            fill_value=0,
        )
        size = rows * region.row_bytes
        index = np.array([(number * size, size) for number in range(n_chunks)], dtype="<u8")
        region.file.parent.mkdir(parents=True)
        with region.file.open("wb") as stream:
            stream.truncate(n_chunks * size)
            stream.seek(n_chunks * size)
            stream.write(index.tobytes())


def _chunk_rows(region: Region) -> int:
    return max(1, min(region.shape[0], _CHUNK // max(1, region.row_bytes)))


def _shard(place: Path, name: str, shape: tuple[int, ...]) -> Path:
    return place.joinpath(name, "c", *("0" for _ in shape))
