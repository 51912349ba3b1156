"""Distances of rows to the class centroids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.kernels.distances import condensed_distances
from shesha.kernels.symmetric_matrices import square
from shesha.support import memory
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.transfer.class_checks import check_classes
from shesha.transfer.class_means_and_residuals import ClassedRows
from shesha.transfer.not_estimable import nan_with_reason


@nan_with_reason
def margin_score(X: ArrayLike, y: ArrayLike) -> float:
    """Mean relative margin between the distances to the nearest other class centroid and to the own centroid.

    Mean over rows of ``(b - a) / (b + a)``, where a is the Euclidean distance to the centroid of the other rows of the
    row's class, and b the distance to the nearest centroid of another class; 0 where both are 0. The study that names
    the score gives no formula: this definition is ours, bounded and free of scale. Leaving a row out of its own
    centroid prevents scores above 0 for random labels. (That study's code takes the mean distance between centroids
    over the mean distance within classes, minus log(n) / n.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. A row that is alone in its class counts as a centroid only.

    Returns
    -------
    float
        In [-1, 1]; higher = easier to transfer. Unchanged by rotation, scale and offset. NaN, with a warning,
        if all rows are equal or no class has two members.

    References
    ----------
    Raju (2026), Geometric stability: the missing axis of representations.

    Examples
    --------
    >>> round(margin_score([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 3)
    0.664
    """
    data = check_classes(X, y)
    own_distances, other = _squared_distances(data)
    a, b = np.sqrt(own_distances), np.sqrt(other.min(axis=1))
    # Distances that are only rounding have no ratio.
    near = (a + b) ** 2 <= data.negligible
    return float(np.where(near, 0.0, (b - a) / np.where(near, 1.0, b + a)).mean())


@nan_with_reason
def centroid_softmax(X: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the true class under a softmax of distances to the class centroids.

    ``mean_i log(exp(-a_i / s) / (exp(-a_i / s) + sum_c exp(-b_ic / s)))``: a is the squared Euclidean distance to
    the centroid of the other rows of the class, b_c that to the centroid of another class c, and s the mean of
    a over rows. The study that names the score gives no formula: this definition is ours; dividing by s
    makes it free of scale, and leaving a row out of its own centroid keeps labels at random at chance. (That
    study's code feeds a softmax of plain distances to LEEP, which depends on the scale of the features.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. A row that is alone in its class counts as a centroid only.

    Returns
    -------
    float
        At most 0; higher = easier to transfer. Labels at random give about -log(classes). Unchanged by rotation,
        scale and offset. NaN, with a warning, if no row differs from the others of its class.

    References
    ----------
    Raju (2026), Geometric stability: the missing axis of representations.

    Examples
    --------
    >>> round(centroid_softmax([[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]), 3)
    -0.129
    """
    data = check_classes(X, y)
    own_distances, other = _squared_distances(data)
    scale = own_distances.mean()
    if scale <= data.negligible:
        raise NotEstimable("no row differs from the other rows of its class")
    logits = (own_distances[:, None] - other) / scale
    return float(-np.logaddexp(0.0, np.logaddexp.reduce(logits, axis=1)).mean())


def _squared_distances(data: ClassedRows) -> tuple[Vector, Matrix]:
    """Distances to the centroid of the class's other rows, and to other centroids; single rows are left out."""
    n, n_classes = len(data.codes), len(data.names)
    memory.require(
        40 * n * n_classes, f"the distances of {n:,} rows to {n_classes:,} classes", "pass fewer rows or classes"
    )
    scored = data.counts[data.codes] > 1
    if not scored.any():
        raise NotEstimable("every class has only one row")
    codes, within = data.codes[scored], data.within[scored]
    size, each = data.counts[codes], np.arange(len(codes))
    to_own_mean = np.einsum("ij,ij->i", within, within)
    # Seen from its own mean, a row near it loses no digits however far apart the classes lie.
    inner = within @ data.means.T
    other = to_own_mean[:, None] + 2 * (inner[each, codes, None] - inner) + _centroid_distances(data)[codes]
    other[each, codes] = np.inf
    return to_own_mean * (size / (size - 1)) ** 2, np.maximum(other, 0.0)


def _centroid_distances(data: ClassedRows) -> Matrix:
    """Squared distances between the class means."""
    return square(condensed_distances(data.means, "euclidean", squared=True), len(data.names))
