"""Distances between and within classes, for many resamples or class-balanced halves of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

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
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Labels, Matrix, Vector

Panels = Callable[[int], Matrix]

_PAIRS = 1 << 15
"""Number of pairs that are weighted in one step, limited by the cache size."""
_COLUMNS = 16


@dataclass(frozen=True)
class Sums:
    """Sums of distances and numbers of pairs, overall and within classes, for each column of counts."""

    total: Vector
    within: Vector
    n_total: Vector
    n_within: Vector

    def subtract(self, other: Sums) -> Sums:
        """Return these sums minus another set of sums."""
        return Sums(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))

    @property
    def ratios(self) -> Vector:
        """Ratio of the mean distance between classes to that within classes; NaN if undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = ((self.total - self.within) / (self.n_total - self.n_within)) / (self.within / self.n_within)
        return np.asarray(np.where(np.isfinite(ratios), ratios, np.nan))


def separation_sums(distances_from: Panels, codes: Labels, counts: Matrix) -> Sums:
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
    return Sums(total, within, *_pair_counts(codes, counts))


def sums_of_groups(distances: Vector, alike: NDArray[np.bool_], group: Index, weights: Matrix) -> Sums:
    """Sum over given pairs, weighted by their group's line of `weights`; `alike` marks same-class pairs."""
    n_groups = len(weights)
    of_pairs = np.ones(len(group)), alike.astype(np.float64)
    sums = [np.bincount(group, distances * indicator, n_groups) @ weights for indicator in of_pairs]
    return Sums(*sums, *(np.bincount(group, indicator, n_groups) @ weights for indicator in of_pairs))


def ratios_of_pairs(distances: Vector, differ: NDArray[np.bool_], counts: Matrix, i: Index, j: Index) -> Vector:
    """Separation ratio over the given pairs (i, j) of different rows, for each column of row counts.

    `differ` marks the pairs whose rows belong to different classes.
    """

    def sums(columns: slice) -> NDArray[np.float64]:
        here = np.ascontiguousarray(counts[:, columns])
        totals = np.zeros((2, 2, here.shape[1]))
        for start in range(0, len(i), _PAIRS):
            stretch = slice(start, start + _PAIRS)
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


def _pair_counts(codes: Labels, counts: Matrix) -> tuple[Matrix, Matrix]:
    """Number of pairs of different rows, in total and within classes, for each column of counts."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    per_class = np.add.reduceat(counts, starts, axis=0)
    squares = (counts**2).sum(axis=0)
    return (counts.sum(axis=0) ** 2 - squares) / 2, ((per_class**2).sum(axis=0) - squares) / 2


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
    correlations = _rank_correlations(distances[:n_splits], distances[n_splits:])
    for split in np.flatnonzero(slow):
        correlations[split] = _agreement(first[split], second[split], i, j, metric)
    return correlations


def _rank_correlations(a: Matrix, b: Matrix) -> Vector:
    """Rank correlation between corresponding rows of two matrices without ties."""
    m = a.shape[1]
    places = [np.argsort(np.argsort(half, axis=1), axis=1) - (m - 1) / 2 for half in (a, b)]
    return np.asarray(np.einsum("sk,sk->s", *places) / ((m**3 - m) / 12))


def _agreement(first: Matrix, second: Matrix, i: Index, j: Index, metric: Metric) -> float:
    if len(find_undirected_rows(first, metric)) or len(find_undirected_rows(second, metric)):
        return float("nan")
    rows = standard_rows(first, metric), standard_rows(second, metric)
    distances = [pair_distances(half, i, j, metric, squared=True) for half in rows]
    levels = distance_rounding(rows[0], metric), distance_rounding(rows[1], metric)
    return ranks.spearman(distances[0], distances[1], levels)
