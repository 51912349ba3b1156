"""The pool of control rows from which null groups are drawn, stored in few coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shesha.coherence.chunked_matrix import RowPieces
from shesha.support.types import Index, Matrix, Vector

_ENTRIES = 1 << 24
"""Maximum number of entries to store; if there are more, only evenly spaced control rows are stored."""
_HELD = 4096
"""Number of rows that is stored at least, if there are that many controls."""
_SPANNED = 2048
"""Number of rows that is stored at least, if there are more features than this."""


@dataclass(frozen=True)
class Pool:
    """Rows of one block, centred on their own mean."""

    rows: Matrix
    numbers: Index
    """Row numbers in the data."""

    @cached_property
    def total(self) -> Vector:
        """Sum of the rows."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def squared(self) -> Vector:
        """Squared lengths of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows))

    @cached_property
    def scatter(self) -> float:
        """Variance of the rows, summed over features."""
        centred = self.squared.sum() - self.total @ self.total / len(self)
        return float(centred / max(1, len(self) - 1))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)


def build_pool(rows: RowPieces, numbers: Index, largest: int) -> Pool:
    """Store enough of these rows to draw groups of up to `largest` rows, in few coordinates.

    Parameters
    ----------
    rows : RowPieces
    numbers : array of int
        Row numbers of the candidates.
    largest : int
        Number of rows of the largest group.
    """
    wide = rows.shape[1] > _SPANNED
    fewest = max(2 * largest, _SPANNED if wide else max(_HELD, _ENTRIES // rows.shape[1]))
    if len(numbers) > fewest:
        numbers = numbers[np.linspace(0, len(numbers) - 1, fewest).astype(np.intp)]
    pool_rows = rows.take(numbers)
    if wide and len(numbers) < rows.shape[1]:
        return Pool(_span_coordinates(pool_rows), numbers)
    dense = np.asarray(pool_rows.toarray() if hasattr(pool_rows, "toarray") else pool_rows)
    return Pool(np.ascontiguousarray(dense - dense.mean(axis=0)), numbers)


def _span_coordinates(pool_rows: Any) -> Matrix:
    """Return fewer coordinates with the same centred inner products, which suffice for all scores."""
    gram = pool_rows @ pool_rows.T
    gram = np.asarray(gram.toarray() if hasattr(gram, "toarray") else gram)
    gram = gram - gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
