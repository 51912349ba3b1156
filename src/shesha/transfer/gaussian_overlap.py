"""Overlap between classes that are modelled as Gaussians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.support import memory
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.transfer.class_checks import check_classes
from shesha.transfer.class_means_and_residuals import ClassedRows, class_sums
from shesha.transfer.not_estimable import nan_with_reason

Covariance = Literal["spherical", "diagonal", "full"]
COVARIANCES: tuple[Covariance, ...] = get_args(Covariance)

_PUBLISHED_FLOOR = 1e-4


@nan_with_reason
def bhattacharyya(
    X: ArrayLike, y: ArrayLike, *, covariance: Covariance = "spherical", n_components: int | None = None
) -> float:
    """Mean Bhattacharyya distance between the classes, each modelled as a Gaussian.

    The score is the mean over pairs of classes of
    ``D_ij = (m_i - m_j)' S^-1 (m_i - m_j) / 8 + log(det S / sqrt(det S_i det S_j)) / 2``, where
    ``S = (S_i + S_j) / 2``. Each covariance is divided by the number of rows in its class.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least two rows each.
    covariance : {'spherical', 'diagonal', 'full'}
        Covariance of each class: a single variance (the mean over features), one variance per feature, or the full
        matrix. For a full matrix, each class needs more rows than there are directions in which the rows vary.
    n_components : int or None
        Largest number of principal components to use; the published score uses 64. None uses all features.

    Returns
    -------
    float
        At least 0; higher = easier to transfer. 0 if all classes have the same mean and covariance. Invariant to scale
        and offset; to rotation, except with 'diagonal'; and to invertible affine maps with 'full' if n_components is
        None. NaN, with a warning, if all rows are equal or a class has no variance (with 'diagonal', in any single
        feature; with 'full', in any direction).

    References
    ----------
    Bhattacharyya (1943), On a measure of divergence between two statistical populations.

    Examples
    --------
    >>> bhattacharyya([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    12.5
    """
    check.choice(covariance, COVARIANCES, "covariance")
    return float(_DISTANCES[covariance](_components(X, y, n_components)).mean())


@nan_with_reason
def gbc(
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariance: Covariance = "spherical",
    n_components: int | None = None,
    published: bool = False,
) -> float:
    """Gaussian Bhattacharyya coefficient: minus the overlap between classes, summed over pairs.

    The score is ``-sum_{i != j} exp(-D_ij)`` over ordered pairs of classes, with D as in `bhattacharyya`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least two rows each.
    covariance : {'spherical', 'diagonal', 'full'}
        As for `bhattacharyya`; 'full' is not available with `published`.
    n_components : int or None
        As for `bhattacharyya`; the paper uses 64.
    published : bool
        Whether to compute the score as the public code does. That code raises variances below 1e-4 to 1e-4, whatever
        the scale of the features, and counts the logarithm of a spherical variance once instead of once per feature.

    Returns
    -------
    float
        In [-n_classes (n_classes - 1), 0]; higher = easier to transfer. Invariances and NaN are as for `bhattacharyya`.

    References
    ----------
    Pandy, Agostinelli, Uijlings, Ferrari and Mensink (2022), Transferability estimation using Bhattacharyya
    class separability.

    Examples
    --------
    >>> round(gbc([[0.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]), 3)
    -0.649
    """
    check.choice(
        covariance, ("spherical", "diagonal") if check.boolean(published, "published") else COVARIANCES, "covariance"
    )
    data = _components(X, y, n_components)
    distances = _published_bhattacharyya(data, covariance) if published else _DISTANCES[covariance](data)
    return float(-2 * np.exp(-distances).sum())


def _components(X: ArrayLike, y: ArrayLike, n_components: int | None) -> ClassedRows:
    """Check the input, and project it onto the leading principal components if a number is given."""
    n_kept = check.optional_count(n_components, "n_components")
    data = check_classes(X, y)
    return data if n_kept is None else data.project(data.principal_axes()[1][:, :n_kept])


def _spherical(data: ClassedRows) -> Vector:
    variances = _variances(data).mean(axis=1, keepdims=True)
    d = data.means.shape[1]
    _require_variance(data, variances[:, 0] * d > data.negligible, "variance")
    return _diagonal_distances(data.means, variances, d)


def _diagonal(data: ClassedRows) -> Vector:
    variances = _variances(data)
    noise = data.noise**2
    # Features that are equal in all rows are ignored.
    varies = (variances > noise).any(axis=0) | (data.means**2 > noise).any(axis=0)
    _require_variance(data, np.all(variances[:, varies] > noise[varies], axis=1), "variance in some feature")
    return _diagonal_distances(data.means[:, varies], variances[:, varies], 1)


def _full(data: ClassedRows) -> Vector:
    """Distances in coordinates with unit total covariance, which makes them invariant to affine maps."""
    lengths, axes = data.principal_axes()
    n_classes, d = len(data.names), len(lengths)
    memory.require(24 * n_classes * d * d, f"{n_classes:,} covariances of {d:,} features", "pass n_components")
    white = data.project(axes / lengths * np.sqrt(len(data.codes)))
    covariances = np.empty((n_classes, d, d))
    for label in range(n_classes):
        members = white.within[data.codes == label]
        covariances[label] = members.T @ members / len(members)
    with single_threaded_blas():
        spectra = np.linalg.eigvalsh(covariances)
    rounding = max(len(data.codes), d) * np.finfo(float).eps
    spread = (spectra[:, 0] > rounding * spectra[:, -1]) & (data.counts > d)
    _require_variance(data, np.asarray(spread), "variance in some direction")
    logs = np.log(spectra).sum(axis=1)
    return np.array(
        [
            _gaussian_distance(white.means[i] - white.means[j], (covariances[i] + covariances[j]) / 2, logs[[i, j]])
            for i, j in zip(*np.triu_indices(n_classes, k=1), strict=True)
        ]
    )


_DISTANCES: dict[str, Callable[[ClassedRows], Vector]] = {
    "spherical": _spherical,
    "diagonal": _diagonal,
    "full": _full,
}


def _published_bhattacharyya(data: ClassedRows, covariance: Covariance) -> Vector:
    # The floor is converted to the units of the rows; the limit prevents an overflow if the features are tiny.
    floor = min(_PUBLISHED_FLOOR / data.unit / data.unit, 1e150)
    variances = np.maximum(_variances(data), floor)
    return _diagonal_distances(
        data.means, variances.mean(axis=1, keepdims=True) if covariance == "spherical" else variances, 1
    )


def _variances(data: ClassedRows) -> Matrix:
    """Variance of each feature within each class."""
    return np.asarray(class_sums(data.within**2, data.codes) / data.counts[:, None])


def _diagonal_distances(means: Matrix, variances: Matrix, times: int) -> Vector:
    """Distances for all pairs i < j with independent features; `times` multiplies the log-variances."""
    logs = np.log(variances).sum(axis=1)
    distances = []
    for i in range(len(means) - 1):
        middle = (variances[i] + variances[i + 1 :]) / 2
        shape = np.log(middle).sum(axis=1) - (logs[i] + logs[i + 1 :]) / 2
        distances.append(((means[i] - means[i + 1 :]) ** 2 / middle).sum(axis=1) / 8 + times * shape / 2)
    return np.asarray(np.maximum(np.concatenate(distances), 0.0))


def _gaussian_distance(difference: Vector, middle: Matrix, logs: Vector) -> float:
    shape = float(np.linalg.slogdet(middle)[1]) - float(logs.mean())
    return max(float(difference @ np.linalg.solve(middle, difference)) / 8 + shape / 2, 0.0)


def _require_variance(data: ClassedRows, enough: NDArray[np.bool_], what: str) -> None:
    if not enough.all():
        raise NotEstimable(f"there is no {what} within class {check.join_items(data.names[~enough])}")
