"""Insertion positions for many numbers in one sorted array."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Index, Matrix, Vector

_CELLS = 8
"""Number of cells in the lookup table per sorted number."""
_MOST = 8
"""Largest number of sorted numbers per cell for which linear search is faster than bisection."""


def insertion_places(levels: Vector, values: Matrix) -> Index:
    """Count the levels below each value, as `numpy.searchsorted` does; levels are sorted and distinct.

    A table with equally wide cells shows where each search starts, so that only a few levels are compared.
    """
    low, width = float(levels[0]), float(levels[-1]) - float(levels[0])
    n_cells = _CELLS * len(levels)
    if not 0 < width < np.inf:
        return np.searchsorted(levels, values)

    def cells(numbers: Matrix) -> Index:
        # Rounding preserves the order: of two numbers in different cells, the larger one is in the later cell.
        return np.clip((numbers - low) * (n_cells / width), 0, n_cells - 1).astype(np.intp)

    held = np.bincount(cells(levels), minlength=n_cells)
    most = int(held.max())
    if most > _MOST:
        return np.searchsorted(levels, values)
    places = (np.cumsum(held) - held)[cells(values)]
    padded = np.append(levels, np.inf)
    for _ in range(most):
        places += padded[places] < values
    return places
