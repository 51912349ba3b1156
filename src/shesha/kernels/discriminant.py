"""Linear discriminant directions, and their agreement between resamples of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.class_statistics import class_means
from shesha.kernels.precision import huge_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Labels, Matrix

_RIDGE = 1e-6


def overlaps(X: Matrix, codes: Labels, n_bootstrap: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Agreement of the full data's discriminant subspace with that of each resample; NaN if there is none."""
    members = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    size = int(len(X) * share) // len(members)
    draws = [[rng.choice(rows, size, replace=True) for rows in members] for _ in range(n_bootstrap)]
    X = X / huge_unit(X)
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


def discriminant_basis(X: Matrix, codes: Labels) -> Matrix:
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
