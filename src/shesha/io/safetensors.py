"""Read safetensors files, with bfloat16 converted to float32."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.array_selection import StoredArray, to_float32
from shesha.io.file_checks import optional, reading, require_memory
from shesha.support.natural_order import natural_key
from shesha.support.types import Array

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
    "C64": "<c8",
}


ORDER = "shesha.order"
"""Entry of the metadata with the names of the arrays in the order in which they were saved."""
EXTRACTION = "shesha"
"""Entry of the metadata of an extraction, which stores its arrays in order."""
_INSTEAD = "save it as .npy, which stays on disk"


def safetensors_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe the tensors of a file, in the order in which they were saved if it is recorded, else natural order."""
    safetensors = optional("safetensors", path)
    with reading(path):
        # Opening the file checks the header's length, the JSON and every offset, so the header can then be trusted.
        with safetensors.safe_open(path, framework="np"):
            header, start = _header(path)
        about = header.pop("__metadata__", None) or {}
        return {name: _describe(path, name, header[name], start) for name in _order(header, about)}


def _header(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the entries of the tensors, and the position of their first byte."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    return header, 8 + length


def _order(header: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """Return the names in the order that the file records; the format itself stores them by size and alphabet."""
    if EXTRACTION in about:
        return sorted(header, key=lambda name: header[name]["data_offsets"])
    with suppress(KeyError, ValueError, TypeError, RecursionError):
        saved = json.loads(about[ORDER])
        if sorted(saved) == sorted(header):
            return list(saved)
    return sorted(header, key=natural_key)


def _describe(path: Path, name: str, tensor: dict[str, Any], start: int) -> StoredArray:
    kind, shape = tensor["dtype"], tuple(tensor["shape"])
    if kind not in _DTYPES:
        refusal = f"contains {kind} values, which NumPy lacks; save it as F32"
        return StoredArray(shape, np.dtype("V1"), lambda: np.empty(0), refusal)
    dtype = np.dtype(_DTYPES[kind])
    if kind == "BF16":
        return StoredArray(shape, dtype, partial(_bfloat16, path, name, shape, start + tensor["data_offsets"][0]))
    return StoredArray(shape, dtype, partial(_tensor, path, name, shape, dtype))


def _tensor(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    require_memory(path, name, shape, dtype, _INSTEAD)
    safetensors = optional("safetensors", path)
    with reading(path), safetensors.safe_open(path, framework="np") as tensors:
        array: Array = tensors.get_tensor(name)
    return array


def _bfloat16(path: Path, name: str, shape: tuple[int, ...], offset: int) -> Array:
    """Read bfloat16 values, which are the upper halves of float32 values."""
    require_memory(path, name, shape, np.dtype("<f4"), _INSTEAD)
    with reading(path):
        halves = np.fromfile(path, dtype="<u2", count=math.prod(shape), offset=offset)
        return to_float32(halves).reshape(shape)
