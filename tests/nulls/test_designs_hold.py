"""False-positive rates of the designs where they hold, and where another one does not."""

import numpy as np
import pytest
from scipy.stats import binom

from shesha import CalibrationWarning, calibrate
from shesha.nulls import equal_groups, exchange, summarise

RUNS, K = 150, 39


def series(rng, n, phi, d=6):
    rows = rng.standard_normal((n + 100, d))
    for t in range(1, n + 100):
        rows[t] += phi * rows[t - 1]
    return rows[100:]


def n_positive(make, design):
    """Runs of unrelated data that are significant at 0.05, by the squared covariances."""
    found = 0
    for run in range(RUNS):
        rng = np.random.default_rng([4, run])
        X, Y = (one - one.mean(axis=0) for one in make(rng))
        orders = [np.arange(len(X)), *design(rng, len(X)).draws(K, rng)]
        scores = np.array([np.sum((X.T @ Y[order]) ** 2) for order in orders])
        found += summarise(scores[0], scores[1:], "higher", 0.05, None).p_value <= 0.05
    return found


def upto(rate):
    return binom.ppf(0.999, RUNS, rate)


@pytest.mark.parametrize(("n", "phi"), [(128, 0.5), (447, 0.5), (447, 0.9)])
def test_circular_shifts_hold_for_series_long_against_their_memory(n, phi):
    assert n_positive(
        lambda rng: (series(rng, n, phi), series(rng, n, phi)), lambda _, n: exchange(n, shift=True)
    ) <= upto(0.065)


def test_neither_free_permutation_nor_blocks_nor_short_stretches_hold_for_a_series():
    def make(rng):
        return series(rng, 64, 0.9), series(rng, 64, 0.9)

    assert n_positive(make, lambda _, n: exchange(n)) >= 0.9 * RUNS
    assert n_positive(make, lambda _, n: exchange(n, blocks=np.arange(n) // 8)) >= 0.6 * RUNS
    assert n_positive(make, lambda _, n: exchange(n, block_length=8)) >= 0.3 * RUNS


def test_stretches_hold_for_a_memory_far_shorter_than_they():
    def make(rng):
        return series(rng, 400, 0.3), series(rng, 400, 0.3)

    assert n_positive(make, lambda _, n: exchange(n, block_length=20)) <= upto(0.065)


SIZES = np.repeat([5, 8, 12, 20], 5)
GROUP = np.repeat(np.arange(20), SIZES)


def grouped(rng):
    return tuple(rng.standard_normal((20, 5))[GROUP] + rng.standard_normal((len(GROUP), 5)) for _ in "XY")


def test_groups_of_several_sizes_hold_where_equal_ones_are_exchanged():
    assert n_positive(grouped, lambda _, n: exchange(n, groups=GROUP)) <= upto(0.05)


def test_groups_of_all_sizes_hold_once_they_are_made_equal():
    group = np.repeat(np.arange(16), np.arange(4, 20))

    def make(rng):
        rows = equal_groups(group, seed=rng)
        return tuple((rng.standard_normal((16, 5))[group] + rng.standard_normal((len(group), 5)))[rows] for _ in "XY")

    assert n_positive(make, lambda _, n: exchange(n, groups=np.arange(n) // 4)) <= upto(0.05)


def test_groups_moved_past_one_another_would_not_hold():
    """Why groups of unequal sizes are not simply put into another order."""

    class Moved:
        def __init__(self, rng):
            self.rng = rng

        def draws(self, n_draws, rng):
            places = [np.flatnonzero(group == GROUP) for group in range(20)]
            return [np.concatenate([places[group] for group in rng.permutation(20)]) for _ in range(n_draws)]

    assert n_positive(grouped, lambda rng, _: Moved(rng)) >= 0.2 * RUNS


@pytest.mark.parametrize(("n", "effect"), [(400, 0.3), (50, 2.0)])
def test_strata_of_a_number_hold_also_where_it_drives_both_sides(n, effect):
    def made(rng):
        z = rng.standard_normal(n)
        return z, tuple(rng.standard_normal((n, 5)) + effect * z[:, None] * rng.standard_normal(5) for _ in "XY")

    def make(rng):
        return made(rng)[1]

    def within(rng, n):
        # The covariate comes first from the stream that makes the data.
        run_rng = np.random.default_rng(rng.bit_generator.seed_seq.entropy)
        return exchange(n, within=run_rng.standard_normal(n))

    assert n_positive(make, lambda _, n: exchange(n)) >= 0.3 * RUNS
    assert n_positive(make, within) <= upto(0.08)


@pytest.mark.filterwarnings("ignore:saturated")
def test_strata_that_leave_the_covariate_are_warned_of(rng):
    depth = rng.standard_normal(60)
    X, Y = (5 * depth[:, None] + rng.standard_normal((60, 6)) for _ in "XY")
    with pytest.warns(
        CalibrationWarning, match="still depend on the numbers in within=.*Pass these numbers as covariates="
    ):
        calibrate(X, Y, "CKA", n_permutations=19, within=depth, seed=0)


def test_strata_that_hold_are_not_warned_of(rng, recwarn):
    for _ in range(20):
        depth = rng.standard_normal(60)
        X, Y = (0.2 * depth[:, None] + rng.standard_normal((60, 6)) for _ in "XY")
        calibrate(X, Y, "CKA", n_permutations=19, within=depth, seed=0)
        calibrate(X, Y, "CKA", n_permutations=19, within=np.repeat(["a", "b", "c"], 20), seed=0)
    assert not [one for one in recwarn if "strata" in str(one.message)]
