"""How long rows in a series remember earlier rows and whether they drift, from autocorrelations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.nulls.sampled_rows_for_checks import DiagnosticRows, largest
from shesha.support.types import Index, Matrix

_SPREAD, _DIED_OUT = 256, 0.05
"""Number of rows that are checked for drift, and autocorrelation below which the memory of a series ends."""
_WINDOW = 5
"""Number of memories over which autocorrelations are added up; those at longer lags are noise (Sokal 1997)."""


def memory_in_rows(grams: list[Matrix], windows: list[Index]) -> float:
    """Memory in rows: twice the sum, over lags, of the product of the sides' autocorrelations.

    Squared Gram matrices weight directions by their variance, as similarities do. Without this weighting, many noisy
    directions would hide a few directions with a long memory.
    """
    ends = np.cumsum([0, *(len(window) for window in windows)])
    total = 0.0
    for lag in range(1, len(windows[0]) // 2):
        correlations = [_autocorrelation(gram, lag, ends) for gram in grams]
        # A single representation is used for both sides, which then have the same memory.
        total += 2 * float(np.prod(correlations if len(correlations) > 1 else correlations * 2))
        # Autocorrelations of waves change their sign and return, so the sum does not end at the first negative one.
        if lag >= _WINDOW * total:
            break
    return max(0.0, total)


def _autocorrelation(gram: Matrix, lag: int, ends: Index) -> float:
    """Autocorrelation of the squared Gram matrix at one lag; only the entries needed are computed."""
    power = np.einsum("ij,ij->i", gram, gram)
    if not power.any():
        return 0.0
    products = np.einsum("ij,ij->i", gram[:-lag], gram[lag:])
    parts = [(power[start:stop].mean(), products[start : stop - lag].mean()) for start, stop in pairwise(ends)]
    variance, with_later = np.mean(parts, axis=0)
    return float(with_later / variance)


def persistence(side: DiagnosticRows) -> float:
    """Mean autocorrelation at lags of an eighth to a quarter of the rows, times the effective row number.

    A memory that decays leaves no autocorrelation at these lags. Where autocorrelations at shorter lags are larger,
    they reflect the memory, which reduces the effective number of rows.
    """
    spread = _spread(side.n_rows)
    gram = side.gram if len(spread) == side.n_rows else _gram(side.side, spread)
    n, squared = len(gram), gram @ gram.T
    power = float(np.trace(squared)) / n
    if not power > 0:
        return 0.0
    autocorrelations = np.array([np.trace(squared, lag) / (n - lag) for lag in range(1, n // 4 + 1)]) / power
    floor = float(autocorrelations[max(1, n // 8 - 1) :].mean())
    if not 0 < floor < 1:
        return 0.0
    memory = (autocorrelations - floor) / (1 - floor)
    return floor * n / (1 + 2 * float(memory[: int(np.argmax(np.append(memory <= _DIED_OUT, True)))].sum()))


def _spread(n: int) -> Index:
    """Numbers of the rows that are checked for drift, evenly spaced if there are many."""
    return np.unique(np.linspace(0, n - 1, min(n, _SPREAD)).astype(np.intp))


def _gram(side: NDArray[Any], rows: Index) -> Matrix:
    X = np.asarray(side[rows], dtype=np.float64)
    # Without the division, squares of large numbers would overflow.
    X = X / largest(X)
    X -= X.mean(axis=0)
    gram: Matrix = X @ X.T
    return gram
