"""Silhouettes, which compare distances to the own class with distances to the nearest other class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.kernels.distances import METRICS, PANEL, Metric, find_undirected_rows, panel, standard_rows
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.threads import parallel
from shesha.support import memory
from shesha.support.types import Labels, Matrix
from shesha.support.warnings import NotEstimable
from shesha.transfer.not_estimable import nan_with_reason


@nan_with_reason
def silhouette(X: ArrayLike, y: ArrayLike, *, metric: Metric = "euclidean") -> float:
    """Mean silhouette: whether rows are closer to their own class than to the nearest other class.

    The score is the mean over rows of ``(b - a) / max(a, b)``. Here a is the mean distance to the other rows in the
    same class, and b is the smallest mean distance to the rows of another class. The value of a row is 0 if it is the
    only row of its class or if both distances are 0. The result is exact: all pairs of rows are used, in blocks that
    limit the memory.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows.

    Returns
    -------
    float
        In [-1, 1]; higher = easier to transfer. Invariant to scale; to rotation, except with 'correlation'; and to an
        offset with 'euclidean'. NaN, with a warning, if all distances are 0 or every class has one row.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster analysis.

    Examples
    --------
    >>> round(silhouette([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 3)
    0.798
    """
    check.choice(metric, METRICS, "metric")
    matrix = check.matrix(X)
    codes, names = check.labels(y, len(matrix))
    counts = np.bincount(codes)
    if len(names) == len(matrix):
        raise NotEstimable("every class has only one row")
    order = np.argsort(codes, kind="stable")
    rows, codes = _rows_with_direction(matrix, metric)[order], codes[order]
    means = _distance_sums(rows, codes, len(names), metric)
    each = np.arange(len(codes))
    means /= np.where(np.arange(len(names)) == codes[:, None], np.maximum(counts - 1, 1), counts)
    own_means = means[each, codes]
    means[each, codes] = np.inf
    return _mean_silhouette(own_means, means.min(axis=1), counts[codes] > 1, metric)


def _mean_silhouette(a: Matrix, b: Matrix, in_company: NDArray[np.bool_], metric: Metric) -> float:
    larger = np.maximum(a, b)
    # For parallel rows, one minus the cosine is a rounding error; Euclidean distances between equal rows are exactly 0.
    mask = larger > (0.0 if metric == "euclidean" else ROUNDING)
    if not mask.any():
        raise NotEstimable("all distances are 0")
    return float(np.where(mask & in_company, (b - a) / np.where(mask, larger, 1.0), 0.0).mean())


def _rows_with_direction(X: Matrix, metric: Metric) -> Matrix:
    """Return standard rows; raise an error that lists zero (or constant) rows."""
    bad = find_undirected_rows(X, metric)
    if len(bad):
        kind = "zero" if metric == "cosine" else "constant"
        raise ValueError(
            f"X must have no {kind} row under the {metric} metric, got {kind} rows {check.join_items(bad)}; "
            "remove them, or use metric='euclidean'"
        )
    return standard_rows(X, metric)


def _distance_sums(rows: Matrix, codes: Labels, n_classes: int, metric: Metric) -> Matrix:
    """Sum of the distances from each row to the rows of each class; rows are sorted by class."""
    n = len(rows)
    memory.require(
        24 * n * n_classes + 64 * PANEL * n,
        f"the mean distances of {n:,} rows to {n_classes:,} classes",
        "pass fewer rows or classes",
    )

    def sums(start: int) -> tuple[Matrix, Matrix]:
        distances = panel(rows, metric, start)
        width = len(distances)
        distances[np.tril_indices(width)] = 0.0  # Keep each pair only once.
        if metric == "euclidean":
            np.sqrt(distances, out=distances)
        later = np.add.reduceat(distances, _stretches(codes[start:]), axis=1)
        return later, np.add.reduceat(distances, _stretches(codes[start : start + width]), axis=0)

    total = np.zeros((n, n_classes))
    starts = range(0, n, PANEL)
    for start, (later, here) in zip(starts, parallel(sums, starts), strict=True):
        first = codes[start]
        total[start : start + PANEL, first:] += later
        total[start:, first : first + len(here)] += here.T
    return total


def _stretches(codes: Labels) -> Labels:
    """First position of each class in sorted codes."""
    return np.flatnonzero(np.diff(codes, prepend=-1))
