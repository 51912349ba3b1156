"""Ranks within groups are uniform, the composite jumper is the published one, and its bound holds."""

import numpy as np
import pytest
from scipy.stats import binomtest

from shesha.drift import conformal_stream
from shesha.drift.conformal_stream import (
    JUMPS,
    composite_jumper,
    first_alarm,
    group_ranks,
)
from shesha.drift.stream_evidence import Stream

ALPHA = 0.05


def slow_composite(p_values):
    """The composite jumper with plain numbers: a mean of simple jumpers."""
    jumpers = {jump: dict.fromkeys((-1, -0.5, 0, 0.5, 1), 0.2) for jump in (1e-4, 1e-3, 1e-2, 1e-1, 1)}
    for p in p_values:
        for jump, capital in jumpers.items():
            total = sum(capital.values())
            for e in capital:
                capital[e] = ((1 - jump) * capital[e] + jump * total / 5) * (1 + e * (p - 0.5))
    return sum(sum(capital.values()) for capital in jumpers.values()) / 5


def test_the_composite_jumper_is_a_mean_of_simple_ones(rng):
    p = rng.random((3, 40)) ** 2
    found = composite_jumper(p)
    for i in range(3):
        assert 10 ** found[i, -1] == pytest.approx(slow_composite(p[i]))
    stream = Stream()
    stream.bet(p[0], 9.0)
    assert composite_jumper(p[:1], (0.01,))[0, -1] == pytest.approx(stream.log10_martingale)
    # The rate that starts anew with each row bets nothing.
    assert composite_jumper(np.full((1, 5000), 0.5), JUMPS).min() > np.log10(1 / 5)


def test_ranks_within_groups_are_those_of_each_group_alone(rng):
    scores, groups = rng.random(60), rng.integers(0, 2, 60)
    found = group_ranks(scores, groups, 20, np.random.default_rng(2))
    parts = np.random.default_rng(2).random(40)
    for i, row in enumerate(range(20, 60)):
        same = [scores[j] for j in range(row) if groups[j] == groups[row]]
        assert found[i] == pytest.approx((sum(one > scores[row] for one in same) + parts[i]) / (len(same) + 1))


def rate_limit(alarms):
    return binomtest(int(np.sum(alarms)), len(alarms)).proportion_ci(0.999).low


def test_ville_holds_for_exchangeable_rows():
    """2,000 streams of 200 rows."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2000, 260))
    earlier = np.array([(scores[:, :i] > scores[:, [i]]).sum(axis=1) for i in range(60, 260)]).T
    p = (earlier + rng.random(earlier.shape)) / np.arange(61, 261)
    ever = (composite_jumper(p) >= np.log10(1 / ALPHA)).any(axis=1)
    assert rate_limit(ever) <= ALPHA


def test_ville_holds_while_the_mix_of_groups_changes():
    """2,000 streams; without groups most of them alarm."""
    within, without = [], []
    for seed in range(2000):
        rng = np.random.default_rng([4, seed])
        groups = np.r_[rng.random(40) < 0.1, rng.random(80) < np.linspace(0.1, 1, 80)].astype(np.intp)
        scores = rng.standard_normal(120) + 2.0 * groups
        within.append(group_ranks(scores, groups, 40, rng))
        without.append(group_ranks(scores, np.zeros(120, np.intp), 40, rng) if seed < 200 else np.full(80, 0.5))
    alarms = [(composite_jumper(np.array(p)) >= np.log10(1 / ALPHA)).any(axis=1) for p in (within, without)]
    assert rate_limit(alarms[0]) <= ALPHA
    assert alarms[1][:200].mean() > 0.5


def test_a_shift_beyond_the_expected_one_is_found(rng):
    kinds = np.r_[rng.random(200) < 0.5, rng.random(250) < 0.8].astype(int)
    rows = rng.standard_normal((450, 4)) * (1 + kinds)[:, None]
    options = {"groups": kinds}
    assert conformal_stream(rows[:200], rows[200:], **options).state == "ok"
    rows[200:] *= np.linspace(1, 2, 250)[:, None]
    found = conformal_stream(rows[:200], rows[200:], **options)
    assert (found.state, found.n_seen) == ("alert", 250)
    assert 20 < found.alarm_since < 250
    assert found.mean_p_value < 0.5


def test_the_first_alarm_is_the_first_row_at_the_threshold():
    assert first_alarm(np.array([0.0, 2.0, 1.0, 3.0]), 2.0) == 2
