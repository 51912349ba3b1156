"""Matchings of features: units that never fire, and offsets that would use up the digits."""

from itertools import permutations

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha import MeasureWarning

N = 24
X, Y = np.random.default_rng(0).standard_normal((2, N, 5)) + 0.3
DEAD = X.copy()
DEAD[:, [1, 4]] = 0.1
TOLD = "constant features have no correlations, so these are set to 0: columns 1, 4 of the {}$"


def correlation(x, y):
    return 0.0 if np.ptp(x) == 0 or np.ptp(y) == 0 else np.corrcoef(x, y)[0, 1]


def table(one, other):
    return np.array([[correlation(x, y) for y in other.T] for x in one.T])


def test_a_unit_that_never_fires_counts_as_zero():
    for pair, side in (((DEAD, Y), "first"), ((Y, DEAD), "second")):
        found = table(*pair)
        best = max(found[np.arange(5), list(order)].mean() for order in permutations(range(5)))
        with pytest.warns(MeasureWarning, match="HardCorr: " + TOLD.format(side)):
            assert measures.hard_correlation_match(*pair) == pytest.approx(best, rel=1e-12)
        soft = (found.max(axis=0).mean() + found.max(axis=1).mean()) / 2
        with pytest.warns(MeasureWarning, match="SoftCorr: " + TOLD.format(side)):
            assert measures.soft_correlation_match(*pair) == pytest.approx(soft, rel=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e8 * np.array([1, 1, 1, 3, 3])])
def test_an_offset_leaves_the_matching_of_columns_alone(offset):
    moved = X + offset
    assert measures.permutation_procrustes(moved, moved[:, [3, 1, 4, 0, 2]]) == 0.0
    other = Y + offset
    best = min(np.linalg.norm(moved - other[:, list(order)]) for order in permutations(range(5)))
    assert measures.permutation_procrustes(moved, other) == pytest.approx(best, rel=1e-12)


def test_an_offset_of_columns_without_a_partner_counts(rng):
    one, other = rng.standard_normal((N, 3)), rng.standard_normal((N, 5)) + np.array([100, 3, 50, 3, 3])
    best = min(
        np.linalg.norm(np.pad(one, ((0, 0), (0, 2))) - other[:, list(order)]) for order in permutations(range(5))
    )
    assert measures.permutation_procrustes(one, other) == pytest.approx(best, rel=1e-12)
    assert measures.permutation_procrustes(other, one) == pytest.approx(best, rel=1e-12)
    with_offset = one + 1e8, other + 1e8
    kept = measures.permutation_procrustes(*with_offset)
    shifted = [np.pad(with_offset[0], ((0, 0), (0, 2))) - with_offset[1][:, list(p)] for p in permutations(range(5))]
    assert kept == pytest.approx(min(map(np.linalg.norm, shifted)), rel=1e-12)


def test_units_of_noise_are_left_out():
    rng = np.random.default_rng(5)
    shared = rng.standard_normal((80, 8))
    one, other = (np.hstack([shared, rng.standard_normal((80, 2))])[:, rng.permutation(10)] for _ in range(2))
    assert measures.soft_matching(one, other, mass=0.8) == pytest.approx(1)
    assert measures.soft_matching(one, other) < 0.9


def test_all_mass_and_equal_widths_are_a_one_to_one_matching():
    assert measures.soft_matching(X, Y) == pytest.approx(measures.hard_correlation_match(X, Y), rel=1e-12)


def test_a_mass_is_a_share():
    for mass in (0.0, -1.0, 1.01, np.nan):
        with pytest.raises(ValueError, match="mass must be above 0 and at most 1, got"):
            measures.soft_matching(X, Y, mass=mass)
    wide = np.random.default_rng(0).standard_normal((4, 1001))
    with pytest.warns(shesha.NotEstimableWarning, match="the transport between 1,000 and 1,001 units takes too long"):
        assert np.isnan(measures.soft_matching(wide[:, :1000], wide))
