"""Class means, scatter and discriminant directions: for the rows themselves and for many resamples at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.rounding_and_scaling import length_unit, safe_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Labels, Matrix, Vector

_ROWS = 2048
"""Number of rows whose distances to the class means of all resamples are computed together."""
_SQUARES = 1e-100, 1e100
"""Range within which a deviation can be squared without overflow or underflow."""
_CACHED = 1 << 16
"""Number of values in a block of rows. It is fixed because the blockwise sums, including rounding, depend on it."""
_FAR_FROM_MEAN = 1e-3
"""Smallest ratio of the sum of squares about the mean to that about the first row that keeps enough significant digits.
"""
_FEW_DIGITS = 1e-9
"""A variance below this share of the squared length may be a rounding error."""


def class_means(X: Matrix, codes: Labels) -> tuple[Matrix, Vector]:
    """Mean row of each class and its number of rows."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.diff(np.append(starts, len(codes))).astype(np.float64)
    return np.add.reduceat(X[order], starts, axis=0) / counts[:, None], counts


def class_variance_share(X: Matrix, codes: Labels) -> float:
    """Share of the total sum of squares that lies between classes; NaN if all rows are equal."""
    if (X[0] == X[-1]).all() and (X[0] == X).all():
        return float("nan")
    n_classes = int(codes.max()) + 1
    counts = np.bincount(codes, minlength=n_classes)
    # Centring takes as long as the rest of the computation, so it is done only if the data have a large common offset.
    for origin in (None, X[0].copy()):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            sums, squares = _class_sums(X, origin, codes, n_classes)
            mean = sums.sum(axis=0) / len(X)
            total = squares - len(X) * float(mean @ mean)
        if _SQUARES[0] ** 2 < total < _SQUARES[1] ** 2 and total > _FAR_FROM_MEAN * squares:
            return _between_class_share(sums, counts, mean, total)
    # Either squares overflow or underflow, or the first row is far from all other rows.
    centred = X / length_unit(X)
    centred -= centred.mean(axis=0)
    centred /= np.abs(centred).max()
    sums, total = _class_sums(centred, None, codes, n_classes)
    return _between_class_share(sums, counts, np.zeros(X.shape[1]), total)


def _between_class_share(sums: Matrix, counts: Index, mean: Vector, total: float) -> float:
    """Share of the sum of squares about the mean that lies between the class means."""
    present = counts > 0
    means = sums[present] / counts[present][:, None] - mean
    ss_between = float(counts[present] @ np.einsum("ij,ij->i", means, means))
    return min(1.0, max(0.0, ss_between / total))


def _class_sums(X: Matrix, origin: Vector | None, codes: Labels, n_classes: int) -> tuple[Matrix, float]:
    """Sum of the rows in each class and sum of all squared entries, relative to an origin, block by block."""
    sums, squares = np.zeros((n_classes, X.shape[1])), 0.0
    step = max(1, _CACHED // X.shape[1])
    indicators = (codes == np.arange(n_classes)[:, None]).astype(np.float64)
    with single_threaded_blas():
        for start in range(0, len(X), step):
            part = X[start : start + step] if origin is None else X[start : start + step] - origin
            sums += indicators[:, start : start + step] @ part
            squares += float(np.einsum("ij,ij->", part, part))
    return sums, squares


def mean_separation(X: Matrix, members: Sequence[Index]) -> float:
    """Mean over classes of (inter - intra) / (inter + intra); NaN if no class gives a value.

    `intra` is the mean distance from the rows of a class to their mean; `inter` is that to the mean of all other rows.
    """
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    X = X / length_unit(X)
    X -= X[0].copy()
    total = X.sum(axis=0)
    scores = []
    for rows in members:
        if not 2 <= len(rows) < len(X):
            continue
        class_rows = X[rows]
        inside = class_rows.sum(axis=0)
        inter = float(np.linalg.norm(class_rows - (total - inside) / (len(X) - len(class_rows)), axis=1).mean())
        intra = float(np.linalg.norm(class_rows - inside / len(class_rows), axis=1).mean())
        if inter + intra > 0:
            scores.append((inter - intra) / (inter + intra))
    return float(np.mean(scores)) if scores else float("nan")


def class_variance_shares(X: Matrix, members: Sequence[Index], counts: Matrix) -> Vector:
    """Between-class share of the sum of squares, for each column of row counts; NaN if all rows are equal.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Finite features.
    members : sequence of arrays
        Row numbers of each class.
    counts : array of shape (n_rows, n_resamples)
        Number of times that each resample contains each row.
    """
    centred = centred_rows(X)
    with single_threaded_blas():
        sums = [_products(counts[rows].T, centred[rows]) for rows in members]
    sizes = [counts[rows].sum(axis=0) for rows in members]
    n = np.sum(sizes, axis=0)
    mean = np.sum(sums, axis=0) / n[:, None]
    from_mean = n * np.einsum("bj,bj->b", mean, mean)
    ss_between = np.sum([_squared(s) / np.maximum(m, 1) for s, m in zip(sums, sizes, strict=True)], axis=0) - from_mean
    squares = counts.T @ np.einsum("ij,ij->i", centred, centred)
    total = squares - from_mean
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > _FEW_DIGITS * squares, np.clip(ss_between / total, 0.0, 1.0), np.nan))


def mean_separations(X: Matrix, members: Sequence[Index], counts: Matrix) -> Vector:
    """Mean separation (see `mean_separation`) for each column of row counts; NaN if no class has a value.

    The arguments are the same as for `class_variance_shares`.
    """
    centred = centred_rows(X)
    sums = [_products(counts[rows].T, centred[rows]) for rows in members]
    sizes = [counts[rows].sum(axis=0) for rows in members]
    total, n = np.sum(sums, axis=0), np.sum(sizes, axis=0)
    scores = []
    for rows, class_sums, size in zip(members, sums, sizes, strict=True):
        usable = (size >= 2) & (size < n)
        with np.errstate(invalid="ignore", divide="ignore"):
            intra = _mean_distances(centred[rows], class_sums / size[:, None], counts[rows], size)
            inter = _mean_distances(centred[rows], (total - class_sums) / (n - size)[:, None], counts[rows], size)
            score = (inter - intra) / (inter + intra)
        scores.append(np.where(usable & (inter + intra > 0), score, np.nan))
    return mean_of_known(np.array(scores))


def _mean_distances(rows: Matrix, centres: Matrix, counts: Matrix, size: Vector) -> Vector:
    """Mean distance from the rows to each resample's centre, weighted by their counts."""
    # Choosing an origin near all centres avoids subtracting large numbers.
    origin = np.nan_to_num(centres).mean(axis=0)
    moved = centres - origin
    lengths = np.einsum("bj,bj->b", moved, moved)

    def part(start: int) -> Vector:
        block = rows[start : start + _ROWS] - origin
        squared = -2.0 * (block @ moved.T)
        squared += np.einsum("ij,ij->i", block, block)[:, None]
        squared += lengths
        np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)
        squared *= counts[start : start + _ROWS]
        return np.asarray(squared.sum(axis=0))

    return np.asarray(np.sum(list(parallel(part, range(0, len(rows), _ROWS))), axis=0) / size)


def centred_rows(X: Matrix) -> Matrix:
    """Scale the rows by a power of two near their largest entry, then centre them."""
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    rows = X / length_unit(X)
    rows -= rows[0].copy()
    rows -= rows.mean(axis=0)
    return np.asarray(rows)


def _products(left: Matrix, right: Matrix) -> Matrix:
    with single_threaded_blas():
        return np.asarray(left @ right)


def _squared(rows: Matrix) -> Vector:
    return np.asarray(np.einsum("bj,bj->b", rows, rows))


def mean_of_known(scores: Matrix) -> Vector:
    """Mean of each column over its non-missing values; NaN if all are missing."""
    known = np.isfinite(scores)
    n = known.sum(axis=0)
    return np.asarray(np.where(n > 0, np.where(known, scores, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan))


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
    # Small data keep their unit, because the documented score has a ridge of fixed size.
    X = X / max(safe_unit(X), 1.0)
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
