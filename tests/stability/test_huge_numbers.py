"""Label scores of numbers whose squares would overflow, or lie far below the ridge."""

import numpy as np
import pytest

from shesha.stability import lda_stability, lda_subspace_stability


@pytest.mark.parametrize("shape", [(60, 6), (40, 60)])
@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e160, 1e300])
def test_discriminants_of_huge_numbers(shape, scale):
    y = np.arange(shape[0]) % 4
    X = np.random.default_rng(0).standard_normal(shape) + 2 * np.eye(4, shape[1])[y]
    # The ridge is 1e-6 in the units of the data.
    expected = lda_subspace_stability(X, y, seed=0)
    assert lda_subspace_stability(X * scale, y, seed=0) == pytest.approx(expected, abs=1e-9)


def test_far_below_the_ridge_the_direction_is_that_between_the_means():
    # The means differ along the first two features, and the noise is large along the second.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.standard_normal((400, 2)) * [0.1, 3.0] + np.outer(y, [1.0, 1.0])
    assert lda_stability(X * 1e3, y, seed=0) == pytest.approx(lda_stability(X, y, seed=0), abs=1e-4)
    below = lda_stability(X * 1e-10, y, n_bootstrap=2000, seed=0)
    assert below == pytest.approx(_agreement_of_mean_differences(X, y), abs=0.005)
    assert abs(below - lda_stability(X, y, seed=0)) > 0.01
    for scale in (1e-150, 1e-200):
        assert lda_stability(X * scale, y, n_bootstrap=2000, seed=0) == pytest.approx(below, abs=1e-9)


def _agreement_of_mean_differences(X, y):
    rng = np.random.default_rng(1)
    rows = [np.flatnonzero(y == label) for label in (0, 1)]
    whole = X[rows[1]].mean(axis=0) - X[rows[0]].mean(axis=0)
    cosines = []
    for _ in range(2000):
        low, high = (X[rng.choice(some, len(some) // 2)].mean(axis=0) for some in rows)
        cosines.append(abs((high - low) @ whole) / np.linalg.norm(high - low) / np.linalg.norm(whole))
    return np.mean(cosines)
