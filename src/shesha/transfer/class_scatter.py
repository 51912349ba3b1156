"""Scores that relate the scatter of the class means to the scatter of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.support.warnings import NotEstimable
from shesha.transfer.class_checks import check_classes
from shesha.transfer.not_estimable import nan_with_reason


@nan_with_reason
def h_score(X: ArrayLike, y: ArrayLike) -> float:
    """H-score: variance of the class means relative to the total variance.

    The score is ``trace(pinv(cov(X)) cov(M))``, where row i of M is the mean of row i's class. Both covariances are
    divided by n - 1. The inverse ignores directions whose variance is at rounding level. The paper's companion code
    (``transfer.HScore:gs`` in the reference values) divides the covariance between classes by n, which makes it smaller
    by a factor of (n - 1) / n, and adds an absolute 1e-10 to the total covariance.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [0, n_classes - 1]; higher = easier to transfer. Invariant to invertible affine maps. Random labels give
        about (n_classes - 1) rank(X) / (n_samples - 1). If there are no more rows than features, the score is usually
        n_classes - 1 for any labels. NaN, with a warning, if all rows are equal.

    References
    ----------
    Bao, Li, Huang, Zhang, Zheng, Zamir and Guibas (2019), An information-theoretic approach to
    transferability in task transfer learning.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], 20)
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> round(h_score(X, y), 3), round(h_score(X + 4 * np.eye(5)[y], y), 3)
    (0.172, 1.744)
    """
    data = check_classes(X, y)
    lengths, axes = data.principal_axes()
    white = data.project(axes / lengths)
    return min(white.between_scatter(), len(data.names) - 1.0)


@nan_with_reason
def fisher_discriminant(X: ArrayLike, y: ArrayLike) -> float:
    """Fisher's ratio of the scatter between classes to the scatter within classes.

    The score is ``sum_c n_c |m_c - m|^2 / sum_i |x_i - m_c(i)|^2``, the ratio of the traces of the scatter matrices.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        At least 0; higher = easier to transfer. It equals v / (1 - v), where v is the `variance_ratio`. Invariant to
        rotation, scale and offset. NaN, with a warning, if no row differs from the mean of its class.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems.

    Examples
    --------
    >>> fisher_discriminant([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    25.0
    """
    data = check_classes(X, y)
    within = data.within_scatter()
    if within == 0:
        raise NotEstimable("no row differs from the mean of its class")
    return float(np.divide(data.between_scatter(), within))
