"""Participation ratio, corrected for sampled rows or columns (arXiv 2509.26560).

Let k_i be the squared length of centred row i, T the sum of all k_i, and Q the sum of their squares. Let F be the
squared Frobenius norm of the Gram matrix, and C the population covariance. Averages over four different rows
(U-statistics) give unbiased estimates of tr(C)^2 and tr(C^2). Up to a common factor, these are

    (n^2 - 3 n + 1) T^2 - n (n - 1) Q + 2 F    and    (n - 1) (n - 2) F - n (n - 1) Q + T^2.

For a single column, the two are equal. If the columns are a sample, the sums over single columns are subtracted from
both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.spectrum import ENTRIES, Sliced
from shesha.support.types import Matrix, Vector

Sample = Literal["rows", "columns", "both"]
SAMPLES: tuple[str, ...] = get_args(Sample)
FEWEST_ROWS = 4
"""Smallest number of rows for the correction, which averages over four different rows."""
_ROUNDING = 1e-11
"""If the ratio of a denominator to its largest term is below this value, the denominator is a rounding error."""


@dataclass(frozen=True)
class FourthMoments:
    """Sums over centred entries, divided by the squared total sum of squares; zeros if all rows are equal."""

    n_rows: int
    rows: float
    """Sum of the fourth powers of the row lengths."""
    columns: float
    """Sum of the fourth powers of the column lengths."""
    entries: float
    """Sum of the fourth powers of all entries."""


def fourth_moments(X: Sliced) -> FourthMoments:
    """Compute the sums that the correction needs, in three passes over blocks of rows."""
    n, d = X.shape
    total = rows = entries = 0.0
    columns = np.zeros(d)
    for block in _centred_blocks(X):
        squares = block**2
        lengths = squares.sum(axis=1)
        total += float(lengths.sum())
        rows += float((lengths**2).sum())
        columns += squares.sum(axis=0)
        entries += float((squares**2).sum())
    unit = total**2 or 1.0
    return FourthMoments(n, rows / unit, float((columns**2).sum()) / unit, entries / unit)


def _centred_blocks(X: Sliced) -> Iterator[Matrix]:
    """Yield blocks of centred rows, scaled so that the largest entry is near 1."""
    n, d = X.shape
    step = max(1, ENTRIES // d)

    def blocks() -> Iterator[Matrix]:
        return (np.asarray(X[start : start + step], dtype=np.float64) for start in range(0, n, step))

    # Division by a power of two is exact, even if the features are far from zero.
    largest = max(length_unit(block) for block in blocks())
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    origin = np.asarray(X[0:1], dtype=np.float64)[0] / largest
    mean, spread = np.zeros(d), 0.0
    for block in blocks():
        moved = block / largest - origin
        mean += moved.sum(axis=0) / n
        spread = max(spread, float(np.abs(moved).max()))
    for block in blocks():
        moved = block / largest
        moved -= origin
        moved -= mean
        moved /= spread or 1.0
        yield moved


def corrected_participation_ratio(variances: Vector, moments: FourthMoments, sample: Sample = "rows") -> float:
    """Estimate tr(C)^2 / tr(C^2) from unbiased estimates of both terms; NaN if the second is not positive."""
    n, squared = moments.n_rows, float((variances**2).sum())
    if sample == "columns":
        above, below, largest = 1.0 - moments.columns, squared - moments.columns, squared
    else:
        above = (n * n - 3 * n + 1) - n * (n - 1) * moments.rows + 2 * squared
        below = (n - 1) * (n - 2) * squared - n * (n - 1) * moments.rows + 1
        largest = n * n * squared
        if sample == "both":
            alone = (n * n - 3 * n + 3) * moments.columns - n * (n - 1) * moments.entries
            above, below = above - alone, below - alone
    return above / below if below > _ROUNDING * largest and n >= FEWEST_ROWS else float("nan")
