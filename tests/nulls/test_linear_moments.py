"""The null of a kernel alignment in closed form, against the distributions that it approximates."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from shesha.comparison.moment_scores import KernelSums, PearsonNull, inner_product_null


def sums(kernel: np.ndarray) -> KernelSums:
    diagonal = np.diag(kernel)
    return KernelSums(diagonal.sum(), (kernel**2).sum(), (diagonal**2).sum(), np.linalg.eigvalsh(kernel))


def centred_kernel(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.standard_normal((n, d))
    rows -= rows.mean(axis=0)
    return rows @ rows.T


def test_mean_and_deviation_are_those_of_all_permutations():
    rng = np.random.default_rng(0)
    first, second = centred_kernel(rng, 6, 3), centred_kernel(rng, 6, 2)
    every = [np.sum(first * second[np.ix_(p, p)]) for p in map(list, itertools.permutations(range(6)))]
    null = inner_product_null(6, sums(first), sums(second), unbiased=False)
    assert null.mean == pytest.approx(np.mean(every))
    assert null.sd == pytest.approx(np.std(every))


def test_skewness_of_one_direction_each_is_that_of_chi_squared():
    """With one direction on either side the inner product tends to a multiple of a squared normal variable."""
    rng = np.random.default_rng(1)
    first, second = centred_kernel(rng, 30, 1), centred_kernel(rng, 30, 1)
    assert inner_product_null(30, sums(first), sums(second), unbiased=False).skewness == pytest.approx(np.sqrt(8))


def test_skewness_falls_with_the_number_of_directions():
    """Equal eigenvalues give chi-squared with p q degrees of freedom: sqrt(8 / (p q))."""
    flat = [KernelSums(p, p, 1.0, np.ones(p)) for p in (3, 4)]
    null = inner_product_null(50, flat[0], flat[1], unbiased=True)
    assert null.skewness == pytest.approx(np.sqrt(8 / 12))


@pytest.mark.parametrize("freedom", [1, 3, 12])
def test_the_tail_of_a_chi_squared_null_is_exact(freedom):
    """Chi-squared is a Pearson type III distribution; here moved by 5 and stretched by 2."""
    null = PearsonNull(5 + 2 * freedom, 2 * np.sqrt(2 * freedom), np.sqrt(8 / freedom))
    for share in (0.05, 0.5, 0.99):
        assert null.quantile(share) == pytest.approx(5 + 2 * chi2.ppf(share, freedom))
        assert null.p_value(null.quantile(share)) == pytest.approx(1 - share)
