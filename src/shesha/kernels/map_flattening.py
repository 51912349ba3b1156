"""Conversion of token sequences and feature maps to matrices, as in the ReSi benchmark.

The whole library uses the axes (n, tokens, d) for tokens and (n, channels, height, width) for feature maps. Feature
maps from the benchmark's domains and from model files have the channels last; `from_channels_last` converts them.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Folding = Literal["rows", "columns"]
ROWS = 5000
"""Approximate maximum number of rows into which the positions of feature maps are folded."""


Scalar = TypeVar("Scalar", bound=np.generic)


def from_channels_last(maps: NDArray[Scalar]) -> NDArray[Scalar]:
    """Convert maps (n, height, width, channels) to the library's order (n, channels, height, width)."""
    return np.ascontiguousarray(maps.transpose(0, 3, 1, 2))


def as_maps(rows: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return rows (n, channels) as maps with a single position, (n, channels, 1, 1)."""
    return rows[:, :, None, None]


def average_pool(maps: Array, grid: tuple[int, int] | None) -> Array:
    """Average feature maps (n, channels, h, w) over a coarser grid's cells; return other arrays unchanged."""
    if maps.ndim != 4 or grid is None or maps.shape[2:] == grid:
        return maps
    return np.asarray(_pool_axis(_pool_axis(maps, 2, grid[0]), 3, grid[1]))


def _pool_axis(maps: Array, axis: int, n_cells: int) -> Array:
    """Average over m cells: cell c covers floor(c size / m) to ceil((c + 1) size / m); cells can overlap."""
    size = maps.shape[axis]
    edges = [(cell * size // n_cells, -(-(cell + 1) * size // n_cells)) for cell in range(n_cells)]
    return np.stack([maps.take(range(low, high), axis=axis).mean(axis=axis) for low, high in edges], axis=axis)


def fold(array: Array, folding: Folding) -> Array:
    """Fold an array (n, tokens, d) or (n, channels, h, w) into a matrix.

    With folding 'rows', each token or position of a feature map becomes a row; positions are thinned evenly to about
    5,000 rows. With 'columns', tokens or positions become columns.
    """
    n = len(array)
    if array.ndim == 3:
        return array.reshape(-1, array.shape[2]) if folding == "rows" else array.reshape(n, -1)
    if folding == "columns":
        return np.ascontiguousarray(array.reshape(n, -1))
    rows = array.transpose(0, 2, 3, 1).reshape(-1, array.shape[1])
    return np.ascontiguousarray(rows[:: max(1, len(rows) // ROWS)])
