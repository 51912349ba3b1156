"""What tells two arrays apart, short enough for a page."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from shesha._arrays import to_host
from shesha.given import parted


def fingerprint(data: Any) -> str:
    """Return shape, type and SHA-256 of an array, for `about` of a page: whoever has the data can tell it is the same.

    Parameters
    ----------
    data : array, table or tensor
        Labels may be words. The names of rows do not count.

    Returns
    -------
    str
        The hash is of the values in the order of the rows, as little-endian bytes.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.arange(6.0).reshape(3, 2))[:31]
    '3 x 2 float64, SHA-256 84a6e8b7'
    """
    values, _ = parted(data, "data")
    # The values of a sparse matrix are few, and their places belong to them.
    found = to_host(values.toarray() if hasattr(values, "toarray") else values)
    if found.dtype == object:
        found = found.astype(str)
    plain = np.ascontiguousarray(found, dtype=found.dtype.newbyteorder("<"))
    size = " x ".join(f"{n:,}" for n in plain.shape) or "1"
    kind = "words" if plain.dtype.kind in "US" else str(found.dtype.newbyteorder("="))
    return f"{size} {kind}, SHA-256 {hashlib.sha256(plain.tobytes()).hexdigest()}"
