"""Halves of the features whose rows are matched at random, for any number of rows: pairs come from small blocks.

A block of 16 rows has 120 pairs but reads 16 rows, where as many independent pairs would read 240; each pair then
shares a row with 28 others, which widens a null a little and never narrows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shesha._types import Index, Matrix, Vector
from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.kernels.precision import ROUNDING
from shesha.kernels.sampled import Masks, Planes, Rows

Cube = NDArray[np.float64]

BLOCK = 16
"""Rows of a block."""
_PER_BLOCK = BLOCK * (BLOCK - 1) // 2
_ENTRIES = 1 << 20
"""Numbers gathered at once. Fixed, so that sums do not depend on the memory at hand."""


def matched_correlation(
    rows: Rows,
    shape: tuple[int, int],
    n_pairs: int,
    metric: Metric,
    draw: Masks | Planes,
    partners: Index,
    rng: np.random.Generator,
) -> float:
    """Rank correlation of distances in the first half with those of the partners in the second.

    Parameters
    ----------
    rows : function
        Reads the rows of the given numbers.
    shape : (int, int)
        Number of rows and of features.
    n_pairs : int
        Pairs of rows, at least.
    metric : {'cosine', 'correlation', 'euclidean'}
        Within the halves.
    draw : Masks or Planes
        A single partition.
    partners : array of shape (n_rows,)
        The row whose second half is matched with the first half of each row.
    """
    ids = rng.integers(shape[0], size=(-(-n_pairs // _PER_BLOCK), BLOCK))
    step = max(1, _ENTRIES // (BLOCK * shape[1]))
    parts = [_both(rows, ids[start : start + step], metric, draw, partners) for start in range(0, len(ids), step)]
    first, second = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    kept = np.isfinite(first) & np.isfinite(second)
    first, second = first[kept], second[kept]
    if len(first) < 2:
        return float("nan")
    return ranks.spearman(first, second, (_level(first, metric), _level(second, metric)))


def _both(rows: Rows, ids: Index, metric: Metric, draw: Masks | Planes, partners: Index) -> tuple[Vector, Vector]:
    """Closeness of the pairs of each block in one half, and of their partners in the other; NaN where undefined."""
    i, j = np.triu_indices(BLOCK, k=1)
    found = []
    for chosen, half in ((ids, _first_half), (partners[ids], _second_half)):
        # Rows that a block holds twice are read once.
        unique, places = np.unique(chosen, return_inverse=True)
        closeness = _closeness(half(rows(unique), draw), metric)(places.reshape(ids.shape))[:, i, j]
        closeness[ids[:, i] == ids[:, j]] = np.nan
        found.append(closeness.ravel())
    return found[0], found[1]


def _first_half(x: Matrix, draw: Masks | Planes) -> Matrix:
    return x @ draw.bases[0] if isinstance(draw, Planes) else x[:, draw.first[:, 0] > 0]


def _second_half(x: Matrix, draw: Masks | Planes) -> Matrix:
    return draw.second_half(x, 0, "cosine")


def _closeness(half: Matrix, metric: Metric) -> Callable[[Index], Cube]:
    """Return what gives the closeness of all pairs of each block, larger is closer."""
    if metric == "euclidean":
        half = half - half.mean(axis=0)
        lengths = np.einsum("ij,ij->i", half, half)

        def distances(blocks: Index) -> Cube:
            own = lengths[blocks]
            return np.asarray(2 * _products(half[blocks]) - own[:, :, None] - own[:, None, :])

        return distances
    whole = np.einsum("ij,ij->i", half, half)
    if metric == "correlation":
        half = half - half.mean(axis=1, keepdims=True)
    squared = np.einsum("ij,ij->i", half, half)
    # What is left of a constant row after centring is rounding.
    defined = squared > (np.finfo(float).eps ** 2 * whole if metric == "correlation" else 0.0)
    half = half * np.where(defined, 1.0 / np.sqrt(np.where(defined, squared, 1.0)), np.nan)[:, None]

    def cosines(blocks: Index) -> Cube:
        return _products(half[blocks])

    return cosines


def _products(blocks: Cube) -> Cube:
    return np.asarray(blocks @ blocks.transpose(0, 2, 1))


def _level(closeness: Vector, metric: Metric) -> float:
    return ROUNDING if metric != "euclidean" else ROUNDING * -float(np.median(closeness))
