"""Limits of the size and the number of chunks of HDF5 and Zarr arrays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.file_checks import UnreadableFileError, require_memory

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
