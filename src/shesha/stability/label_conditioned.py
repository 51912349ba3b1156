"""Stability of the geometry of class centroids across class-balanced halves of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, pair_distances, rounding_level, standard_rows, undirected_rows
from shesha.kernels.threads import single_threaded_blas

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
    0.74
    """
    check.count(n_splits, "n_splits")
    check.choice(metric, METRICS, "metric")
    matrix = check.matrix(X)
    codes, _ = splittable_labels(y, len(matrix))
    scores = centroid_agreements(matrix, codes, n_splits, metric, generator(seed))
    if np.isnan(scores).all():
        return check.not_estimable("the class centroids have equal distances, or no direction, in every split")
    return float(np.nanmean(scores))


def splittable_labels(y: ArrayLike, n_rows: int) -> tuple[Codes, NDArray[Any]]:
    """Return class codes and names, if there are enough classes and each can be cut in two."""
    codes, classes = check.labels(y, n_rows, min_classes=_MIN_CLASSES)
    few = classes[np.bincount(codes) < 2]
    if len(few):
        raise ValueError(f"y must give each class at least 2 rows, got one row of {check.listed(few)}")
    return codes, classes


def centroid_agreements(
    X: Matrix, codes: Codes, n_splits: int, metric: Metric, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Agreement of the centroid distances in each split; NaN where they are constant or undefined."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)[np.unique(codes)]
    first, second = _half_sums(X[order], sizes, n_splits, rng)
    halves = first / (sizes // 2)[:, None], second / (sizes - sizes // 2)[:, None]
    return np.array([_agreement(a, b, metric) for a, b in zip(*halves, strict=True)])


def _half_sums(X: Matrix, sizes: NDArray[np.intp], n_splits: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Sums of each class's rows in both halves, of shape (n_splits, n_classes, n_features); rows sorted by class."""
    shape = n_splits, len(sizes), X.shape[1]
    first, second = np.empty(shape), np.empty(shape)
    for label, (stop, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        rows = X[stop - size : stop]
        # A random subset of exactly half: the smallest of independent uniform numbers.
        chosen = np.zeros((n_splits, size))
        np.put_along_axis(chosen, rng.random((n_splits, size)).argsort(axis=1)[:, : size // 2], 1.0, axis=1)
        with single_threaded_blas():
            first[:, label] = chosen @ rows
            second[:, label] = (1.0 - chosen) @ rows
    return first, second


def _agreement(first: Matrix, second: Matrix, metric: Metric) -> float:
    if len(undirected_rows(first, metric)) or len(undirected_rows(second, metric)):
        return float("nan")
    rows = standard_rows(first, metric), standard_rows(second, metric)
    i, j = np.triu_indices(len(first), k=1)
    distances = [pair_distances(half, i, j, metric, squared=True) for half in rows]
    return ranks.spearman(
        distances[0], distances[1], (rounding_level(rows[0], metric), rounding_level(rows[1], metric))
    )
