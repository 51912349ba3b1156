"""Class means, scatter and distances: for the rows, for many resamples, and for many shuffles of the labels.

A shuffle is a line of class codes, one per row of the data. All shuffles have the same class sizes, and they share
everything that does not depend on labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import ranks
from shesha.kernels.distances import (
    PANEL,
    Metric,
    distance_rounding,
    find_undirected_rows,
    pair_distances,
    standard_rows,
)
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


def class_totals(X: Matrix, codes: Labels) -> Matrix:
    """Sum of the rows of each class."""
    order = np.argsort(codes, kind="stable")
    return np.asarray(np.add.reduceat(X[order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=0))


def class_means(X: Matrix, codes: Labels) -> tuple[Matrix, Vector]:
    """Mean row of each class that has rows, and its number of rows."""
    counts = np.unique(codes, return_counts=True)[1].astype(np.float64)
    return class_totals(X, codes) / counts[:, None], counts


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
            return _class_mean_share(sums, counts, mean, total)
    # Either squares overflow or underflow, or the first row is far from all other rows.
    centred = X / length_unit(X)
    centred -= centred.mean(axis=0)
    centred /= np.abs(centred).max()
    sums, total = _class_sums(centred, None, codes, n_classes)
    return _class_mean_share(sums, counts, np.zeros(X.shape[1]), total)


def _class_mean_share(sums: Matrix, counts: Index, mean: Vector, total: float) -> float:
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
    ss_between = (
        np.sum([np.einsum("bj,bj->b", s, s) / np.maximum(m, 1) for s, m in zip(sums, sizes, strict=True)], axis=0)
        - from_mean
    )
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
    if spread.shape[1] <= len(spread):
        directions = _solve(spread, differences)
    else:
        # With fewer rows than features, the system is solved through the rows (Woodbury).
        directions = (differences - spread.T @ _solve(spread.T, spread @ differences)) / _RIDGE
    # The squares of tiny numbers vanish.
    directions /= safe_unit(directions)
    return directions / np.linalg.norm(directions) if directions.shape[1] == 1 else _orthonormal(directions)


def _orthonormal(directions: Matrix) -> Matrix:
    import scipy.linalg

    q, triangle, _ = scipy.linalg.qr(directions, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.asarray(q[:, size > size[0] * max(directions.shape) * np.finfo(float).eps])


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


Panels = Callable[[int], Matrix]

_SEPARATION_PAIRS = 1 << 15
"""Number of pairs that are weighted in one step, limited by the cache size."""
_COLUMNS = 16


@dataclass(frozen=True)
class ClassSums:
    """Sums of distances and numbers of pairs, overall and within classes, for each column of counts."""

    total: Vector
    within: Vector
    n_total: Vector
    n_within: Vector

    def subtract(self, other: ClassSums) -> ClassSums:
        """Return these sums minus another set of sums."""
        return ClassSums(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))

    @property
    def ratios(self) -> Vector:
        """Ratio of the mean distance between classes to that within classes; NaN if undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = ((self.total - self.within) / (self.n_total - self.n_within)) / (self.within / self.n_within)
        return np.asarray(np.where(np.isfinite(ratios), ratios, np.nan))


def separation_sums(distances_from: Panels, codes: Labels, counts: Matrix) -> ClassSums:
    """Sum the distances over all pairs of different rows, for each column of row counts.

    The sums are quadratic forms in the counts, so one matrix product per panel of distances serves all columns, and
    each distance is computed only once.

    Parameters
    ----------
    distances_from : function
        Function that takes the first row number of a panel and returns the distances from the panel's rows to
        themselves and to all later rows. The returned array is overwritten.
    codes : array of shape (n_rows,)
        Class of each row, in ascending order.
    counts : array of shape (n_rows, n_columns)
        Number of times that each row occurs, one column per resample.
    """

    def sums(start: int) -> tuple[Matrix, Matrix]:
        distances = distances_from(start)
        width = len(distances)
        distances[np.tril_indices(width)] = 0.0  # Keep only the pairs i < j.
        panel_codes = codes[start : start + width]
        here = counts[start : start + width]
        total = np.einsum("ib,ib->b", here, distances @ counts[start:])
        # Rows are sorted by class, so the panel's classes form a contiguous range that begins at its first row.
        stop = int(np.searchsorted(codes, panel_codes[-1], side="right"))
        distances[:, : stop - start] *= panel_codes[:, None] == codes[start:stop]
        within = np.einsum("ib,ib->b", here, distances[:, : stop - start] @ counts[start:stop])
        return total, within

    parts = list(parallel(sums, range(0, len(codes), PANEL)))
    total, within = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
    per_class, squares = class_totals(counts, codes), (counts**2).sum(axis=0)
    n_within = ((per_class**2).sum(axis=0) - squares) / 2
    return ClassSums(total, within, (counts.sum(axis=0) ** 2 - squares) / 2, n_within)


def sums_of_groups(distances: Vector, alike: NDArray[np.bool_], group: Index, weights: Matrix) -> ClassSums:
    """Sum over given pairs, weighted by their group's line of `weights`; `alike` marks same-class pairs."""
    n_groups = len(weights)
    of_pairs = np.ones(len(group)), alike.astype(np.float64)
    sums = [np.bincount(group, distances * indicator, n_groups) @ weights for indicator in of_pairs]
    return ClassSums(*sums, *(np.bincount(group, indicator, n_groups) @ weights for indicator in of_pairs))


def ratios_of_pairs(distances: Vector, differ: NDArray[np.bool_], counts: Matrix, i: Index, j: Index) -> Vector:
    """Separation ratio over the given pairs (i, j) of different rows, for each column of row counts.

    `differ` marks the pairs whose rows belong to different classes.
    """

    def sums(columns: slice) -> NDArray[np.float64]:
        here = np.ascontiguousarray(counts[:, columns])
        totals = np.zeros((2, 2, here.shape[1]))
        for start in range(0, len(i), _SEPARATION_PAIRS):
            stretch = slice(start, start + _SEPARATION_PAIRS)
            weights = here[i[stretch]] * here[j[stretch]]
            for side, mask in enumerate((differ[stretch], ~differ[stretch])):
                totals[side, 0] += distances[stretch][mask] @ weights[mask]
                totals[side, 1] += weights[mask].sum(axis=0)
        return totals

    columns = [slice(start, start + _COLUMNS) for start in range(0, counts.shape[1], _COLUMNS)]
    (between, n_between), (within, n_within) = np.concatenate(list(parallel(sums, columns)), axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (between / n_between) / (within / n_within)
    return np.asarray(np.where(np.isfinite(ratio), ratio, np.nan))


Cube = NDArray[np.float64]


def random_halves(sizes: Sequence[int], n_splits: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """For each class, draw the size // 2 positions that form the first half: arrays (n_splits, size)."""
    halves = []
    for size in sizes:
        chosen = np.zeros((n_splits, size), dtype=bool)
        half = size // 2
        # The positions of the smallest random numbers form a random subset of exactly this size.
        smallest = rng.random((n_splits, size)).argpartition(half - 1, axis=1)[:, :half]
        np.put_along_axis(chosen, smallest, True, axis=1)
        halves.append(chosen)
    return halves


def half_counts(chosen: NDArray[np.bool_], rows: Index, n_rows: int) -> tuple[Matrix, Matrix]:
    """Count how often each row of a class occurs in the first and in the second half of each split.

    Parameters
    ----------
    chosen : array of shape (n_splits, size)
        Whether each position is in the first half.
    rows : array of shape (size,)
        Row at each position; in a bootstrap resample, a row can occupy several positions.
    n_rows : int
        Number of rows of the class.

    Returns
    -------
    two arrays of shape (n_splits, n_rows)
        Counts in the first and in the second half.
    """
    total = np.bincount(rows, minlength=n_rows).astype(np.float64)
    places = (np.arange(len(chosen))[:, None] * n_rows + rows)[chosen]
    first = np.bincount(places, minlength=len(chosen) * n_rows).reshape(len(chosen), n_rows).astype(np.float64)
    return first, total - first


def agreements(first: Cube, second: Cube, metric: Metric) -> Vector:
    """Rank correlation of the centroid distances in the two halves of each split; NaN if undefined.

    Parameters
    ----------
    first, second : arrays of shape (n_splits, n_classes, n_features)
        Centroids of the classes in the halves.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between centroids.
    """
    n_splits, n_classes, _ = first.shape
    i, j = np.triu_indices(n_classes, k=1)
    rows = np.concatenate([first, second]).reshape(2 * n_splits * n_classes, -1)
    if metric == "euclidean" or len(find_undirected_rows(rows, metric)):
        return np.array([_agreement(a, b, i, j, metric) for a, b in zip(first, second, strict=True)])
    standard = standard_rows(rows, metric).reshape(2 * n_splits, n_classes, -1)
    with single_threaded_blas():
        closeness = (standard @ standard.transpose(0, 2, 1))[:, i, j]
    distances = np.clip(1.0 - closeness, 0.0, 2.0)
    ordered = np.sort(distances, axis=1)
    # Splits with possible ties are recomputed by the slower function, which has a tolerance for ties.
    level = distance_rounding(standard[0], metric)
    close = np.asarray((np.diff(ordered, axis=1) <= 2 * level).any(axis=1))
    slow = np.logical_or(close[:n_splits], close[n_splits:])
    # Without ties, the rank correlation follows from the positions in the sorted orders.
    m = distances.shape[1]
    places = np.argsort(np.argsort(distances, axis=1), axis=1) - (m - 1) / 2
    correlations = np.einsum("sk,sk->s", places[:n_splits], places[n_splits:]) / ((m**3 - m) / 12)
    for split in np.flatnonzero(slow):
        correlations[split] = _agreement(first[split], second[split], i, j, metric)
    return np.asarray(correlations)


def _agreement(first: Matrix, second: Matrix, i: Index, j: Index, metric: Metric) -> float:
    if len(find_undirected_rows(first, metric)) or len(find_undirected_rows(second, metric)):
        return float("nan")
    rows = standard_rows(first, metric), standard_rows(second, metric)
    distances = [pair_distances(half, i, j, metric, squared=True) for half in rows]
    levels = distance_rounding(rows[0], metric), distance_rounding(rows[1], metric)
    return ranks.spearman(distances[0], distances[1], levels)


_TOGETHER = 16
"""Number of shuffles in one task for a thread."""
_ENTRIES = 1 << 15
"""Number of values processed in one step, limited by the cache size."""
_SHUFFLED_PAIRS = 1 << 11
_SHUFFLED_ROWS = 1 << 10
_FEW = 16
"""Largest number of classes for which one matrix product covers all classes."""
_ROUNDING = 1e-13


def sums_of_classes(X: Matrix, shuffled: Index, n_classes: int) -> Matrix:
    """Sum of the rows in each class for each shuffle, of shape (n_shuffles, n_classes, n_features)."""
    from scipy.sparse import csc_array

    n_shuffles, n = shuffled.shape
    # The sparse matrix has one column per row of X; each row is read once and added to its class in every shuffle.
    places = (np.arange(n_shuffles)[:, None] * n_classes + shuffled).T.ravel().astype(np.int32)
    ends = np.arange(n + 1, dtype=np.int32) * n_shuffles
    which = csc_array((np.ones(len(places)), places, ends), shape=(n_shuffles * n_classes, n))
    return np.asarray(which @ X).reshape(n_shuffles, n_classes, -1)


def variance_shares_of_shuffles(X: Matrix, shuffled: Index, n_classes: int) -> Vector:
    """Between-class share of the sum of squares for each shuffle of the labels."""
    centred = centred_rows(X)
    sizes = np.maximum(np.bincount(shuffled[0], minlength=n_classes), 1)
    total = float(np.einsum("ij,ij->", centred, centred))

    def some(start: int) -> Vector:
        sums = sums_of_classes(centred, shuffled[start : start + _TOGETHER], n_classes)
        return np.asarray(np.einsum("bcj,bcj->bc", sums, sums) @ (1 / sizes))

    ss_between = np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))))
    return np.asarray(np.clip(ss_between / total, 0.0, 1.0))


def separations_of_shuffles(X: Matrix, shuffled: Index, n_classes: int) -> Vector:
    """Mean over classes of (inter - intra) / (inter + intra), for each shuffle; NaN if undefined."""
    centred = centred_rows(X)
    total, lengths = centred.sum(axis=0), np.einsum("ij,ij->i", centred, centred)
    dots = centred @ total

    def some(start: int) -> Vector:
        codes = shuffled[start : start + _TOGETHER]
        sums = sums_of_classes(centred, codes, n_classes)
        products = _own_class_products(centred, codes, sums)
        return np.array([_separation(lengths, dots, total, *draw) for draw in zip(codes, sums, products, strict=True)])

    return np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))))


def _own_class_products(X: Matrix, codes: Index, sums: Matrix) -> Matrix:
    """Inner product of each row with the sum of its class, for each shuffle: shape (n_shuffles, n_rows)."""
    own_products, (n_shuffles, n_classes, d) = np.empty(codes.shape), sums.shape
    if n_classes > _FEW:
        step = max(1, (_ENTRIES << 3) // d)
        for labels, of_classes, out in zip(codes, sums, own_products, strict=True):
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                np.einsum("ij,ij->i", X[part], of_classes[labels[part]], out=out[part])
        return own_products
    for start in range(0, len(X), _SHUFFLED_ROWS):
        part = slice(start, start + _SHUFFLED_ROWS)
        products = (sums.reshape(-1, d) @ X[part].T).reshape(n_shuffles, n_classes, -1)
        own_products[:, part] = np.take_along_axis(products, codes[:, None, part], axis=1)[:, 0]
    return own_products


def _separation(lengths: Vector, dots: Vector, total: Vector, codes: Index, sums: Matrix, product: Vector) -> float:
    """Mean separation for one shuffle, given the inner product of each row with the sum of its class."""
    n, sizes = len(lengths), np.bincount(codes, minlength=len(sums))
    usable = (sizes >= 2) & (sizes < n)
    means = []
    for centre, times, number in ((sums, product, sizes), (total - sums, dots - product, n - sizes)):
        number = np.maximum(number, 1)
        length = np.einsum("cj,cj->c", centre, centre) / number**2
        squared = lengths - 2 * times / number[codes] + length[codes]
        # If a row coincides with its centre, the remaining distance is a rounding error.
        squared[squared < _ROUNDING * (lengths + length[codes])] = 0.0
        means.append(np.bincount(codes, np.sqrt(squared), len(sums)) / np.maximum(sizes, 1))
    intra, inter = means
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(usable & (inter + intra > 0), (inter - intra) / (inter + intra), np.nan)
    return float(mean_of_known(score[:, None])[0])


def class_sums(panel: Panels, width: int, shuffled: Index, n_classes: int) -> Vector:
    """For each shuffle of the labels, sum the values of all pairs of rows in the same class.

    Parameters
    ----------
    panel : function
        Function that takes the first row number of a panel and returns the values of `width` rows with themselves and
        all later rows; the returned array is overwritten.
    shuffled : array of shape (n_shuffles, n_rows)
        Class codes, numbered from 0.
    """
    work = _sums_by_products if n_classes <= _FEW else _sums_by_masks
    codes = _compact_codes(shuffled)

    def some(start: int) -> Vector:
        numbers = panel(start)
        numbers[np.tril_indices(len(numbers))] = 0.0  # Keep only the pairs i < j.
        return work(numbers, codes[:, start:], n_classes)

    return np.asarray(np.sum(list(parallel(some, range(0, shuffled.shape[1], width))), axis=0))


def _compact_codes(codes: Index) -> NDArray[Any]:
    """Convert codes to the smallest integer type, because comparing them is most of the work."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


def _sums_by_products(numbers: Matrix, codes: NDArray[Any], n_classes: int) -> Vector:
    """Multiply a panel with the class indicators, and select the sum for each row's class in each shuffle."""
    totals = []
    for start in range(0, len(codes), _TOGETHER):
        batch = codes[start : start + _TOGETHER]
        members = (batch.T[:, :, None] == np.arange(n_classes, dtype=batch.dtype)).astype(np.float64)
        sums = (numbers @ members.reshape(batch.shape[1], -1)).reshape(len(numbers), *members.shape[1:])
        totals.append(np.einsum("ibc,ibc->b", sums, members[: len(numbers)]))
    return np.concatenate(totals)


def _sums_by_masks(numbers: Matrix, codes: NDArray[Any], n_classes: int) -> Vector:
    """Compute the sums for `class_sums` by comparing the codes of each pair."""
    totals, step = np.zeros(len(codes)), max(1, _ENTRIES // numbers.shape[1])
    for start in range(0, len(numbers), step):
        stretch = numbers[start : start + step]
        for b, labels in enumerate(codes):
            totals[b] += np.vdot(stretch, labels[start : start + len(stretch), None] == labels)
    return totals


def sums_of_pairs(numbers: Vector, i: Index, j: Index, shuffled: Index) -> tuple[Vector, Vector]:
    """For each shuffle, the sum of the given values over pairs in the same class, and their number."""
    codes = _compact_codes(shuffled)

    def some(start: int) -> Matrix:
        batch = np.ascontiguousarray(codes[start : start + _TOGETHER].T)
        totals = np.zeros((2, batch.shape[1]))
        for offset in range(0, len(i), _SHUFFLED_PAIRS):
            part = slice(offset, offset + _SHUFFLED_PAIRS)
            same_class = batch.take(i[part], axis=0) == batch.take(j[part], axis=0)
            totals += numbers[part] @ same_class, same_class.sum(axis=0)
        return totals

    sums, n_alike = np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))), axis=1)
    return sums, n_alike
