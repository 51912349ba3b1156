"""Register of the rows counted so far, used to leave out rows that distributed samplers repeat."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from shesha.support.device_arrays import to_host
from shesha.support.plurals import count
from shesha.support.types import Index


@dataclass
class RowRegister:
    """Identifiers of the rows counted so far, as sorted 64-bit numbers; text is hashed."""

    seen: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_repeated: int = 0

    def new_rows(self, ids: ArrayLike, n_rows: int) -> tuple[Index, Index]:
        """Return the positions of the rows in a batch that have not been counted, and their codes.

        Raises
        ------
        ValueError
            If the number of identifiers differs from the number of rows.
        TypeError
            If the identifiers are neither whole numbers nor text.
        """
        codes = _codes(to_host(ids, "rows"))
        if len(codes) != n_rows:
            raise ValueError(f"rows must have one identifier per row of the batch ({n_rows}), got {len(codes)}")
        _, first = np.unique(codes, return_index=True)
        kept = np.sort(first[~self._contains(codes[first])])
        return kept, codes[kept]

    def count(self, codes: Index, n_rows: int) -> RowRegister:
        """Return a register to which the new codes from a batch of `n_rows` rows have been added."""
        return RowRegister(np.union1d(self.seen, codes), self.n_repeated + n_rows - len(codes))

    def join(self, other: RowRegister) -> RowRegister:
        """Return the union of two registers; raise an error for common rows, whose sums cannot be separated."""
        shared = np.intersect1d(self.seen, other.seen, assume_unique=True)
        if len(shared):
            raise ValueError(f"rows must be counted once, got {count(len(shared), 'row')} in both Moments objects")
        return RowRegister(np.union1d(self.seen, other.seen), self.n_repeated + other.n_repeated)

    def _contains(self, codes: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        if not len(self.seen):
            return np.zeros(len(codes), dtype=bool)
        place = np.minimum(np.searchsorted(self.seen, codes), len(self.seen) - 1)
        return np.asarray(self.seen[place] == codes)


def _codes(ids: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Index:
    if ids.ndim != 1:
        raise ValueError(f"rows must be 1-D, got shape {ids.shape}")
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    if ids.dtype.kind in "USTO" and all(isinstance(label, str | bytes) for label in ids.tolist()):
        return np.array([_hash(label) for label in ids.tolist()], dtype=np.int64)
    raise TypeError(f"rows must be whole numbers or text, got an array of dtype {ids.dtype}")


def _hash(name: str | bytes) -> int:
    content = name.encode() if isinstance(name, str) else name
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little", signed=True)
