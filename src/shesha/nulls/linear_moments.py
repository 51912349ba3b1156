"""The permutation null of a linear kernel alignment, approximated by its first three moments.

For centred kernel matrices K and L, the mean and the variance of <K, P L P'> over all n! permutations P of the rows
have closed forms (Kazi-Aoual, Hitier, Sabatier and Lebreton 1995; Josse, Pages and Husson 2008, section 2). The
skewness is taken from the limit for many rows, a sum of chi-squared variables weighted by products of eigenvalues. The
tail is approximated by the Pearson type III (shifted gamma) distribution with these three moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from shesha.support.types import Vector


@dataclass(frozen=True)
class KernelSums:
    """The quantities of a centred kernel matrix that determine the moments of its permutation null."""

    trace: float
    squared_norm: float
    squared_diagonal: float
    spectrum: Vector
    """Eigenvalues of the matrix, which determine the skewness of the null."""


@dataclass(frozen=True)
class PearsonNull:
    """A null distribution (Pearson type III) with given mean, standard deviation and skewness."""

    mean: float
    sd: float
    skewness: float

    def p_value(self, observed: float) -> float:
        """Return the probability of a value at least as large as the observed one."""
        from scipy.stats import pearson3

        return float(pearson3(self.skewness).sf((observed - self.mean) / self.sd))

    def quantile(self, share: float) -> float:
        """Return a quantile of the null distribution."""
        from scipy.stats import pearson3

        return self.mean + self.sd * float(pearson3(self.skewness).ppf(share))


def inner_product_null(n: int, first: KernelSums, second: KernelSums, *, unbiased: bool) -> PearsonNull:
    """Null of the inner product between two centred kernel matrices of n rows, where n is at least 4.

    Set `unbiased` for the unbiased estimator, whose matrices have a zero diagonal and rows that sum to zero. In this
    case, `squared_norm` must be the squared norm of those matrices.
    """
    sides = (first, second)
    mean = 0.0 if unbiased else first.trace * second.trace / (n - 1)
    spread, diagonal = 1.0, 1.0
    for side in sides:
        trace, squares = (0.0, 0.0) if unbiased else (side.trace, side.squared_diagonal)
        spread *= (n - 1) * side.squared_norm - trace**2
        diagonal *= n * (n + 1) * squares - (n - 1) * (trace**2 + 2 * side.squared_norm)
    variance = 2 * spread / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += diagonal / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return PearsonNull(mean, sqrt(max(variance, 0.0)), _skewness(first.spectrum, second.spectrum))


def _skewness(first: Vector, second: Vector) -> float:
    cubes, squares = ([float(np.sum(spectrum**power)) for spectrum in (first, second)] for power in (3, 2))
    return float(sqrt(8) * cubes[0] * cubes[1] / (squares[0] * squares[1]) ** 1.5)
