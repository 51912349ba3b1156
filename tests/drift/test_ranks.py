"""Rank p-values and their thresholds say the same, and the rate that K nulls allow is that of a Beta distribution."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import beta

from shesha.drift import canary_check
from shesha.support.seeds import draws_needed

scores = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=40).map(np.array)


@given(scores, st.integers(0, 6).map(float), st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_a_score_is_above_the_threshold_just_where_its_p_value_reaches_the_level(null, score, level):
    above = score > canary_check.threshold(null, level)
    assert above == (canary_check.p_value(score, null) <= level * (1 + 1e-9))


@given(scores)
def test_a_p_value_counts_nulls_as_large(null):
    for score in (*null, -1.0, 99.0):
        assert canary_check.p_value(score, null) == (1 + sum(one >= score for one in null)) / (len(null) + 1)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.1, 0.2, 1 / 3])
def test_fewest_is_the_least_number_that_reaches_the_level(level):
    fewest = draws_needed(1, level)
    assert canary_check.exceedance_limit(fewest, level) == 1
    assert canary_check.exceedance_limit(fewest - 1, level) == 0
    assert canary_check.threshold(np.zeros(fewest - 1), level) == np.inf


@pytest.mark.parametrize(("n_nulls", "limit"), [(99, 0.030), (200, 0.0235), (999, 0.0157)])
def test_the_limit_is_the_one_that_is_known(n_nulls, limit):
    found = canary_check.false_alarm_limit(n_nulls, 0.01)
    assert found == pytest.approx(limit, abs=2e-4)
    k = canary_check.exceedance_limit(n_nulls, 0.01)
    assert found == pytest.approx(beta(k, n_nulls + 1 - k).ppf(0.95))


def test_the_limit_holds_for_19_in_20_sets_of_nulls(rng):
    nulls = rng.random((4000, 99))
    rates = 1 - np.array([canary_check.threshold(null, 0.05) for null in nulls])
    assert np.mean(rates) == pytest.approx(0.05, abs=0.002)
    assert np.mean(rates <= canary_check.false_alarm_limit(99, 0.05)) == pytest.approx(0.95, abs=0.015)


def test_no_score_has_no_p_value():
    assert np.isnan(canary_check.p_value(np.nan, np.ones(3)))
