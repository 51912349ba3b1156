"""Agreement of two representations on the distances to their common neighbours."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import squareform

from shesha.kernels.distances import condensed_distances
from shesha.support.types import Index, Matrix, Vector

_LEAST = 3
"""Smallest number of common neighbours with which a row has a correlation of distances."""


def neighbour_scale(X: Matrix, k: int = 10) -> float:
    """Median distance from a row to its k-th nearest neighbour."""
    return float(np.median(np.sort(_distances(X), axis=1)[:, k - 1]))


def distance_agreement(X: Matrix, Y: Matrix, k: int, n_permutations: int, seed: int) -> dict[str, float]:
    """Correlate logarithms of the distances to the common neighbours of each row, and permute them within the row.

    Parameters
    ----------
    X, Y : ndarray of shape (n, p), (n, q)
        Two representations of the same rows.
    k : int
        Number of nearest neighbours of each row in each representation.
    n_permutations, seed : int
        Number of permutations, and their seed.

    Returns
    -------
    dict
        `agreement`: correlation of the deviations from the mean of each row, which depends neither on the choice of
        common neighbours nor on the scale of a row. `agreement_p`: p-value from the permutations. `common`: mean number
        of common neighbours. The first two are NaN if no row has at least three common neighbours.
    """
    first, second = _distances(X), _distances(Y)
    groups = list(_common(first, second, k))
    mean = float(np.mean([len(group) for group in groups]))
    logs = [(np.log(first[row, ids]), np.log(second[row, ids])) for row, ids in enumerate(groups) if len(ids) >= _LEAST]
    if not logs:
        return {"agreement": np.nan, "agreement_p": np.nan, "common": mean}
    a, b = ([pair[side] - pair[side].mean() for pair in logs] for side in (0, 1))
    rng = np.random.default_rng(seed)
    distances = np.concatenate(a)
    agreement = _cosine(distances, np.concatenate(b))
    null = [_cosine(distances, np.concatenate([rng.permutation(group) for group in b])) for _ in range(n_permutations)]
    return {
        "agreement": agreement,
        "agreement_p": (1 + sum(value >= agreement for value in null)) / (n_permutations + 1),
        "common": mean,
    }


def _common(first: Matrix, second: Matrix, k: int) -> list[Index]:
    nearest = [np.argpartition(side, k - 1, axis=1)[:, :k] for side in (first, second)]
    return [np.intersect1d(row, other) for row, other in zip(*nearest, strict=True)]


def _distances(X: Matrix) -> Matrix:
    """Euclidean distances between rows; a row is infinitely far from itself."""
    distances = squareform(condensed_distances(X, "euclidean"))
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances)


def _cosine(a: Vector, b: Vector) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))
