"""Strata of a number: rows of similar values, as many as what the number does inside them allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from shesha.support.types import Index, Matrix, Vector

MOST_ROWS = 10
"""Most rows of a stratum of several values."""
_LEFT = 0.02
"""Sum of squares that strata may leave, in variances of the number and per root of the rows that can be permuted.

What the number does inside strata shifts a similarity by its share of the variance times the root of these rows, in
standard deviations of the null. Rates stay within 8 % where the number has 32 times the variance of the noise.
"""
_FEWEST = 0.4, 6
"""At least two fifths of the rows can be permuted, and at least six: without permutations there is no test."""
_PRICES = np.logspace(0, 7, 36)
"""Prices of a unit of the sum of squares, in rows that can be permuted."""


@dataclass(frozen=True)
class _Sorted:
    """Distinct values in order, as running sums over rows: of their number, and of two scales and their squares."""

    count: Vector
    sums: Matrix
    squares: Matrix

    @classmethod
    def build(cls, values: Vector) -> tuple[_Sorted, Index]:
        """Return the distinct values, and the place of each row among them."""
        distinct, place, count = np.unique(values, return_inverse=True, return_counts=True)
        # The effect may follow the number or, as of depth, its logarithm: strata must be narrow on both scales.
        scales = np.stack([distinct, ndtri((np.cumsum(count) - count / 2) / len(values))])
        scales = scales - (scales @ count / len(values))[:, None]
        scales = scales / np.sqrt(scales**2 @ count / len(values))[:, None]
        return cls(
            _running(count.astype(np.float64)), _running(scales * count), _running(scales**2 * count)
        ), place.astype(np.intp)

    def squares_inside(self, start: Index, stop: int | Index) -> Vector:
        """Sum of squares about the mean of each stretch of values, over both scales."""
        count = self.count[stop] - self.count[start]
        total = self.squares[:, stop].T - self.squares[:, start].T
        return np.asarray((total - (self.sums[:, stop].T - self.sums[:, start].T) ** 2 / count[..., None]).sum(axis=-1))


def _running(values: Vector | Matrix) -> Matrix:
    return np.concatenate([np.zeros((*np.shape(values)[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def cut_into_strata(values: Vector) -> Index:
    """Cut a number into strata of neighbouring values; rows without a near neighbour are strata of their own.

    Of all cuts into stretches of at most ten rows, the one that lets most rows be permuted, less a price for each unit
    of the sum of squares inside strata (a dynamic programme). The price is the lowest at which the sum is small enough
    beside the null.

    Parameters
    ----------
    values : array of shape (n,)
        Finite, not all equal. Equal values stay together.

    Returns
    -------
    array of shape (n,)
        Code of each row's stratum, rising with the value.

    Examples
    --------
    >>> cut_into_strata(np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1, 30.0, 2.0])).tolist()
    [0, 0, 1, 1, 1, 1, 2, 0]
    """
    values = np.asarray(values, dtype=np.float64) / np.abs(values).max()
    known, place = _Sorted.build(values)
    fewest = max(int(_FEWEST[0] * len(values)), min(len(values) - 2, _FEWEST[1]))
    before = _best_starts(known)
    cuts = _trace(before[:, 0])
    for price in range(len(_PRICES)):
        bounds = _trace(before[:, price])
        n_permuted = len(values) + 1 - len(bounds)
        if n_permuted < fewest:
            break
        cuts = bounds
        if known.squares_inside(bounds[:-1], bounds[1:]).sum() <= _LEFT * np.sqrt(n_permuted):
            break
    return np.asarray(np.searchsorted(cuts, place, side="right") - 1, dtype=np.intp)


def _best_starts(known: _Sorted) -> Index:
    """Where the last stratum begins in the best cut of the first i values: (values + 1, prices)."""
    n = len(known.count) - 1
    best, before = np.zeros((n + 1, len(_PRICES))), np.zeros((n + 1, len(_PRICES)), dtype=np.intp)
    first = np.minimum(np.searchsorted(known.count, known.count - MOST_ROWS), np.maximum(np.arange(n + 1) - 1, 0))
    for stop in range(1, n + 1):
        starts = np.arange(first[stop], stop)
        gained = known.count[stop] - known.count[starts] - 1
        worth = best[starts] + gained[:, None] - known.squares_inside(starts, stop)[:, None] * _PRICES
        chosen = worth.argmax(axis=0)
        best[stop], before[stop] = worth[chosen, np.arange(len(_PRICES))], starts[chosen]
    return before


def _trace(before: Index) -> Index:
    """Where the strata begin and end, from the end to the beginning, in rising order."""
    cuts = [len(before) - 1]
    while cuts[-1] > 0:
        cuts.append(int(before[cuts[-1]]))
    return np.array(cuts[::-1])
