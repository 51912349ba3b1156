"""Fingerprints that identify the content of files and representations."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index
from shesha.views import Rdm, Representation, Rows

_ENTRIES = 1 << 18
"""Number of values that are hashed together."""


def fingerprint(source: Representation) -> str:
    """Hash the values, shape and precision of a representation."""
    array = plain_array(source)
    kind = f"{'distances' if source.has_distances_only else 'features'} {source.shape} {source.precision!r}"
    digest = hashlib.sha256(kind.encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:24]


def reordered_fingerprint(fingerprint: str, order: Index) -> str:
    """Return the fingerprint of the same content with its rows in another order."""
    return hashlib.sha256(fingerprint.encode() + np.asarray(order, dtype=np.int64).tobytes()).hexdigest()[:24]


def fingerprint_as_it_is(X: Rows | Rdm) -> str:
    """Hash values as stored, which may be NaN or infinite, reading one stretch of rows at a time."""
    if isinstance(X, Rdm):
        return fingerprint(Representation.build(X))
    kind = "sparse" if X.is_sparse else str(X.sample.dtype)
    digest = hashlib.sha256(f"as it is {kind} {X.shape} {X.precision!r}".encode())
    for _, block in X.blocks(_ENTRIES):
        digest.update(np.ascontiguousarray(block).view(np.uint8).data if block.size else b"")
    return digest.hexdigest()[:24]


def plain_array(source: Representation) -> NDArray[np.float64]:
    """Return the values of a representation as a NumPy array; distances are in condensed form."""
    host = source.to_numpy
    if host.has_distances_only:
        return host.condensed_distances("euclidean")[0]
    return host.rows
