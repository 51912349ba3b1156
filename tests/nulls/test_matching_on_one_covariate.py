"""Strata of numbers: the best of all cuts, in each block, with whole groups; what they leave of a number."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import norm

from shesha.nulls import exchange
from shesha.nulls.design_builder import _FEWEST, _LEFT, _PRICES, MOST_ROWS, cut_into_strata
from shesha.nulls.design_warnings import strata_excess


def best_cut(values):
    """Every cut of the sorted values, at every price, until what is left is small beside the null."""
    n, rising = len(values), np.sort(values)
    scores = norm.ppf((np.arange(n) + 0.5) / n)
    scales = [(one - one.mean()) / one.std() for one in (rising, scores)]
    cuts = [(0, *inner, n) for size in range(n) for inner in combinations(range(1, n), size)]
    cuts = [cut for cut in cuts if max(np.diff(cut)) <= MOST_ROWS]
    left = np.array([sum(one[a:b].var() * (b - a) for one in scales for a, b in pairwise(c)) for c in cuts])
    permuted = np.array([n + 1 - len(cut) for cut in cuts])
    chosen = None
    for price in _PRICES:
        at = int(np.argmax(permuted - price * left))
        if permuted[at] < max(int(_FEWEST[0] * n), min(n - 2, _FEWEST[1])):
            break
        chosen = cuts[at]
        if left[at] <= _LEFT * np.sqrt(permuted[at]):
            break
    return np.repeat(np.arange(len(chosen) - 1), np.diff(chosen))


@pytest.mark.parametrize("n", [10, 13])
def test_strata_are_the_best_of_all_cuts(n, rng):
    for draw in (rng.standard_normal, rng.standard_exponential, lambda n: np.exp(2 * rng.standard_normal(n))):
        values = draw(n)
        np.testing.assert_array_equal(cut_into_strata(values)[np.argsort(values)], best_cut(values))


def test_outlying_rows_are_not_permuted_and_close_ones_are(rng):
    values = np.concatenate([rng.uniform(0, 1, 196), [5.0, 9.0, 14.0, 20.0]])
    sizes = np.bincount(cut_into_strata(values))
    assert sizes.max() <= MOST_ROWS
    assert (sizes[-4:] == 1).all()
    assert len(values) - len(sizes) >= 0.5 * len(values)


@pytest.mark.parametrize("power", [1.0, 3.0])
def test_strata_do_not_depend_on_unit_or_order(power, rng):
    values = rng.lognormal(0, 1, 60) ** power
    order = rng.permutation(60)
    found = cut_into_strata(values)
    np.testing.assert_array_equal(cut_into_strata(1e150 * values + 0.0), found)
    np.testing.assert_array_equal(cut_into_strata(values[order]), found[order])


def test_strata_are_cut_within_blocks(rng):
    values, block = rng.standard_normal(200), rng.integers(0, 4, 200)
    found = exchange(200, within=values, blocks=block)
    for code in range(4):
        rows = block == code
        np.testing.assert_array_equal(
            np.unique(found.block[rows], return_inverse=True)[1], cut_into_strata(values[rows])
        )


def test_groups_of_one_value_are_units(rng):
    of_group = rng.standard_normal(40)
    found = exchange(200, within=np.repeat(of_group, 5), groups=np.repeat(np.arange(40), 5))
    np.testing.assert_array_equal(found.block[::5], cut_into_strata(of_group))
    # As rows, five of each value would be strata of their own, and no group could be permuted.
    assert found.log_count > 5


def test_labels_and_numbers_of_few_values_are_strata_as_they_are(rng):
    for within in (rng.integers(0, 8, 100), rng.integers(0, 8, 100) / 7, rng.choice(list("abc"), 100)):
        np.testing.assert_array_equal(exchange(100, within=within).block, np.unique(within, return_inverse=True)[1])


def test_the_excess_foretells_false_positives():
    n, runs, hits, expected = 60, 200, 0, 0.0
    for run in range(runs):
        rng = np.random.default_rng([31, run])
        z = np.sort(rng.standard_normal(n))
        strata = np.arange(n) // 4
        X, Y = (rng.standard_normal((n, 5)) + z[:, None] * rng.standard_normal(5) for _ in "XY")
        expected += norm.cdf(strata_excess(z, strata, X, Y)[0] - norm.ppf(0.95)) / runs
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        orders = [np.concatenate([rng.permutation(np.arange(4 * k, 4 * k + 4)) for k in range(15)]) for _ in range(39)]
        null = np.array([((X.T @ Y[order]) ** 2).sum() for order in orders])
        hits += (1 + np.count_nonzero(null >= ((X.T @ Y) ** 2).sum())) / 40 <= 0.05
    assert hits / runs > 0.12
    assert abs(hits / runs - expected) < 0.08


def test_no_excess_where_one_side_does_not_follow_the_number(rng):
    z = rng.standard_normal(100)
    X, Y = 5 * z[:, None] + rng.standard_normal((100, 4)), rng.standard_normal((100, 4))
    strata = np.argsort(np.argsort(z)) // 5
    assert strata_excess(z, strata, X, 5 * z[:, None] + Y)[0] > 1
    assert abs(strata_excess(z, strata, X, Y)[0]) < 0.3
