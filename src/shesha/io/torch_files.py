"""Read safetensors and PyTorch files of tensors, without unpickling other objects."""

from __future__ import annotations

import json
import math
import pickletools
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs.vector_columns import to_float32
from shesha.io.array_selection import (
    NamedArrays,
    StoredArray,
    flatten,
    gather,
    in_memory,
    in_order,
    refused,
)
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory, require_plausible
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.optional import load_tensors, require
from shesha.support.types import Array
from shesha.support.wording import natural_key

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
_SAVE_AS_NPY = "save it as .npy, which stays on disk"


def safetensors_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe the tensors of a file, in the order in which they were saved if it is recorded, else natural order."""
    safetensors = optional("safetensors", path)
    with reading(path):
        # Opening the file checks the header's length, the JSON and every offset, so the header can then be trusted.
        with safetensors.safe_open(path, framework="np"):
            header, start = _header(path)
        about = header.pop("__metadata__", None) or {}
        return {name: _describe_tensor(path, name, header[name], start) for name in _order(header, about)}


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


def _describe_tensor(path: Path, name: str, tensor: dict[str, Any], start: int) -> StoredArray:
    kind, shape = tensor["dtype"], tuple(tensor["shape"])
    if kind not in _DTYPES:
        refusal = f"contains {kind} values, which NumPy lacks; save it as F32"
        return StoredArray(shape, np.dtype("V1"), lambda: np.empty(0), refusal)
    dtype = np.dtype(_DTYPES[kind])
    if kind == "BF16":
        return StoredArray(shape, dtype, partial(_bfloat16, path, name, shape, start + tensor["data_offsets"][0]))
    return StoredArray(shape, dtype, partial(_tensor, path, name, shape, dtype))


def _tensor(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    require_memory(path, name, shape, dtype, _SAVE_AS_NPY)
    safetensors = optional("safetensors", path)
    with reading(path), safetensors.safe_open(path, framework="np") as tensors:
        array: Array = tensors.get_tensor(name)
    return array


def _bfloat16(path: Path, name: str, shape: tuple[int, ...], offset: int) -> Array:
    """Read bfloat16 values, which are the upper halves of float32 values."""
    require_memory(path, name, shape, np.dtype("<f4"), _SAVE_AS_NPY)
    with reading(path):
        halves = np.fromfile(path, dtype="<u2", count=math.prod(shape), offset=offset)
        return to_float32(halves).reshape(shape)


_INSTEAD = "save fewer tensors, or each as .npy, which stays on disk"
_OBJECT = re.compile(
    r"(?:GLOBAL|class|function) ([\w.]+) was not an allowed global|Unsupported (?:global|class|operand|operation) (\S+)"
)


def torch_arrays(path: Path) -> NamedArrays:
    """Describe the tensors of a .pt or .pth file, by their keys joined by dots; vectors of items form a matrix."""
    return gather(path, torch_item(path))


def torch_item(path: Path) -> NamedArrays:
    """Describe the tensors of a .pt or .pth file, by their keys joined by dots."""
    torch = require("torch", "torch", f"torch must be installed to read PyTorch files such as {path}")
    _require_sizes(path)
    mapped = is_zip(path) and path.stat().st_size > memory_budget() // 4
    try:
        # Indices of sparse tensors outside the shape would make torch write outside the array.
        with torch.sparse.check_sparse_tensor_invariants():
            tree = load_tensors(str(path), mmap=mapped)
    except ImportError:
        raise
    except Exception as error:
        raise UnreadableFileError(_why_not_loaded(path, error)) from error
    with reading(path):
        return NamedArrays(in_order(path, flatten(path, tree, lambda node: _describe(path, torch, node))))


def _why_not_loaded(path: Path, error: Exception) -> str:
    from shesha.io._unsupported_formats import convert_objects

    text = str(error)
    if "TorchScript" in text or "constants.pkl" in text:
        return f"PyTorch file {path} must contain tensors, got a TorchScript program, which is never run"
    found = _OBJECT.search(text)
    if found or "weights_only" in text:
        kind = next(filter(None, found.groups()), "") if found else ""
        if kind.startswith(("torch.nn.", "torchvision.", "transformers.", "timm.")):
            return (
                f"PyTorch file {path} must contain representations, got a pickled model ({kind}), which could run code "
                "and is never loaded; load it in Python, and pass it to shesha.extract.activations with its inputs"
            )
        return (
            f"PyTorch file {path} must contain only tensors, numbers, texts, lists and dictionaries, got "
            f"{kind or 'other objects'}, which could run code and is never loaded{convert_objects(path)}"
        )
    first = (text.splitlines() or [""])[0]
    return f"PyTorch file {path} must be a complete file, got one that cannot be read ({type(error).__name__}: {first})"


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip archive, as PyTorch writes since version 1.6."""
    with suppress(zipfile.BadZipFile):
        return zipfile.is_zipfile(path)
    return False


def _require_sizes(path: Path) -> None:
    """Refuse a file that declares or unpacks to more than it can contain, before anything is loaded."""
    size = path.stat().st_size
    if is_zip(path):
        with reading(path), zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        unpacked, packed = sum(member.file_size for member in members), sum(member.compress_size for member in members)
        if packed > size:
            raise UnreadableFileError(f"PyTorch file {path} must not contain overlapping members, got {packed:,} bytes")
        if unpacked > max(2 * size, memory_budget()):
            raise UnreadableFileError(
                f"PyTorch file {path} must fit the memory budget of {format_bytes(memory_budget())}, got "
                f"{format_bytes(unpacked)}: {_INSTEAD}, or raise SHESHA_MEMORY"
            )
        require_plausible(path, "the tensors", unpacked, packed)
        return
    # Files of PyTorch before 1.6 are a series of pickles, whose tensors are allocated as they declare.
    with reading(path), path.open("rb") as stream:
        for _ in range(4):
            for _, number, _ in pickletools.genops(stream):
                if isinstance(number, int) and max(size, 1 << 20) < number < 1 << 63:
                    raise UnreadableFileError(
                        f"PyTorch file {path} must contain the tensors that it declares, got {number:,} numbers in "
                        f"{size:,} bytes"
                    )


def _describe(path: Path, torch: Any, node: Any) -> StoredArray | None:
    """Describe a tensor; None for other objects."""
    if not isinstance(node, torch.Tensor):
        return in_memory(node) if isinstance(node, np.ndarray) else None
    if node.is_meta or node.is_nested:
        return refused(f"is a {'nested' if node.is_nested else 'meta'} tensor without an array of values")
    shape = tuple(map(int, node.shape))
    kind = torch.float32 if node.is_quantized or (node.is_floating_point() and node.dtype.itemsize < 2) else node.dtype
    kind = torch.float32 if kind == torch.bfloat16 else kind
    try:
        dtype = torch.empty(0, dtype=kind).numpy().dtype
    except TypeError:
        return refused(f"contains {node.dtype} values, which NumPy lacks")

    def load() -> Array:
        require_memory(path, "a tensor", shape, dtype, _INSTEAD)
        require_plausible(path, "a tensor", int(np.prod(shape, dtype=object)) * dtype.itemsize, path.stat().st_size)
        with reading(path):
            tensor = node.detach()
            if tensor.is_quantized:
                tensor = tensor.dequantize()
            elif tensor.layout != torch.strided:
                tensor = tensor.to_dense()
            return np.array(tensor.resolve_conj().resolve_neg().to(kind).numpy())

    return StoredArray(shape, dtype, load)
