"""Checks of HDF5 files and Zarr groups: no links to other files, and declared sizes that fit the memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io._chunk_limits import require_chunks
from shesha.io._zarr_decompression_limits import require_bounded_chunks
from shesha.io.file_checks import UnreadableFileError, reading, require_memory, require_plausible


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
