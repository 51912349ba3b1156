"""Stability beyond what covariates explain."""

import numpy as np
import pytest
from scipy.stats import binom

import shesha

RUNS = 30


def of_batch(rng, hidden=0.0):
    """Features that a batch moves, and a hidden part or none."""
    batch = rng.integers(3, size=36)
    rows = 2 * rng.standard_normal((3, 24))[batch] + rng.standard_normal((36, 24))
    return rows + hidden * rng.standard_normal((36, 3)) @ rng.standard_normal((3, 24)), np.array(list("abc"))[batch]


def positive(data, **options):
    options = {"n_permutations": 19, "n_splits": 4, "seed": 0, **options}
    return sum(shesha.estimate(X, covariates=known, **options, n_bootstrap=0).p_value <= 0.05 for X, known in data)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_what_a_covariate_alone_makes_stable_is_above_chance_no_more_often_than_alpha(metric):
    data = [of_batch(np.random.default_rng([31, run])) for run in range(RUNS)]
    assert positive(data, metric=metric) <= binom.ppf(0.999, RUNS, 0.06)
    numbers = [
        (X[:, :1] + 0.5 * X, X[:, 0])
        for X in (np.random.default_rng([32, k]).standard_normal((36, 24)) for k in range(RUNS))
    ]
    assert positive(numbers, metric=metric) <= binom.ppf(0.999, RUNS, 0.06)
    assert (
        shesha.estimate(data[0][0], n_permutations=19, n_splits=4, metric=metric, seed=0, n_bootstrap=0).p_value == 0.05
    )


def test_what_is_stable_beyond_it_is_found():
    assert positive([of_batch(np.random.default_rng([33, run]), hidden=1.0) for run in range(10)]) >= 9


def test_an_estimate_is_that_of_the_residuals():
    X, batch = of_batch(np.random.default_rng(0))
    left = X.copy()
    for kind in "abc":
        left[batch == kind] += X.mean(axis=0) - X[batch == kind].mean(axis=0)
    found = shesha.estimate(X, covariates=batch, n_bootstrap=20, n_splits=5, seed=1)
    expected = shesha.estimate(left, n_bootstrap=20, n_splits=5, seed=1)
    assert (found.value, found.low) == pytest.approx((expected.value, expected.low), abs=1e-10)
    beside = shesha.estimate(X, covariates=batch, n_permutations=19, n_splits=5, seed=1, n_bootstrap=0)
    assert beside.value == pytest.approx(found.value, abs=1e-12)
    assert beside.exchanged == "rows of similar covariates"
    named = shesha.estimate(
        X, covariates=batch, groups=np.arange(36) // 2, n_permutations=19, n_splits=5, seed=1, n_bootstrap=0
    )
    assert named.exchanged == "whole groups"


def test_distances_leave_no_residuals():
    X, _ = of_batch(np.random.default_rng(0))
    with pytest.raises(ValueError, match="X must be features if covariates are given, got distances between rows"):
        shesha.estimate(X, covariates=shesha.Rdm(np.ones((36, 36)) - np.eye(36)))
