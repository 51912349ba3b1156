"""Read PyTorch files of tensors, in nested dictionaries and lists, without unpickling other objects."""

from __future__ import annotations

import pickletools
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.array_selection import NamedArrays, StoredArray, flatten, gather, in_memory, refused
from shesha.io.file_checks import UnreadableFileError, reading, require_memory, require_plausible
from shesha.support.memory import memory_budget, readable
from shesha.support.optional import require
from shesha.support.types import Array

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
            tree = torch.load(str(path), map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:
        raise UnreadableFileError(_why_not_loaded(path, error)) from error
    with reading(path):
        return flatten(path, tree, lambda node: _describe(path, torch, node))


def _why_not_loaded(path: Path, error: Exception) -> str:
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
            f"{kind or 'other objects'}, which could run code and is never loaded{_how_to_convert(path)}"
        )
    first = (text.splitlines() or [""])[0]
    return f"PyTorch file {path} must be a complete file, got one that cannot be read ({type(error).__name__}: {first})"


def _how_to_convert(path: Path) -> str:
    from shesha.io._unsupported_formats import convert_objects

    return convert_objects(path)


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
                f"PyTorch file {path} must fit the memory budget of {readable(memory_budget())}, got "
                f"{readable(unpacked)}: {_INSTEAD}, or raise SHESHA_MEMORY"
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
