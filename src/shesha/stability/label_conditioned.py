"""Stability of the geometry of class centroids across class-balanced halves of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, condensed, rounding_level, standard_rows, undirected_rows
from shesha.stability.supervised import class_means

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

_MIN_CLASSES = 3
"""Two classes have one distance, and one number cannot be correlated."""


def label_conditioned_split(
    X: ArrayLike, y: ArrayLike, n_splits: int = 30, metric: Metric = "cosine", seed: Seed = None
) -> float:
    """Do class-balanced halves of the rows agree on the geometry of the class centroids?

    Each class's rows are cut at random into two halves (the second has one more if odd), the
    distances between the class centroids are computed in each half and rank-correlated.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Finite.
    y : array of shape (n_samples,)
        At least 3 classes with at least 2 rows each.
    n_splits : int
        Number of random splits of the rows.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between centroids.
    seed : int, Generator or None
        For the splits.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if all centroids are equally far
        apart, or have no direction under the metric, in every split.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(6), 20)
    >>> round(label_conditioned_split(rng.standard_normal((6, 16))[y] + rng.standard_normal((120, 16)), y, seed=0), 2)
    0.95
    """
    check.count(n_splits, "n_splits")
    check.choice(metric, METRICS, "metric")
    matrix = check.matrix(X)
    codes, classes = check.labels(y, len(matrix), min_classes=_MIN_CLASSES)
    few = classes[np.bincount(codes) < 2]
    if len(few):
        raise ValueError(f"y must give each class at least 2 rows, got one row of {check.listed(few)}")
    scores = centroid_agreements(matrix, codes, n_splits, metric, generator(seed))
    if np.isnan(scores).all():
        return check.not_estimable("the class centroids have equal distances, or no direction, in every split")
    return float(np.nanmean(scores))


def centroid_agreements(X: Matrix, codes: Codes, n_splits: int, metric: Metric, rng: np.random.Generator) -> NDArray[np.float64]:
    """Agreement of the centroid distances in each split; NaN where they are constant or undefined."""
    return np.array([_agreement(X, codes, _balanced_half(codes, rng), metric) for _ in range(n_splits)])


def _balanced_half(codes: Codes, rng: np.random.Generator) -> NDArray[np.bool_]:
    shuffled = rng.permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    sizes = np.bincount(codes)
    sizes = sizes[sizes > 0]
    rank_in_class = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    half = np.empty(len(codes), dtype=bool)
    half[order] = rank_in_class < np.repeat(sizes // 2, sizes)
    return half


def _agreement(X: Matrix, codes: Codes, half: NDArray[np.bool_], metric: Metric) -> float:
    centroids = [class_means(X[side], codes[side])[0] for side in (half, ~half)]
    if any(len(undirected_rows(means, metric)) for means in centroids):
        return float("nan")
    rows = [standard_rows(means, metric) for means in centroids]
    distances = [condensed(means, metric, squared=True) for means in rows]
    return ranks.spearman(distances[0], distances[1], (rounding_level(rows[0], metric), rounding_level(rows[1], metric)))
