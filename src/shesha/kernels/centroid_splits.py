"""Agreement between the class centroids in class-balanced halves of the rows, for many splits at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import ranks
from shesha.kernels.distances import Metric, distance_rounding, find_undirected_rows, pair_distances, standard_rows
from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Index, Matrix, Vector

Cube = NDArray[np.float64]


def random_halves(sizes: Sequence[int], n_splits: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """For each class, draw the size // 2 positions that form the first half: arrays (n_splits, size)."""
    halves = []
    for size in sizes:
        chosen = np.zeros((n_splits, size), dtype=bool)
        half = size // 2
        # The positions of the smallest random numbers form a random subset of exactly this size.
        smallest = rng.random((n_splits, size)).argpartition(half - 1, axis=1)[:, :half]
        np.put_along_axis(chosen, smallest, True, axis=1)
        halves.append(chosen)
    return halves


def half_counts(chosen: NDArray[np.bool_], rows: Index, n_rows: int) -> tuple[Matrix, Matrix]:
    """Count how often each row of a class occurs in the first and in the second half of each split.

    Parameters
    ----------
    chosen : array of shape (n_splits, size)
        Whether each position is in the first half.
    rows : array of shape (size,)
        Row at each position; in a bootstrap resample, a row can occupy several positions.
    n_rows : int
        Number of rows of the class.

    Returns
    -------
    two arrays of shape (n_splits, n_rows)
        Counts in the first and in the second half.
    """
    total = np.bincount(rows, minlength=n_rows).astype(np.float64)
    places = (np.arange(len(chosen))[:, None] * n_rows + rows)[chosen]
    first = np.bincount(places, minlength=len(chosen) * n_rows).reshape(len(chosen), n_rows).astype(np.float64)
    return first, total - first


def agreements(first: Cube, second: Cube, metric: Metric) -> Vector:
    """Rank correlation of the centroid distances in the two halves of each split; NaN if undefined.

    Parameters
    ----------
    first, second : arrays of shape (n_splits, n_classes, n_features)
        Centroids of the classes in the halves.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between centroids.
    """
    n_splits, n_classes, _ = first.shape
    i, j = np.triu_indices(n_classes, k=1)
    rows = np.concatenate([first, second]).reshape(2 * n_splits * n_classes, -1)
    if metric == "euclidean" or len(find_undirected_rows(rows, metric)):
        return np.array([_agreement(a, b, i, j, metric) for a, b in zip(first, second, strict=True)])
    standard = standard_rows(rows, metric).reshape(2 * n_splits, n_classes, -1)
    with single_threaded_blas():
        closeness = (standard @ standard.transpose(0, 2, 1))[:, i, j]
    distances = np.clip(1.0 - closeness, 0.0, 2.0)
    ordered = np.sort(distances, axis=1)
    # Splits with possible ties are recomputed by the slower function, which has a tolerance for ties.
    level = distance_rounding(standard[0], metric)
    close = np.asarray((np.diff(ordered, axis=1) <= 2 * level).any(axis=1))
    slow = np.logical_or(close[:n_splits], close[n_splits:])
    correlations = _rank_correlations(distances[:n_splits], distances[n_splits:])
    for split in np.flatnonzero(slow):
        correlations[split] = _agreement(first[split], second[split], i, j, metric)
    return correlations


def _rank_correlations(a: Matrix, b: Matrix) -> Vector:
    """Rank correlation between corresponding rows of two matrices without ties."""
    m = a.shape[1]
    places = [np.argsort(np.argsort(half, axis=1), axis=1) - (m - 1) / 2 for half in (a, b)]
    return np.asarray(np.einsum("sk,sk->s", *places) / ((m**3 - m) / 12))


def _agreement(first: Matrix, second: Matrix, i: Index, j: Index, metric: Metric) -> float:
    if len(find_undirected_rows(first, metric)) or len(find_undirected_rows(second, metric)):
        return float("nan")
    rows = standard_rows(first, metric), standard_rows(second, metric)
    distances = [pair_distances(half, i, j, metric, squared=True) for half in rows]
    levels = distance_rounding(rows[0], metric), distance_rounding(rows[1], metric)
    return ranks.spearman(distances[0], distances[1], levels)
