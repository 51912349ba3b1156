"""Evidence adds up as the recursions say, and reaches the alarm no earlier than stated on average."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shesha.drift.run_length import Evidence, e_value

p_values = st.lists(st.integers(1, 100).map(lambda k: k / 100), min_size=1, max_size=30)


@given(p_values)
def test_the_sums_are_those_over_all_starts(p):
    e = np.array([e_value(one) for one in p])
    after = Evidence()
    for one in p:
        after = after.update(one, 1e9)
    products = [float(np.prod(e[start:])) for start in range(len(e))]
    assert after.shiryaev_roberts == pytest.approx(sum(products))
    assert after.cusum == pytest.approx(max(products))


@given(st.integers(1, 2000))
def test_an_e_value_of_ranks_is_at_most_one_on_average(n_nulls):
    ranks = np.arange(1, n_nulls + 2) / (n_nulls + 1)
    assert np.mean([e_value(p) for p in ranks]) <= 1


def test_without_change_the_alarm_takes_as_long_as_stated(rng):
    target, lengths = 20, []
    for _ in range(400):
        evidence = Evidence()
        while not evidence.alarm_since:
            evidence = evidence.update(1 - rng.random(), target)
        lengths.append(evidence.number)
    error = np.std(lengths) / np.sqrt(len(lengths))
    assert np.mean(lengths) >= target - 3 * error
    # Evidence overshoots the alarm: its variance is infinite.
    assert np.mean(lengths) <= 3 * target


def test_an_alarm_stays_until_it_is_acknowledged():
    evidence = Evidence()
    for _ in range(5):
        evidence = evidence.update(0.01, 20)
    assert evidence.alarm_since == 2
    for _ in range(50):
        evidence = evidence.update(1.0, 20)
    assert evidence.shiryaev_roberts < 20
    assert evidence.alarm_since == 2
    assert Evidence.from_text(evidence.as_text()) == evidence
    assert evidence.reset() == Evidence(55)
    assert Evidence.from_text(None) == Evidence()


def test_evidence_stays_finite_and_a_check_without_a_value_changes_no_sum():
    evidence = Evidence()
    for _ in range(2000):
        evidence = evidence.update(0.001, 1000)
    assert np.isfinite(evidence.shiryaev_roberts) and np.isfinite(evidence.cusum)
    after = evidence.update(float("nan"), 1000)
    assert (after.number, after.shiryaev_roberts) == (2001, evidence.shiryaev_roberts)
