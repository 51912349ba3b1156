"""Rows that nearly repeat another one."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from shesha.nulls.checked_rows import FEWEST_ROWS
from shesha.support.types import Index, Mask, Matrix

_CHANCE = 1e-4
"""Expected number of false near repeats."""
_EVERY = 4
"""One row of so many is enough to say how far rows are apart."""


def find_near_repeats(squared: Sequence[Matrix], kept: Mask) -> Index:
    """Rows whose nearest row is far nearer than the second, compared with the dimension of the data.

    Where rows lie evenly in k dimensions, the logarithm of the ratio of both distances is exponential with rate k
    (Facco et al. 2017), that of the third and the second with rate 2 k; its median tells k, twins or not.
    """
    places = np.flatnonzero(kept)
    if len(places) < FEWEST_ROWS:
        return places[:0]
    total = np.zeros((len(places), len(places)))
    for one in squared:
        part = one if kept.all() else one[np.ix_(places, places)]
        total += part / (_middle_value(part[::_EVERY]) or 1.0)
    np.fill_diagonal(total, np.inf)
    # Squared distances below this are rounding of the Gram matrix.
    nearest = np.log(np.maximum(_three_smallest(total), 1e-13)) / 2
    limit = 2 * float(np.median(nearest[:, 2] - nearest[:, 1])) / log(2) * log(len(places) / _CHANCE)
    return places[nearest[:, 1] - nearest[:, 0] > limit] if limit > 0 else places[:0]


def _middle_value(values: Matrix) -> float:
    """Median of many numbers; of an even number, the upper one."""
    half = values.size // 2
    return float(np.partition(values, half, axis=None)[half])


def _three_smallest(matrix: Matrix) -> Matrix:
    """The three smallest numbers of each row; the matrix is used up."""
    found, rows = np.empty((len(matrix), 3)), np.arange(len(matrix))
    for place in range(3):
        smallest = matrix.argmin(axis=1)
        found[:, place] = matrix[rows, smallest]
        matrix[rows, smallest] = np.inf
    return found
