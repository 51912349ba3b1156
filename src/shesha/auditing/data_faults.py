"""Find faults in the values of a representation, in one pass over its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.repeated_rows import hash_rows, repeats, row_keys
from shesha.results import Faults
from shesha.views import Rows

_ENTRIES = 1 << 18


def find_faults(X: Rows) -> Faults:
    """Find non-finite values, zero rows, repeated rows and constant columns; X may be on disk."""
    keys = row_keys(X.shape[1])
    first = X.read(slice(0, 1))[0]
    constant = np.ones(X.shape[1], dtype=bool)
    bad_entries, bad_rows, zero_rows, hashes = 0, [], [], []
    for start, block in X.blocks(_ENTRIES):
        bad = ~np.isfinite(block)
        bad_entries += int(bad.sum())
        bad_rows.append(start + np.flatnonzero(bad.any(axis=1)))
        zero_rows.append(start + np.flatnonzero(~block.any(axis=1)))
        constant &= (block == first).all(axis=0)
        hashes.append(hash_rows(block, keys))
    return Faults(
        not_finite=bad_entries,
        not_finite_rows=_as_integers(np.concatenate(bad_rows)),
        zero_rows=_as_integers(np.concatenate(zero_rows)),
        duplicate_rows=_as_integers(repeats(np.concatenate(hashes))),
        constant_columns=_as_integers(np.flatnonzero(constant)),
    )


def _as_integers(numbers: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(map(int, numbers))
