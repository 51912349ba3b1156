"""Influence of single pairs on a rank correlation, and the standard errors made of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, spearmanr

from shesha.kernels.pairs import draw_pairs
from shesha.kernels.sampled_feature_halves import spearman_influence, standard_errors

N = 400


def correlated(rng, n=N, rho=0.6):
    return np.ascontiguousarray(multivariate_normal([0, 0], [[1, rho], [rho, 1]]).rvs(n, random_state=rng).T)


def leave_one_out(a, b):
    """The jackknife: (n - 1) times what the correlation loses without each entry."""
    whole, kept = spearmanr(a, b).statistic, ~np.eye(len(a), dtype=bool)
    return np.array([(len(a) - 1) * (whole - spearmanr(a[keep], b[keep]).statistic) for keep in kept])


@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.6])
def test_influence_is_that_of_leaving_one_out(rng, rho):
    a, b = correlated(rng, rho=rho)
    found, influence = spearman_influence(a.copy(), b.copy(), (0.0, 0.0))
    assert found == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    expected = leave_one_out(a, b)
    # Both are the derivative plus terms of order 1 / n.
    assert np.abs(influence - influence.mean() - (expected - expected.mean())).max() < 8 / N
    assert np.corrcoef(influence, expected)[0, 1] > 0.9999


def test_influence_averages_to_nothing(rng):
    _, influence = spearman_influence(*correlated(rng), (0.0, 0.0))
    assert abs(influence.mean()) < 4 / N


def test_spread_of_the_influence_predicts_the_spread_of_the_correlation(rng):
    found = [spearman_influence(*correlated(rng), (0.0, 0.0)) for _ in range(300)]
    predicted = np.mean([np.sqrt((influence**2).sum()) / N for _, influence in found])
    assert predicted == pytest.approx(np.std([rho for rho, _ in found]), rel=0.15)


def test_a_constant_vector_has_no_correlation(rng):
    for vectors in ((np.ones(9), rng.standard_normal(9)), (rng.standard_normal(9), np.ones(9))):
        assert np.isnan(spearman_influence(*vectors, (0.0, 0.0))[0])


def test_standard_errors_cover_the_sampling_of_pairs_and_of_rows(rng):
    n_rows, n_pairs, runs = 100, 1000, 400
    means, own_means, errors = [], [], []
    for _ in range(runs):
        row, (i, j) = rng.standard_normal(n_rows), draw_pairs(n_rows, n_pairs, rng)
        value = 0.5 * (row[i] + row[j]) + rng.standard_normal(n_pairs)
        means.append(value.mean())
        own_means.append(value.mean() - row.mean())
        errors.append(standard_errors(value - value.mean(), i, j))
    from_pairs, from_rows = np.mean(errors, axis=0)
    assert from_pairs == pytest.approx(np.std(own_means), rel=0.1)
    assert from_rows == pytest.approx(np.std(means), rel=0.1)
    assert from_rows > 2 * from_pairs


def test_values_that_rows_do_not_share_have_the_error_of_independent_pairs(rng):
    errors = [standard_errors(rng.standard_normal(1000), *draw_pairs(100, 1000, rng)) for _ in range(100)]
    from_pairs, from_rows = np.sqrt(np.mean(np.square(errors), axis=0))
    assert from_rows == pytest.approx(from_pairs, rel=0.15)


def test_rows_never_lower_the_standard_error_of_pairs():
    # Rows that pull in opposite directions would make the robust sum of squares negative.
    i, j = np.array([0, 1, 2]), np.array([1, 2, 0])
    from_pairs, from_rows = standard_errors(np.array([1.0, -1.0, 0.0]), i, j)
    assert_allclose([from_pairs, from_rows], np.sqrt(2) / 3)


@pytest.mark.parametrize("n_rows", [4, 12, 5000])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_standard_errors_are_sums_over_pairs_of_draws_that_share_a_row(rng, n_rows, share):
    """Draws of one number are one observation; pairs within a group belong to it once (Aronow et al. 2015)."""
    i, j = rng.integers(0, n_rows, (2, 60))
    drawn, values = rng.integers(0, 40, 60), rng.standard_normal(60)
    together = drawn[:, None] == drawn
    meet = (i[:, None] == i) | (i[:, None] == j) | (j[:, None] == i) | (j[:, None] == j)
    for numbers, same in ((drawn, together), (None, np.eye(60, dtype=bool))):
        own = (1 - share) * (values[:, None] * values * same).sum()
        shared = (values[:, None] * values * meet).sum()
        found = standard_errors(values, i, j, numbers, share)
        assert_allclose(found, np.sqrt([own, max(own, shared)]) / 60, rtol=1e-12)
