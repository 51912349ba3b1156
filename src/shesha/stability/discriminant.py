"""Stability of the linear discriminant directions under resampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.stability.supervised import class_means

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

_RIDGE = 1e-6


def lda_stability(
    X: ArrayLike, y: ArrayLike, n_bootstrap: int = 50, subsample_frac: float = 0.5, seed: Seed = None
) -> float:
    """Agreement of the linear discriminant direction with those of stratified resamples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Labels of exactly two classes. For more use `shesha.stability.lda_subspace_stability`.
    n_bootstrap : int
        Number of resamples, drawn with replacement as the public package draws them.
    subsample_frac : float
        Size of a resample as a share of the rows, half of it from each class, in (0, 1].
    seed : int, Generator or None
        For the resamples.

    Returns
    -------
    float
        Mean absolute cosine, in [0, 1]. The within-class covariance has an absolute ridge of 1e-6,
        as in the public package. NaN, with a warning, if the class means coincide.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1], 100)
    >>> X = np.random.default_rng(0).standard_normal((200, 5)) + 3 * y[:, None]
    >>> round(lda_stability(X, y, seed=0), 2)
    0.98
    """
    matrix = check.matrix(X)
    codes, classes = check.labels(y, len(matrix))
    if len(classes) != 2:
        raise ValueError(
            f"y must hold exactly 2 classes, got {len(classes)}: use shesha.stability.lda_subspace_stability for more"
        )
    return _mean_overlap(matrix, codes, n_bootstrap, subsample_frac, seed)


def lda_subspace_stability(
    X: ArrayLike, y: ArrayLike, n_bootstrap: int = 50, subsample_frac: float = 0.5, seed: Seed = None
) -> float:
    """Agreement of the linear discriminant subspace with those of stratified resamples, any number of classes.

    The subspace is spanned by the discriminant directions of all classes (at most classes - 1, and
    at most n_features, dimensions). Agreement is the mean cosine of the principal angles; with two
    classes that is `lda_stability`.

    Parameters
    ----------
    X, y, n_bootstrap, subsample_frac, seed
        As for `lda_stability`, with two or more classes; a resample takes the same number of rows
        from each class, with replacement.

    Returns
    -------
    float
        In [0, 1]. NaN, with a warning, if all class means coincide.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], 100)
    >>> X = np.random.default_rng(0).standard_normal((300, 5)) + 3 * np.eye(5)[y]
    >>> round(lda_subspace_stability(X, y, seed=0), 2)
    0.99
    """
    matrix = check.matrix(X)
    codes, _ = check.labels(y, len(matrix))
    return _mean_overlap(matrix, codes, n_bootstrap, subsample_frac, seed)


def overlaps(X: Matrix, codes: Codes, n_bootstrap: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Agreement of the full data's discriminant subspace with that of each resample; NaN if there is none."""
    members = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    size = int(len(X) * share) // len(members)
    draws = [[rng.choice(rows, size, replace=True) for rows in members] for _ in range(n_bootstrap)]
    centred = X - X.mean(axis=0)
    with single_threaded_blas():
        full = discriminant_basis(centred, codes)

    def overlap(draw: list[NDArray[np.intp]]) -> float:
        rows = np.concatenate(draw)
        basis = discriminant_basis(centred[rows], codes[rows])
        if full.shape[1] == 0 or basis.shape[1] == 0:
            return float("nan")
        cosines = np.linalg.svd(full.T @ basis, compute_uv=False)
        return float(np.minimum(cosines, 1.0).sum() / max(full.shape[1], basis.shape[1]))

    return np.array(list(parallel(overlap, draws)))


def discriminant_basis(X: Matrix, codes: Codes) -> Matrix:
    """Orthonormal basis of the discriminant directions; no columns if all class means coincide."""
    import scipy.linalg

    means, _ = class_means(X, codes)
    present = np.searchsorted(np.unique(codes), codes)
    centred = X - means[present]
    differences = (means[1:] - means[0]).T
    if not differences.any():
        return np.empty((X.shape[1], 0))
    directions = _inverse_covariance_times(centred, differences)
    q, triangle, _ = scipy.linalg.qr(directions, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.asarray(q[:, size > size[0] * max(directions.shape) * np.finfo(float).eps])


def _inverse_covariance_times(centred: Matrix, right: Matrix) -> Matrix:
    """Solve (C'C / n + ridge) w = right; with fewer rows than features through the rows (Woodbury)."""
    import scipy.linalg

    n, d = centred.shape
    if d <= n:
        covariance = centred.T @ centred / n
        covariance[np.diag_indices(d)] += _RIDGE
        return np.asarray(scipy.linalg.solve(covariance, right, assume_a="pos", check_finite=False))
    inner = centred @ centred.T / n
    inner[np.diag_indices(n)] += _RIDGE
    return (
        right - centred.T @ scipy.linalg.solve(inner, centred @ right / n, assume_a="pos", check_finite=False)
    ) / _RIDGE


def _mean_overlap(X: Matrix, codes: Codes, n_bootstrap: int, subsample_frac: float, seed: Seed) -> float:
    check.count(n_bootstrap, "n_bootstrap")
    share = check.fraction(subsample_frac, "subsample_frac")
    n_classes = len(np.unique(codes))
    if int(len(X) * share) // n_classes < 1:
        raise ValueError(
            f"subsample_frac must leave a row of each of the {n_classes} classes, got {subsample_frac} of {len(X)} rows"
        )
    scores = overlaps(X, codes, n_bootstrap, share, generator(seed))
    if np.isnan(scores).all():
        return check.not_estimable("all class means coincide, so there is no discriminant direction")
    return float(np.nanmean(scores))
