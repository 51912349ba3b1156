"""Agreement of feature halves whose rows are matched at random, from pairs within small row blocks.

A block of 16 rows gives 120 pairs; 120 independent pairs would need 240 rows. Each pair shares a row with 28 other
pairs in its block, which widens a null distribution slightly and never narrows it. Blocks of wide rows contain more
rows, because reading them takes most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES, Masks, Planes
from shesha.support.types import Index, Matrix, Vector

Cube = NDArray[np.float64]

_BLOCK, _WIDE_BLOCK = 16, 64
"""Number of rows per block, for narrow rows and for wide rows."""
_ENTRIES = 1 << 18
"""Number of values gathered in one step. It is fixed so that sums do not depend on the available memory."""


def row_matching_correlations(
    rows: Matrix,
    n_pairs: int,
    metric: Metric,
    draw: Masks | Planes,
    partners: Sequence[Index],
    rng: np.random.Generator,
) -> Vector:
    """Rank correlation between distances in the first half and those of the rows' partners in the second.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Finite features.
    n_pairs : int
        Smallest number of pairs of rows; all matchings use the same pairs.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance to compute within each half.
    draw : Masks or Planes
        The draw of a single partition of the features.
    partners : sequence of arrays of shape (n_rows,)
        For each matching, the partner of each row: the row whose second half is matched with its first half.

    Returns
    -------
    array of shape (n_partners,)
        Correlations; NaN if fewer than two pairs are defined or if all distances in a half are equal.
    """
    size = _BLOCK if rows.shape[1] <= WIDE_FEATURES else _WIDE_BLOCK
    i, j = np.triu_indices(size, k=1)
    ids = rng.integers(len(rows), size=(-(-n_pairs // len(i)), size))
    of_first = _closeness(_first_half(rows, draw), metric)
    of_second = _closeness(_second_half(rows, draw), metric)
    different = (ids[:, i] != ids[:, j]).ravel()

    def closeness(of_half: Callable[[Index], Cube], blocks: Index) -> Vector:
        step = max(1, _ENTRIES // (size * rows.shape[1]))
        parts = [of_half(blocks[start : start + step])[:, i, j] for start in range(0, len(blocks), step)]
        return np.concatenate(parts).ravel()

    first = closeness(of_first, ids)

    def correlation(order: Index) -> float:
        second = closeness(of_second, order[ids])
        kept = different & np.isfinite(first) & np.isfinite(second)
        a, b = first[kept], second[kept]
        return ranks.spearman(a, b, (_level(a, metric), _level(b, metric))) if len(a) > 1 else float("nan")

    return np.array([correlation(order) for order in partners])


def _first_half(x: Matrix, draw: Masks | Planes) -> Matrix:
    return x @ draw.bases[0] if isinstance(draw, Planes) else x[:, draw.first[:, 0] > 0]


def _second_half(x: Matrix, draw: Masks | Planes) -> Matrix:
    return draw.second_half(x, 0, "cosine")


def _closeness(half: Matrix, metric: Metric) -> Callable[[Index], Cube]:
    """Return a function that computes the closeness of all pairs in each block; larger means closer."""
    if metric == "euclidean":
        half = half - half.mean(axis=0)
        lengths = np.einsum("ij,ij->i", half, half)

        def distances(blocks: Index) -> Cube:
            block_lengths = lengths[blocks]
            return np.asarray(2 * _products(half[blocks]) - block_lengths[:, :, None] - block_lengths[:, None, :])

        return distances
    total = np.einsum("ij,ij->i", half, half)
    if metric == "correlation":
        half = half - half.mean(axis=1, keepdims=True)
    squared = np.einsum("ij,ij->i", half, half)
    # What remains of a constant row after centring is a rounding error.
    defined = squared > (np.finfo(float).eps ** 2 * total if metric == "correlation" else 0.0)
    half = half * np.where(defined, 1.0 / np.sqrt(np.where(defined, squared, 1.0)), np.nan)[:, None]

    def cosines(blocks: Index) -> Cube:
        return _products(half[blocks])

    return cosines


def _products(blocks: Cube) -> Cube:
    return np.asarray(blocks @ blocks.transpose(0, 2, 1))


def _level(closeness: Vector, metric: Metric) -> float:
    return ROUNDING if metric != "euclidean" else ROUNDING * -float(np.median(closeness))
