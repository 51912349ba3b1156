"""Short fingerprint of an array, which distinguishes arrays on a page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import split_names
from shesha.support.device_arrays import to_host


def fingerprint(data: Any) -> str:
    """Return the shape, type and SHA-256 of an array, to identify the data in the `about` of a page.

    Parameters
    ----------
    data : array, table or tensor
        The values; labels may be words. Row names do not affect the hash.

    Returns
    -------
    str
        Shape, type, and the hash of the values' little-endian bytes, row by row. A sparse matrix is marked "sparse".
        Its hash is computed from the CSR form without zeros: values, column indices (int64) and row pointers (int64).
        It is the same for all sparse formats, and differs from the hash of the equal dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.arange(6.0).reshape(3, 2))[:31]
    '3 x 2 float64, SHA-256 84a6e8b7'
    """
    values, _ = split_names(data, "data")
    if hasattr(values, "tocsr"):
        return _hash_parts(values.shape, f"sparse {_kind(values.dtype)}", _canonical_sparse(values))
    array = to_host(values)
    if array.dtype == object:
        array = array.astype(str)
    return _hash_parts(array.shape, "words" if array.dtype.kind in "US" else _kind(array.dtype), [array])


def _hash_parts(shape: Iterable[int], kind: str, parts: Iterable[NDArray[Any]]) -> str:
    """Hash parts in sequence, each as little-endian bytes in row order."""
    hasher = hashlib.sha256()
    for part in parts:
        plain = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        hasher.update(plain.reshape(-1).view(np.uint8).data)
    return f"{' x '.join(f'{n:,}' for n in shape) or '1'} {kind}, SHA-256 {hasher.hexdigest()}"


def _kind(dtype: np.dtype[Any]) -> str:
    return str(dtype.newbyteorder("="))


def _canonical_sparse(values: Any) -> list[NDArray[Any]]:
    """Return a sparse matrix in canonical form: sorted, and without duplicates or zeros."""
    matrix = values.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return [matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)]
