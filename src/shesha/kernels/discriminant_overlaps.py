"""Linear discriminant directions, and how well they agree over resamples of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.class_statistics import class_means
from shesha.kernels.rounding_and_scaling import huge_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Labels, Matrix

_RIDGE = 1e-6
_AT_ONCE = 8
"""Number of resamples in one task for a thread. With fewer, scheduling would take longer than the work itself."""


def overlaps(X: Matrix, codes: Labels, n_bootstrap: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Overlap between the discriminant subspaces of all data and of each resample; NaN if one is empty."""
    classes, means = _class_rows(X, codes)
    size = int(len(X) * share) // len(classes)
    draws = [[rng.integers(len(rows), size=size) for rows in classes] for _ in range(n_bootstrap)]
    with single_threaded_blas():
        full = _discriminant_basis(classes, means, [np.ones(len(rows), dtype=np.intp) for rows in classes])

    def overlap(draw: list[Index]) -> float:
        basis = _discriminant_basis(
            classes, means, [np.bincount(index, minlength=len(rows)) for index, rows in zip(draw, classes, strict=True)]
        )
        if full.shape[1] == 0 or basis.shape[1] == 0:
            return float("nan")
        shared = full.T @ basis
        cosines = np.abs(shared[0]) if shared.size == 1 else np.linalg.svd(shared, compute_uv=False)
        return float(np.minimum(cosines, 1.0).sum() / max(full.shape[1], basis.shape[1]))

    parts = [draws[start : start + _AT_ONCE] for start in range(0, n_bootstrap, _AT_ONCE)]
    return np.array([item for part in parallel(lambda part: [overlap(draw) for draw in part], parts) for item in part])


def in_units_of_spread(X: Matrix) -> Matrix:
    """Centre the rows, and divide them by the root mean variance of the features, at any magnitude."""
    X = X / (float(np.abs(X).max(initial=0.0)) or 1.0)
    centred: Matrix = X - X.mean(axis=0)
    return centred / (float(np.sqrt(np.mean(centred**2))) or 1.0)


def _class_rows(X: Matrix, codes: Labels) -> tuple[list[Matrix], Matrix]:
    """Deviations of each class's rows from the class mean, and the class means."""
    codes = np.unique(codes, return_inverse=True)[1]
    X = X / huge_unit(X)
    centred = X - X.mean(axis=0)
    means, counts = class_means(centred, codes)
    centred = centred[np.argsort(codes, kind="stable")]
    ends = np.cumsum(counts).astype(np.intp)
    return [rows - mean for rows, mean in zip(np.split(centred, ends[:-1]), means, strict=True)], means


def _discriminant_basis(classes: Sequence[Matrix], means: Matrix, counts: Sequence[Index]) -> Matrix:
    """Orthonormal basis of the discriminant directions of counted rows; empty if all class means coincide.

    A row that is drawn twice gets twice the weight and is stored once, because there are fewer distinct rows than
    draws.
    """
    drawn, n = [np.flatnonzero(count) for count in counts], sum(int(count.sum()) for count in counts)
    spread, shifted, start = np.empty((sum(map(len, drawn)), means.shape[1])), means.copy(), 0
    for place, (rows, chosen, count) in enumerate(zip(classes, drawn, counts, strict=True)):
        part, weights = spread[start : start + len(chosen)], count[chosen].astype(np.float64)
        np.take(rows, chosen, axis=0, out=part, mode="clip")
        shift = weights @ part / weights.sum()
        part -= shift
        part *= np.sqrt(weights / n)[:, None]
        shifted[place] += shift
        start += len(chosen)
    differences = (shifted[1:] - shifted[0]).T
    if not differences.any():
        return np.empty((len(differences), 0))
    directions = _inverse_covariance_times(spread, differences)
    return directions / np.linalg.norm(directions) if directions.shape[1] == 1 else _orthonormal(directions)


def _orthonormal(directions: Matrix) -> Matrix:
    import scipy.linalg

    q, triangle, _ = scipy.linalg.qr(directions, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.asarray(q[:, size > size[0] * max(directions.shape) * np.finfo(float).eps])


def _inverse_covariance_times(spread: Matrix, right: Matrix) -> Matrix:
    """Solve (S'S + ridge) w = right; if there are fewer rows than features, through the rows (Woodbury)."""
    rows, d = spread.shape
    if d <= rows:
        return _solve(spread, right)
    return (right - spread.T @ _solve(spread.T, spread @ right)) / _RIDGE


def _solve(factor: Matrix, right: Matrix) -> Matrix:
    """Solve (F'F + ridge) w = right, computing only one triangle of the product."""
    from scipy.linalg.blas import dsyrk
    from scipy.linalg.lapack import dposv

    transposed = factor.T.flags.f_contiguous
    product = dsyrk(1.0, factor.T, lower=True) if transposed else dsyrk(1.0, factor, trans=True, lower=True)
    np.einsum("ii->i", product)[:] += _RIDGE
    _, solution, failed = dposv(product, right, lower=True, overwrite_a=True)
    # If the decomposition fails, the ridge is below the rounding level, and least squares gives the limit.
    return np.asarray(np.linalg.lstsq(factor.T @ factor, right)[0] if failed else solution)
