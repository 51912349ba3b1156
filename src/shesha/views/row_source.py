"""Rows from any source (memory, mapped file, sparse matrix, tensor, Zarr, Parquet), read when needed and in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from shesha.inputs import Names, split_names
from shesha.inputs import validation as check
from shesha.support import memory as memory
from shesha.support.device_arrays import input_precision
from shesha.support.types import Array, Index, Matrix
from shesha.views.rdm_input import Rdm
from shesha.views.representation import Representation, View

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


_CHOSEN_ENTRIES = 1 << 18
"""Number of values read at a time."""


class ChosenRows:
    """Selected rows of a matrix or memory-mapped file, without a copy.

    Parameters
    ----------
    given : array of shape (n_samples, n_features)
        Matrix or memory-mapped file.
    numbers : array of shape (n_chosen,)
        Numbers of the selected rows, in the order of the result.
    """

    ndim = 2

    def __init__(self, given: Array, numbers: Index) -> None:
        self._given, self._numbers = given, numbers
        self.shape, self.dtype = (len(numbers), int(given.shape[1])), given.dtype

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._numbers)

    def __getitem__(self, key: Any) -> Array:
        """Return some rows, or some columns of them; two index arrays are combined as `np.ix_` does."""
        if not isinstance(key, tuple):
            return np.asarray(self._given[self._numbers[key]])
        rows, columns = (np.ravel(part) if isinstance(part, np.ndarray) else part for part in key)
        numbers = self._numbers[rows]
        step = max(1, _CHOSEN_ENTRIES // self.shape[1])
        parts = [self._given[numbers[row : row + step]][:, columns] for row in range(0, max(1, len(numbers)), step)]
        return np.concatenate(parts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a copy of all rows."""
        return np.asarray(self[:], dtype=dtype)


V = TypeVar("V", bound=View)
_SOME = 4096
_COPIED = 16
"""When rows are dropped, the remaining rows are copied if they fit into the memory budget divided by this number."""


class Rows:
    """A matrix, inputs x features, from which any rows can be read; values are checked when they are read.

    Parameters
    ----------
    X : array, mapped file, SciPy sparse matrix, tensor, DataFrame, Representation or Rows
        Source of the rows. Sparse matrices and files are not converted; only the rows that are read become dense.
    name : str
        Name of the source in error messages.
    """

    def __init__(self, X: Any, name: str = "X", *, min_rows: int = 4, min_columns: int = 1) -> None:
        self.names: Names | None
        """Names of the rows, if there are any."""
        if isinstance(X, Rows):
            X, self.names = X._array, X.names
        elif isinstance(X, Representation):
            X, self.names = X.to_numpy.rows, X.names
        else:
            X, self.names = split_names(X, name)
        self.name = name
        self._made: dict[type[View], View] = {}
        self._array: Any
        if hasattr(X, "toarray") and hasattr(X, "tocsr"):
            self._array = _sparse(X, name)
            check.shape(X.shape, name, min_rows, min_columns)
        elif isinstance(X, ChosenRows):
            self._array = X
        else:
            self._array = check.raw_matrix(X, name, min_rows=min_rows, min_columns=min_columns)
        self.precision = input_precision(self._array.data if self.is_sparse else self._array)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    @property
    def is_sparse(self) -> bool:
        """Whether the source is a sparse matrix, which stores only nonzero entries."""
        return not isinstance(self._array, np.ndarray | ChosenRows)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        n, d = self._array.shape
        return int(n), int(d)

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def read(self, rows: Index | slice) -> Matrix:
        """Return some rows in double precision, without checking their values."""
        chosen = self._array[rows]
        if self.is_sparse:
            chosen = chosen.toarray()
        return np.asarray(chosen, dtype=np.float64)

    def blocks(self, entries: int) -> Iterator[tuple[int, Matrix]]:
        """Yield consecutive blocks of rows with about `entries` values, each with its first row number."""
        step = max(1, entries // max(1, self.shape[1]))
        for start in range(0, len(self), step):
            yield start, self.read(slice(start, start + step))

    @property
    def sample(self) -> Array:
        """All rows if reading them is cheap; only the first few thousand rows of a sparse matrix."""
        return self.read(slice(0, _SOME)) if self.is_sparse else cast(Array, self._array)

    def take(self, rows: Index) -> Rows:
        """Return only the given rows: a copy if it is small, and otherwise a view."""
        if self.is_sparse or self._array.dtype.itemsize * len(rows) * self.shape[1] * _COPIED <= memory.memory_budget():
            return Rows(self._array[rows], self.name, min_rows=0, min_columns=0)
        result = copy(self)
        result.names, result._made, result._array = None, {}, ChosenRows(self._array, rows)
        return result

    def take_columns(self, columns: Index) -> Rows:
        """Return only the given features."""
        return Rows(self._array[:, columns], self.name, min_rows=0, min_columns=0)

    def view(self, kind: type[V]) -> V:
        """Return a view, built from blocks of rows if possible, and otherwise from all rows at once."""
        make = getattr(kind, "from_rows", None)
        if make is None:
            return self.whole.view(kind)
        if kind not in self._made:
            self._made[kind] = make(self)
        return cast(V, self._made[kind])

    def __getitem__(self, rows: slice) -> Matrix:
        """Return some rows in double precision."""
        return self.read(rows)

    def drop_views(self) -> None:
        """Free the memory of views of all rows at once."""
        if "whole" in self.__dict__:
            self.whole.drop_views()

    @cached_property
    def whole(self) -> Representation:
        """All rows at once, checked; raises an error if they exceed the memory budget."""
        n, d = self.shape
        memory.require(16 * n * d, f"{n:,} rows x {d:,} features", "pass fewer rows")
        dense = self._array.toarray() if self.is_sparse else self._array
        return Representation(check.finite(dense, self.name), self.precision)


def rows_or_distances(X: Any, name: str = "X", *, min_rows: int = 4, min_columns: int = 1) -> Rows | Rdm:
    """Return the input of a score as rows, or as distances if only those are known."""
    if isinstance(X, Representation) and X.has_distances_only:
        return X.distances
    return X if isinstance(X, Rdm) else Rows(X, name, min_rows=min_rows, min_columns=min_columns)


def representation_from(X: Rows | Rdm) -> Representation:
    """Return the representation from which views are built."""
    return X.whole if isinstance(X, Rows) else Representation.build(X)


def _sparse(X: Any, name: str) -> Any:
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {X.dtype}")
    return X.tocsr()
