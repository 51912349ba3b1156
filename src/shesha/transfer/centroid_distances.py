"""Scores from the distances between rows and class centroids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import condensed_distances
from shesha.support import memory
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.transfer.class_checks import check_classes
from shesha.transfer.class_means_and_residuals import ClassedRows
from shesha.transfer.not_estimable import nan_with_reason


@nan_with_reason
def margin_score(X: ArrayLike, y: ArrayLike) -> float:
    """Mean relative margin between a row's distances to the nearest other centroid and to its own.

    The score is the mean over rows of ``(b - a) / (b + a)``. Here a is the Euclidean distance to the centroid of the
    other rows in the same class, and b is the distance to the nearest centroid of another class. A row for which both
    are 0 contributes 0. The study that names the score gives no formula. The definition used here is our own; it is
    bounded and does not depend on scale. Each row is left out of its class centroid, because random labels would
    otherwise score above 0. (The study's code divides the mean distance between centroids by the mean distance within
    classes, and subtracts log(n) / n.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. If a class has only one row, this row serves as its centroid and is not
        scored.

    Returns
    -------
    float
        In [-1, 1]; higher = easier to transfer. Invariant to rotation, scale and offset. NaN, with a warning,
        if all rows are equal or no class has two rows.

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
    # The ratio of two distances at rounding level would be meaningless.
    near = (a + b) ** 2 <= data.negligible
    return float(np.where(near, 0.0, (b - a) / np.where(near, 1.0, b + a)).mean())


@nan_with_reason
def centroid_softmax(X: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the true class under a softmax of distances to the class centroids.

    The score is ``mean_i log(exp(-a_i / s) / (exp(-a_i / s) + sum_c exp(-b_ic / s)))``. Here a is the squared Euclidean
    distance to the centroid of the other rows in the same class, and b_c is the squared distance to the centroid of
    another class c. The scale s is the mean of a over rows. The study that names the score gives no formula. The
    definition used here is our own: dividing by s makes it independent of scale, and leaving each row out of its class
    centroid keeps random labels at chance. (The study's code passes a softmax of plain distances to LEEP, which depends
    on the scale of the features.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. If a class has only one row, this row serves as its centroid and is not
        scored.

    Returns
    -------
    float
        At most 0; higher = easier to transfer. Random labels give about -log(n_classes). Invariant to rotation,
        scale and offset. NaN, with a warning, if no row differs from the other rows of its class.

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
    """Distances to the centroid of the class's other rows, and to other centroids, without single rows."""
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
    # Coordinates relative to the mean of the row's class keep all digits, however far apart the classes are.
    inner = within @ data.means.T
    other = to_own_mean[:, None] + 2 * (inner[each, codes, None] - inner) + _centroid_distances(data)[codes]
    other[each, codes] = np.inf
    return to_own_mean * (size / (size - 1)) ** 2, np.maximum(other, 0.0)


def _centroid_distances(data: ClassedRows) -> Matrix:
    """Squared distances between the class means."""
    return square(condensed_distances(data.means, "euclidean", squared=True), len(data.names))
