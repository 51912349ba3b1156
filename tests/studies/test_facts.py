"""Facts and their intervals: laws, references, and the smallest numbers of cases."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shesha_studies.framework.fact_tables import facts_table, read_facts
from shesha_studies.framework.facts import (
    Fact,
    absolute,
    group_means,
    largest,
    mean_correlation,
    over_draws,
    rank_correlation,
    rate,
    resampled,
    smallest,
    steps,
)
from shesha_studies.framework.page_from_rows import study_facts
from shesha_studies.framework.study_decorator import study


@pytest.mark.parametrize("n", [2, 3, 9])
def test_the_interval_of_draws_is_students(n):
    drawn = np.random.default_rng(n).standard_normal(n) + 3
    low, high = stats.t.interval(0.95, n - 1, drawn.mean(), stats.sem(drawn))
    found = over_draws([*drawn, np.nan, np.inf])
    assert (found.value, found.low, found.high) == pytest.approx((drawn.mean(), low, high))


def test_a_single_draw_has_no_interval_and_none_has_no_mean():
    assert over_draws([2.5]).value == 2.5
    assert math.isnan(over_draws([2.5]).low)
    assert math.isnan(over_draws([]).value)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (3, 7), (40, 400)])
def test_a_share_has_the_exact_interval(hits, n):
    found, exact = rate(hits, n), stats.binomtest(hits, n).proportion_ci(0.95)
    assert (found.value, found.low, found.high) == pytest.approx((hits / n, exact.low, exact.high))
    assert math.isnan(rate(0, 0).value)


def test_a_correlation_and_its_negative_have_mirrored_intervals():
    for rho in (0.0, 0.3, 0.9, 1.0):
        one, other = rank_correlation(rho, 20), rank_correlation(-rho, 20)
        assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))
        assert -1 < one.low < one.high <= 1


def test_every_controlled_variable_costs_a_case():
    for n in (4, 5, 30):
        assert rank_correlation(0.4, n + 2, 2) == rank_correlation(0.4, n)
        assert not math.isnan(rank_correlation(0.4, n).low)
    assert math.isnan(rank_correlation(0.4, 3).low)
    assert math.isnan(rank_correlation(0.4, 5, 2).low)
    assert math.isnan(rank_correlation(math.nan, 30).low)


def test_correlations_are_averaged_on_fishers_scale():
    rhos = [0.1, 0.8, -0.3]
    expected = rank_correlation(math.tanh(np.mean([math.atanh(rho) for rho in rhos])), 12, 1)
    found = mean_correlation(rhos, 12, 1)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert mean_correlation([1.0, -1.0], 12).value == 0
    assert mean_correlation([1.0, 0.0], 12).value < 1


def test_facts_return_from_their_table():
    facts = {"rho": Fact(0.3, 0.1, 0.6), "best": Fact(0.0, 0.0, 0.0, words="CKA")}
    table = facts_table(facts)
    assert read_facts(table) == facts
    assert read_facts(table.drop(columns="words"))["best"] == Fact(0.0, 0.0, 0.0)


def test_whole_units_are_drawn():
    """Rows of a unit stay together: with two units of equal rows the mean is one of three."""
    values = np.array([0.0, 0.0, 1.0, 1.0])
    seen = set()

    def mean(rows):
        seen.add(float(values[rows].mean()))
        return float(values[rows].mean())

    assert resampled(mean, [np.array([0, 1]), np.array([2, 3])]).value == 0.5
    assert seen == {0.0, 0.5, 1.0}


def test_the_extreme_of_facts_has_the_extreme_of_their_limits():
    facts = [Fact(0.5, 0.4, 0.6), Fact(0.3, -0.2, 0.9), Fact(0.1)]
    assert largest(facts) == Fact(0.5, 0.4, 0.9)
    assert smallest(facts) == Fact(0.1, -0.2, 0.1)
    assert np.isnan(largest([Fact(1.0), Fact(2.0)]).low)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (Fact(0.2, 0.1, 0.3), Fact(0.2, 0.1, 0.3)),
        (Fact(-0.2, -0.3, -0.1), Fact(0.2, 0.1, 0.3)),
        (Fact(-0.1, -0.3, 0.2), Fact(0.1, 0.0, 0.3)),
    ],
)
def test_an_absolute_value_has_absolute_limits(one, expected):
    assert absolute(one) == expected


def test_steps_are_paired_within_units():
    rows = pd.DataFrame({"d": [1, 1, 2, 2], "seed": [0, 1, 0, 1], "score": [0.0, 9.0, 1.0, 10.0]})
    assert steps(rows, "d", "score") == [Fact(1.0, 1.0, 1.0)]
    assert steps(rows, "d", "score")[0].high < group_means(rows, ["d"], "score")[1].high


def test_a_study_may_return_numbers_and_words_as_facts():
    def double(x):
        """Is twice a number twice as large?"""
        return {"twice": 2 * x}

    one = study("double", paper="new", version=1, full={"x": [1]}, quick={"x": [1]})(double)
    one.facts(lambda rows, published: {"largest": rows.twice.max(), "label": "two", "unknown": math.nan})
    assert study_facts(one, pd.DataFrame({"x": [1], "twice": [2]})) == {
        "largest": Fact(2.0),
        "label": Fact(0.0, words="two"),
    }
