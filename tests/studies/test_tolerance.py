"""One rule says whether two numbers agree: joint uncertainty at 95 %, rounding, or readings of an open recipe."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from shesha_studies.framework.checks import Found, judge_number
from shesha_studies.framework.published_checks import judge_line
from shesha_studies.framework.tolerance import (
    JOINT,
    allowed_difference,
    correlation_error,
    interval_error,
    loosely,
    p_values_agree,
)


def test_differences_of_equal_numbers_agree_nineteen_times_in_twenty():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0, 0.3, 4000), rng.normal(0, 0.4, 4000)
    agree = [
        judge_number("P", "a", b, a, error=0.3, published_error=0.4, decimals=6).verdict == "agrees"
        for a, b in zip(ours, theirs, strict=True)
    ]
    assert np.mean(agree) == pytest.approx(0.95, abs=0.012)


def test_rounding_counts_as_a_spread_of_its_own():
    assert allowed_difference(decimals=2) == pytest.approx(0.005)
    assert allowed_difference(decimals=2) > 0.005, "a difference of exactly half a digit agrees"
    assert allowed_difference(0.001, decimals=2) == pytest.approx(JOINT * (0.001**2 + 0.01**2 / 12) ** 0.5)
    assert allowed_difference(float("nan"), decimals=1) == pytest.approx(0.05)


def test_the_error_of_a_rank_correlation_is_that_of_samples():
    rng, drawn = np.random.default_rng(1), []
    for _ in range(800):
        x = rng.standard_normal(25)
        drawn.append(spearmanr(x, 0.6 * x + 0.8 * rng.standard_normal(25)).statistic)
    assert correlation_error(float(np.mean(drawn)), 25) == pytest.approx(np.std(drawn), rel=0.12)
    assert np.isnan(correlation_error(0.5, 3))
    assert correlation_error(0.0, 4) == 1
    assert correlation_error(0.0, 28) == pytest.approx(1 / 5)
    assert correlation_error(1.0, 28) == correlation_error(-1.0, 28) == 0
    # Bonett and Wright: the variance of Fisher's z, (1 + rho squared / 2) / (n - 3), on the scale of rho.
    assert correlation_error(0.8, 28) == pytest.approx(np.sqrt(1.32) / 5 * 0.36)


def test_a_printed_interval_gives_the_error_that_made_it():
    assert interval_error(0.5 - JOINT * 0.02, 0.5 + JOINT * 0.02) == pytest.approx(0.02)
    assert interval_error(float("nan"), 0.3) == interval_error(0.3, float("nan")) == 0


def test_a_number_agrees_only_if_all_readings_of_the_recipe_do():
    found = judge_number("P", "a", 0.639, -0.56, why="unknown", readings=[(0.79, 0.0)])
    assert found.verdict == "inconclusive"
    assert found.why == "Choices that the paper leaves open give -0.56 to 0.79, and not all of these agree."
    assert judge_number("P", "a", 0.3, 0.3, error=0.1, readings=[(0.2, 0.1), (0.35, 0.1)]).verdict == "agrees"
    assert judge_number("P", "a", 0.9, -0.56, why="unknown", readings=[(0.79, 0.0)]).verdict == "differs"
    for end in (0.1, 0.79):
        assert judge_number("P", "a", end, 0.1, readings=[(0.79, 0.0)]).verdict == "inconclusive"


def test_a_line_of_a_table_is_judged_by_its_interval_by_our_readings_and_with_a_note():
    line = {"where": "P", "what": "a", "published": 0.3, "low": 0.1, "high": 0.5, "decimals": 1}
    assert judge_line(line, Found(0.45)).verdict == "agrees"
    assert judge_line({**line, "low": np.nan, "high": np.nan}, Found(0.45)).verdict == "differs"
    found = judge_line(line, Found(0.9, readings=((0.2, 0.0),), note="It is open."))
    assert found.why == "Choices that the paper leaves open give 0.2 to 0.9, and not all of these agree. It is open."
    assert judge_line(line, Found(0.9, why="Other data", note="It is open.")).why == "Other data. It is open."


@pytest.mark.parametrize("ours", [None, float("nan")])
def test_a_number_that_is_not_there_was_not_run(ours):
    found = judge_number("P", "a", 0.9, ours, why="no data")
    assert (found.verdict, found.ours, found.why) == ("not run", None, "no data")


@pytest.mark.parametrize(
    ("published", "within", "ours", "loose"),
    [
        (0.9, 0.12, 0.95, False),
        (0.9, 0.13, 0.95, True),
        (-0.4, 0.24, -0.3, False),
        (-0.4, 0.26, -0.3, True),
        (10.0, 4.0, 12.0, False),
        (10.0, 6.0, 12.0, True),
        (0.0077, 0.005, 0.003, False),
        # Exactly half of a number above 1, and exactly a quarter of the range of a share, are not more than that.
        (10.0, 5.0, 12.0, False),
        (0.5, 0.125, 0.5, False),
        # 1 is a share, and so is 0; a range that goes below 0 is that of a correlation.
        (1.0, 0.3, 1.0, True),
        (0.25, 0.2, 0.0, True),
        (0.25, 0.25, 0.3, True),
        (0.2, 0.21, 0.1, False),
        (0.5, 0.2, float("nan"), True),
    ],
)
def test_what_is_loose_depends_on_the_range_of_the_number(published, within, ours, loose):
    assert bool(loosely(published, within, ours)) is loose


def test_p_values():
    assert p_values_agree("<0.05", 0.05) is False
    assert p_values_agree("0.01", 0.029) is p_values_agree("0.01", 0.0034) is True
    assert p_values_agree("0.01", 0.031) is p_values_agree("0.01", 0.0033) is False
    assert p_values_agree("0.05", 0.9) is False
    assert p_values_agree("0.01", 0.0) is p_values_agree("0", 0.01) is False
    assert p_values_agree("<0.001", 0.002) is False
    assert p_values_agree("0.001", 0.04) is False
    assert p_values_agree("0.5", 0.06) is None
    assert p_values_agree("0.06", 0.09) is True
