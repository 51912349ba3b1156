"""Hash arrays, so that stored models can be recognised."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hash_arrays(*arrays: NDArray[Any] | str | bytes) -> str:
    """Return a hash of arrays and texts, including the shapes and types of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        if isinstance(array, str | bytes):
            digest.update(array.encode() if isinstance(array, str) else array)
            continue
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:20]
