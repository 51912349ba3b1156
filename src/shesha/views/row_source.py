"""Sources of rows that are read in blocks: arrays, memory-mapped files, Zarr, Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.support.types import Index, Matrix
from shesha.views.representation import Representation

_ENTRIES = 1 << 20
"""Number of values per block."""


def is_stored(X: Any) -> bool:
    """Return whether X is an array in a file or on a cluster, which is read in slices of rows."""
    if isinstance(X, np.ndarray | Representation) or not all(hasattr(X, name) for name in ("shape", "dtype")):
        return False
    return getattr(X, "chunks", None) is not None or not (
        hasattr(X, "__array__") or hasattr(X, "__dlpack__") or hasattr(X, "toarray")
    )


class RowSource:
    """A matrix, inputs x features, from which any rows can be read; values are checked as they are read.

    Parameters
    ----------
    X : array, mapped file, stored array or Representation
        Source of the rows. Stored arrays (Zarr, HDF5, Dask, `shesha.io.open_matrix`) are read in slices.
    name : str
        Name of the source in error messages.
    """

    def __init__(self, X: Any, name: str = "X") -> None:
        self.name = name
        self._array = X.to_numpy.rows if isinstance(X, Representation) else X
        self.is_stored = not isinstance(self._array, np.ndarray)
        if np.dtype(self._array.dtype).kind not in "fiub":
            raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {self._array.dtype}")
        check.shape(tuple(self._array.shape), name, 4, 1)
        self.n_rows, self.n_features = (int(size) for size in self._array.shape)
        step = max(1, _ENTRIES // self.n_features)
        chunks = getattr(self._array, "chunks", None)
        # Whole chunks are read, because reading a part of a chunk decodes all of it.
        chunk = int(np.max(chunks[0])) if chunks else 1
        self._step = max(step // chunk, 1) * chunk

    @property
    def starts(self) -> range:
        """Numbers of the first rows of the blocks."""
        return range(0, self.n_rows, self._step)

    def block(self, start: int) -> Matrix:
        """Return the block of rows that begins at row `start`."""
        return check.finite(np.asarray(self._array[start : start + self._step]), self.name, first_row=start)

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield every block with the number of its first row."""
        for start in self.starts:
            yield start, self.block(start)

    def read(self, rows: Index) -> Matrix:
        """Return the rows with the given numbers, which must be in increasing order."""
        if not self.is_stored:
            rows_read = np.ascontiguousarray(self._array[rows], dtype=np.float64)
        else:
            rows_read = np.empty((len(rows), self.n_features))
            for block in np.unique(rows // self._step):
                some = np.flatnonzero(rows // self._step == block)
                first, last = rows[some[0]], rows[some[-1]]
                rows_read[some] = np.asarray(self._array[int(first) : int(last) + 1])[rows[some] - first]
        bad = np.flatnonzero(~np.isfinite(rows_read).all(axis=1))
        if len(bad):
            raise ValueError(f"{self.name} must be finite, got NaN or infinity in rows {check.join_items(rows[bad])}")
        return rows_read
