"""Selected rows of a matrix that are copied only when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.support.types import Array, Index

_ENTRIES = 1 << 18
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
        step = max(1, _ENTRIES // self.shape[1])
        parts = [self._given[numbers[row : row + step]][:, columns] for row in range(0, max(1, len(numbers)), step)]
        return np.concatenate(parts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a copy of all rows."""
        return np.asarray(self[:], dtype=dtype)
