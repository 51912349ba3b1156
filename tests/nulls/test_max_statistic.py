"""P-values corrected by the maximum over common draws: exact, never below the single ones, and better than Holm's."""

import numpy as np
import pytest

from shesha.nulls import holm, summarise
from shesha.nulls.null_summary import max_statistic_p_values

WAYS = pytest.mark.parametrize("closer", ["higher", "lower"])


def _p_value(values, closer):
    return summarise(values[0], values[1:], closer, 0.05, None).p_value


@WAYS
def test_one_test_has_its_own_p_value_also_with_ties_missing_and_infinite_draws(closer):
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = np.round(rng.standard_normal(40), 1)
        values[rng.random(40) < 0.1] = np.nan
        values[rng.random(40) < 0.05] = np.inf
        values[0] = np.round(rng.standard_normal(), 1)
        assert max_statistic_p_values([values], [closer])[0] == pytest.approx(_p_value(values, closer))


def test_corrected_p_values_are_at_least_the_single_ones_and_keep_their_order():
    rng = np.random.default_rng(1)
    for _ in range(50):
        draws = list(rng.standard_normal((8, 60)) + rng.standard_normal(60))
        ways = [("higher", "lower")[k % 2] for k in range(8)]
        single = np.array([_p_value(one, way) for one, way in zip(draws, ways, strict=True)])
        corrected = max_statistic_p_values(draws, ways)
        assert (corrected >= single - 1e-12).all()
        assert (np.diff(corrected[np.argsort(single, kind="stable")]) >= -1e-12).all() or len(set(single)) < 8


def test_equal_tests_cost_nothing():
    values = np.random.default_rng(2).standard_normal(100)
    found = max_statistic_p_values([values, values, 3 * values - 1, -values], ["higher", "higher", "higher", "lower"])
    assert found == pytest.approx([_p_value(values, "higher")] * 4)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_some_corrected_p_value_is_small_in_no_more_than_alpha_of_unrelated_data(correlation):
    """Twenty tests on skewed and symmetric scales; the limit is four standard errors above 5 %."""
    rng, hits, raw, n = np.random.default_rng(3), 0, 0, 1000
    for _ in range(n):
        z = np.sqrt(1 - correlation) * rng.standard_normal((20, 100)) + np.sqrt(correlation) * rng.standard_normal(100)
        z[10:] = np.exp(1.5 * z[10:])
        hits += max_statistic_p_values(list(z), ["higher"] * 20).min() <= 0.05
        raw += ((z >= z[:, :1]).mean(axis=1) <= 0.05).any()
    assert hits / n <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / n)
    assert raw / n > 0.1


def test_a_clear_score_stands_out_among_forty_where_holm_cannot():
    rng = np.random.default_rng(4)
    found, holms = 0, 0
    for _ in range(100):
        z = rng.standard_normal((40, 201))
        z[0, 0] += 5
        found += max_statistic_p_values(list(z), ["higher"] * 40)[0] <= 0.05
        holms += holm((z >= z[:, :1]).mean(axis=1))[0] <= 0.05
    assert (found, holms) == (pytest.approx(97, abs=3), 0)


def test_lost_draws_make_their_test_not_significant_and_leave_the_others_alone():
    clear = np.r_[9.0, np.random.default_rng(5).standard_normal(199)]
    lost = np.r_[5.0, np.full(199, np.nan)]
    half = np.r_[5.0, np.where(np.arange(199) % 2, np.nan, 0.0)]
    found = max_statistic_p_values([clear, lost, half], ["higher"] * 3)
    assert found[0] == 1 / 200
    assert found[1] == 1.0
    assert found[2] >= _p_value(half, "higher") > 0.4
    assert max_statistic_p_values([], []).tolist() == []
