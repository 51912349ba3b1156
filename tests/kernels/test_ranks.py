"""Rank and linear correlation are the textbook ones, for values of any size and with any ties."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from shesha.kernels import native, ranks, sorting
from shesha.kernels.sorting import order_values

SMALL = 1e-12


def ours(a, b, **options):
    return ranks.spearman(np.array(a, dtype=float), np.array(b, dtype=float), **options)


def textbook(a, b):
    """Linear correlation of mean ranks; NaN for a constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return spearmanr(a, b).statistic


@st.composite
def two_vectors(draw, values):
    n = draw(st.integers(2, 6) | st.integers(7, 60))
    return tuple(draw(st.lists(values, min_size=n, max_size=n)) for _ in range(2))


@given(two_vectors(st.integers(-2, 2)))
def test_spearman_with_heavy_ties_is_the_textbook_value(vectors):
    assert ours(*vectors) == pytest.approx(textbook(*vectors), abs=SMALL, nan_ok=True)


@given(two_vectors(st.floats(-1e300, 1e300)))
def test_spearman_of_any_doubles_is_the_textbook_value(vectors):
    assert ours(*vectors) == pytest.approx(textbook(*vectors), abs=SMALL, nan_ok=True)


@given(st.lists(st.floats(-1e300, 1e300) | st.integers(0, 3).map(float), min_size=2, max_size=60))
def test_midranks_are_scipys_from_zero_with_their_sum_of_squares(values):
    found, variance = ranks.midranks(np.array(values))
    expected = rankdata(values) - 1
    assert np.array_equal(found, expected)
    assert variance == pytest.approx(((expected - expected.mean()) ** 2).sum(), abs=1e-9)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("bits", [8, 12, 16, 52])
@pytest.mark.parametrize("decimals", [2, 5, 16])
def test_keys_that_are_too_coarse_are_made_up_for(rng, monkeypatch, bits, decimals, is_native):
    monkeypatch.setattr(sorting, "_KEY_BITS", bits)
    if not is_native:
        monkeypatch.setattr(native, "is_available", lambda: False)
    a, b = np.round(rng.standard_normal((2, 3000)), decimals)
    b += a
    assert ours(a, b) == pytest.approx(textbook(a, b), abs=SMALL)
    assert np.array_equal(ranks.midranks(a.copy())[0], rankdata(a) - 1)


def test_one_extreme_value_costs_no_exactness(rng):
    a, b = rng.standard_normal((2, 200_000))
    b += a
    a[7] = 1e12
    assert ours(a, b) == pytest.approx(textbook(a, b), abs=SMALL)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_spearman_does_not_depend_on_the_size_of_the_values(rng, scale):
    a, b = rng.integers(-(2**20), 2**20, (2, 3000)) * 1.0
    assert ours(a * scale, b) == pytest.approx(textbook(a, b), abs=SMALL)


def test_many_denormal_values_are_ranked_without_a_warning(rng):
    a, b = rng.integers(0, 2**50, (2, 5000)) * 1.0
    assert ours(a * 4e-324, b) == pytest.approx(textbook(a, b), abs=SMALL)


@pytest.mark.parametrize("outlier", [1e12, -1e12, 1e18, 1e300])
def test_one_outlier_leaves_the_order_of_the_others_alone(rng, outlier):
    a, b = rng.standard_normal((2, 4000))
    a[17] = outlier
    assert ours(a, b) == pytest.approx(textbook(a, b), abs=1e-9)


def test_values_crowded_far_below_the_key_resolution_are_ranked_exactly(rng):
    a = np.concatenate([1e-30 * rng.standard_normal(2000), [1.0]])
    b = rng.standard_normal(2001)
    assert ours(a, b) == pytest.approx(textbook(a, b), abs=SMALL)


@pytest.mark.parametrize("n", [1 << 15, (1 << 15) + 1, 200_000])
def test_spearman_of_long_skewed_vectors_is_the_textbook_value(rng, n):
    a = rng.lognormal(sigma=6, size=n)
    b = np.round(np.log(a) + rng.standard_normal(n), 1)
    assert ours(a, b) == pytest.approx(textbook(a, b), abs=1e-9)


@pytest.mark.parametrize("n", [5, 3000])
def test_near_ties_within_the_tolerance_share_a_rank(rng, n):
    levels, other = rng.integers(0, 1000, n) * 1.0, rng.standard_normal(n)
    noisy = levels + 1e-11 * rng.standard_normal(n)
    assert ours(noisy, other, tolerance=(1e-9, 0.0)) == pytest.approx(textbook(levels, other), abs=SMALL)
    assert ours(other, noisy, tolerance=(0.0, 1e-9)) == pytest.approx(textbook(levels, other), abs=SMALL)


def test_rounding_noise_ties_even_beside_an_outlier(rng):
    levels, other = rng.integers(0, 50, 3000) * 1.0, rng.standard_normal(3000)
    noisy = levels + 1e-11 * rng.standard_normal(3000)
    levels[5] = noisy[5] = 1e12
    assert ours(noisy, other, tolerance=(1e-9, 0.0)) == pytest.approx(textbook(levels, other), abs=1e-9)


def test_without_a_tolerance_every_difference_counts(rng):
    noisy, other = rng.integers(0, 3, 500) + 1e-11 * rng.standard_normal(500), rng.standard_normal(500)
    assert ours(noisy, other) == pytest.approx(textbook(noisy, other), abs=SMALL)


@pytest.mark.parametrize("outlier", [None, 1e9])
def test_a_long_chain_of_near_ties_is_data_and_keeps_its_order(outlier):
    chain = 0.9 * np.arange(5000.0)
    if outlier:
        chain[-1] = outlier
    found, _ = ranks.midranks(chain.copy(), tolerance=1.0)
    assert np.abs(found - np.arange(5000)).max() <= 1


def test_values_within_one_tolerance_are_constant():
    values = np.array([1.0, 1.0 + 1e-13, 1.0 - 1e-13])
    other = np.arange(3.0)
    assert np.isnan(ours(values, other, tolerance=(1e-12, 0.0)))
    assert np.isnan(ours(other, values, tolerance=(0.0, 1e-12)))
    assert np.isnan(ranks.pearson(values.copy(), other.copy(), (1e-12, 0.0)))
    assert not np.isnan(ours(values, other))


def test_a_vector_correlates_perfectly_with_itself_and_its_negative(rng):
    a = rng.integers(0, 40, 5000) * 1.0
    assert ours(a, a) == 1.0
    assert ours(a, -a) == -1.0


def test_ordering_sorts_and_its_ranks_belong_to_sorted_positions(rng):
    values = rng.integers(0, 30, 1000) * 1.0
    found = order_values(values, 0.0, np.empty(1000, dtype=np.uint64))
    assert np.array_equal(np.sort(found.order), np.arange(1000))
    assert (np.diff(values[found.order]) >= 0).all()
    assert np.array_equal(found.ranks, rankdata(values)[found.order] - 1)
    assert order_values(np.arange(9.0), 0.0, np.empty(9, dtype=np.uint64)).ranks is None


def test_the_second_vector_may_be_computed_when_it_is_needed(rng):
    a, b = rng.integers(0, 9, (2, 100)) * 1.0
    assert ranks.spearman(a.copy(), lambda: b.copy()) == ours(a, b)
    assert np.isnan(ranks.spearman(np.ones(5), lambda: pytest.fail("not needed")))


def test_work_memory_does_not_change_the_value(rng):
    a, b = rng.standard_normal((2, 100))
    assert ours(a, b, scratch=np.full(100, np.nan)) == ours(a, b)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_pearson_is_the_textbook_value_for_values_of_any_size(rng, scale):
    a = rng.standard_normal(1000)
    b = a + rng.standard_normal(1000)
    assert ranks.pearson(a * scale, b / scale) == pytest.approx(pearsonr(a, b).statistic, abs=SMALL)


def test_pearson_of_a_far_offset_keeps_its_digits(rng):
    a = rng.standard_normal(1000)
    b = a + rng.standard_normal(1000)
    assert ranks.pearson(a + 1e6, b.copy()) == pytest.approx(pearsonr(a, b).statistic, abs=1e-9)


def test_pearson_of_a_constant_is_nan():
    assert np.isnan(ranks.pearson(np.ones(5), np.arange(5.0)))
    assert np.isnan(ranks.pearson(np.arange(5.0), np.ones(5)))
