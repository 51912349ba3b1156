"""Detection of rows that nearly repeat another row."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from shesha.nulls.sampled_rows_for_checks import FEWEST_ROWS
from shesha.support.types import Index, Mask, Matrix

_CHANCE = 1e-4
"""Expected number of near repeats that are reported by chance."""
_ROUNDING = 64 * float(np.finfo(float).eps)
"""Rounding error in a squared distance, relative to the squared lengths from which it is computed."""
_EVERY = 8
"""Step between the rows that are used to estimate the typical distance."""


def find_near_repeats(grams: Sequence[Matrix], kept: Mask) -> Index:
    """Return the rows whose nearest row is much nearer than the second nearest and the dimension suggest.

    If rows are distributed evenly in k dimensions, the logarithm of the ratio of the second-nearest to the nearest
    distance is exponential with rate k (Facco et al. 2017). For the ratio of the third to the second distance, the rate
    is 2 k. The median of this second logarithm estimates k even if there are repeats.
    """
    places = np.flatnonzero(kept)
    if len(places) < FEWEST_ROWS:
        return places[:0]
    total = np.zeros((len(places), len(places)))
    for gram in grams:
        part = gram if kept.all() else gram[np.ix_(places, places)]
        total += part * (1 / (_middle_distance(part) or 1.0))
    # Computed in place, because allocating memory for millions of numbers takes longer than adding them up.
    lengths = np.diagonal(total).copy()
    total *= -2
    total += lengths
    total += lengths[:, None]
    np.fill_diagonal(total, np.inf)
    # Smaller squared distances are rounding errors of the Gram matrix; these grow if a distant row shifts the mean.
    rounding = np.maximum(1e-13, _ROUNDING * lengths)[:, None]
    nearest = np.log(np.maximum(_three_smallest(total), rounding)) / 2
    limit = 2 * float(np.median(nearest[:, 2] - nearest[:, 1])) / log(2) * log(len(places) / _CHANCE)
    return places[nearest[:, 1] - nearest[:, 0] > limit] if limit > 0 else places[:0]


def _middle_distance(gram: Matrix) -> float:
    """Median squared distance from some rows to all rows (the upper median for even numbers)."""
    lengths = np.diagonal(gram)
    squared = lengths[::_EVERY, None] + lengths - 2 * gram[::_EVERY]
    half = squared.size // 2
    return float(np.partition(squared, half, axis=None)[half])


def _three_smallest(matrix: Matrix) -> Matrix:
    """Return the three smallest numbers in each row; the matrix is overwritten."""
    minima, rows = np.empty((len(matrix), 3)), np.arange(len(matrix))
    for place in range(3):
        smallest = matrix.argmin(axis=1)
        minima[:, place] = matrix[rows, smallest]
        matrix[rows, smallest] = np.inf
    return minima
