"""Intervals hold the value that the population has as often as they claim, or nearly."""

import numpy as np
import pytest

import shesha

FEATURES, DATASETS, NOMINAL = 24, 64, 0.90
MIXING = np.random.default_rng(99).standard_normal((4, FEATURES))


def rows(n, seed):
    """Rows of one population: a fixed mixing of latent factors, plus noise."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) @ MIXING + rng.standard_normal((n, FEATURES))


@pytest.fixture(scope="module")
def population():
    """The value of very many rows, averaged over very many partitions."""
    return shesha.estimate(rows(3000, seed=12345), pairs=600_000, n_splits=400, seed=0, n_permutations=0)


def coverage(population, **options):
    found = [
        shesha.estimate(rows(60 + seed % 21, seed), confidence=NOMINAL, n_splits=10, seed=seed, **options)
        for seed in range(DATASETS)
    ]
    return np.mean([one.low <= population.value <= one.high for one in found])


def test_the_population_value_is_known_much_better_than_the_intervals_are_wide(population):
    assert np.hypot(population.standard_error, population.monte_carlo_error) < 0.007


def test_bootstrap_intervals_hold_the_population_value(population):
    assert 0.75 <= coverage(population, n_bootstrap=64) <= 0.99


@pytest.mark.slow
def test_analytic_intervals_of_sampled_pairs_hold_the_population_value(population):
    assert 0.75 <= coverage(population, pairs=1700) <= 0.99


def test_intervals_are_centred_on_the_population_value(population):
    values = [shesha.feature_split(rows(70, seed), 10, seed=seed) for seed in range(DATASETS)]
    assert abs(np.mean(values) - population.value) < 4 * np.std(values) / np.sqrt(DATASETS) + 0.01
