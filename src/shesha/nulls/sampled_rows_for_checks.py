"""A sample of the rows of a representation, with inner products that all data checks share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.repeated_rows import Hashes, row_hashes
from shesha.support.types import Index, Matrix, Vector

FEWEST_ROWS = 12
"""Smallest number of rows in which dependence can be detected."""
_WINDOWS, _WINDOW = 4, 128
"""Number and length of the stretches of consecutive rows that are checked if there are many rows."""


class DiagnosticRows:
    """Four stretches of consecutive rows from one representation; all rows if there are few."""

    def __init__(self, side: NDArray[Any]) -> None:
        self.side = side

    @property
    def n_rows(self) -> int:
        """Total number of rows."""
        return len(self.side)

    @cached_property
    def windows(self) -> list[Index]:
        """Row numbers of each stretch."""
        return stretches(self.n_rows, _WINDOW)

    @cached_property
    def rows(self) -> Index:
        """Row numbers of all checked rows, in order."""
        return np.concatenate(self.windows)

    @cached_property
    def gram(self) -> Matrix:
        """Inner products of the checked rows, after centring and division by their largest number."""
        centred = np.asarray(self.side[self.rows], dtype=np.float64)
        # Without the division, squares of large numbers would overflow.
        self._unit = largest(centred)
        centred /= self._unit
        self._middle: Vector = centred.mean(axis=0)
        centred -= self._middle
        return np.asarray(centred @ centred.T)

    @cached_property
    def hashes(self) -> Hashes:
        """Hash of every row."""
        return row_hashes(self.side)

    @cached_property
    def squared(self) -> Matrix:
        """Squared distances between the checked rows, in the unit of `gram`."""
        return squared_distances(self.gram)

    def products(self, rows: Index) -> Matrix:
        """Inner products of any rows, centred on the mean of the checked rows.

        Products are not finite if a row outside the sample is too large for the unit of the sample.
        """
        gram, places = self.gram, np.searchsorted(self.rows, rows)
        new = np.append(self.rows, -1)[places] != rows
        places[new] = 0
        products = gram[np.ix_(places, places)]
        if new.any():
            with np.errstate(over="ignore", invalid="ignore"):
                across = self._centred(rows[new]) @ self._centred(rows).T
            products[new] = across
            products[:, new] = across.T
        return products

    def _centred(self, rows: Index) -> Matrix:
        centred = np.asarray(self.side[rows], dtype=np.float64)
        centred /= self._unit
        centred -= self._middle
        return centred


def stretches(n: int, length: int = _WINDOW) -> list[Index]:
    """Return four evenly spaced stretches of consecutive rows; all rows if there are few."""
    if n <= _WINDOWS * length:
        return [np.arange(n)]
    starts = np.linspace(0, n - length, _WINDOWS).astype(np.intp)
    return [np.arange(start, start + length) for start in starts]


def largest(X: Matrix) -> float:
    """Return the largest absolute value; 1 if all values are zero."""
    return max(float(X.max(initial=0.0)), -float(X.min(initial=0.0))) or 1.0


def squared_distances(gram: Matrix) -> Matrix:
    """Squared distances between rows, from their inner products."""
    lengths = np.diagonal(gram)
    distances: Matrix = lengths[:, None] + lengths
    distances -= 2 * gram
    return np.maximum(distances, 0.0, out=distances)
