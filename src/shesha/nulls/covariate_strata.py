"""Strata of a numeric covariate: rows with similar values, which limits residual confounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from shesha.support.types import Index, Matrix, Vector

MOST_ROWS = 10
"""Largest number of rows in a stratum that contains several values."""
_LEFT = 0.02
"""Largest sum of squares within strata, in units of the covariate's variance, per square root of the permutable rows.

Residual confounding shifts a similarity in proportion to the share of the variance within strata and to this square
root. With this limit, false-positive rates stay below 8 % even if the covariate has 32 times the variance of the noise.
"""
_FEWEST = 0.4, 6
"""Smallest share and smallest number of rows that must remain permutable; without permutations there is no test."""
_PRICES = np.logspace(0, 7, 36)
"""Prices that the search tries for one unit of the sum of squares, expressed in permutable rows."""


@dataclass(frozen=True)
class _Sorted:
    """Cumulative sums over the sorted distinct values: row counts, and values and squares on two scales."""

    count: Vector
    sums: Matrix
    squares: Matrix

    @classmethod
    def build(cls, values: Vector) -> tuple[_Sorted, Index]:
        """Return the sums, and the index of each row's value among the distinct values."""
        distinct, place, count = np.unique(values, return_inverse=True, return_counts=True)
        # An effect may follow the covariate itself or a transformation, such as the logarithm of depth. Strata must
        # therefore be narrow both on the original scale and on the scale of normal scores, which depend only on ranks.
        scales = np.stack([distinct, ndtri((np.cumsum(count) - count / 2) / len(values))])
        scales = scales - (scales @ count / len(values))[:, None]
        scales = scales / np.sqrt(scales**2 @ count / len(values))[:, None]
        return cls(
            _running(count.astype(np.float64)), _running(scales * count), _running(scales**2 * count)
        ), place.astype(np.intp)

    def squares_inside(self, start: Index, stop: int | Index) -> Vector:
        """Sum of squares about the mean within each range of values, added over both scales."""
        count = self.count[stop] - self.count[start]
        total = self.squares[:, stop].T - self.squares[:, start].T
        return np.asarray((total - (self.sums[:, stop].T - self.sums[:, start].T) ** 2 / count[..., None]).sum(axis=-1))


def _running(values: Vector | Matrix) -> Matrix:
    return np.concatenate([np.zeros((*np.shape(values)[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def cut_into_strata(values: Vector) -> Index:
    """Cut a covariate into strata of similar values; isolated rows form strata by themselves.

    Dynamic programming finds the best cut into strata of at most ten rows. It maximises the number of permutable rows,
    minus a price for each unit of the sum of squares within strata. The price is the lowest one for which this sum is
    small relative to the spread of the null.

    Parameters
    ----------
    values : array of shape (n,)
        Values of the covariate, finite and not all equal. Equal values stay in the same stratum.

    Returns
    -------
    array of shape (n,)
        Code of each row's stratum; codes increase with the value.

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
    """Start of the last stratum in the best cut of the first i values: (n_values + 1, n_prices)."""
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
    """Boundaries of the strata in increasing order, found by tracing back from the last stratum."""
    cuts = [len(before) - 1]
    while cuts[-1] > 0:
        cuts.append(int(before[cuts[-1]]))
    return np.array(cuts[::-1])
