"""Ratio of the mean distances between and within classes, for many resamples of the rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.distances import PANEL
from shesha.kernels.threads import parallel
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
