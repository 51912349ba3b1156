"""P-values among all earlier rows are uniform, the martingale is the published one, and alarms keep their promise."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom, kstest

from shesha.drift import DriftMonitor
from shesha.drift.stream_evidence import BINS, HIGHEST, LOWEST, ReferenceDistribution, Stream, score_bins
from shesha.support.sqlite import StoreError

P = (0.031, 0.72, 0.18, 0.004, 0.55, 0.93, 0.27, 0.08, 0.41, 0.66)
ORACLE = (
    *(1.0, 0.9489259000000002, 0.9876246040000001, 1.118780650355784, 1.0936683446325954),
    *(0.8926344080089451, 0.9424483470641607, 1.0716211114350762, 1.1158733160736571, 1.0300560587489958),
)
"""Of online-cp 0.4.0: SimpleJumper() after each of these."""


def rows(rng, n, d=6):
    return rng.standard_normal((n, d))


def slow_martingale(p_values, jump=0.01):
    """The simple jumper as Algorithm 8.1 of Algorithmic Learning in a Random World (2022) has it."""
    capital = dict.fromkeys((-1, -0.5, 0, 0.5, 1), 0.2)
    for p in p_values:
        total = sum(capital.values())
        capital = {e: (1 - jump) * c + jump * total / 5 for e, c in capital.items()}
        capital = {e: c * (1 + e * (p - 0.5)) for e, c in capital.items()}
    return sum(capital.values())


def test_the_martingale_is_the_simple_jumper():
    stream = Stream()
    stream.bet(np.array(P), 9.0)
    assert 10**stream.log10_martingale == pytest.approx(slow_martingale(P), rel=1e-12)
    assert 10**stream.log10_martingale == pytest.approx(ORACLE[-1], rel=1e-12)
    assert 10**stream.log10_highest == pytest.approx(max(ORACLE), rel=1e-12)


def test_p_values_are_ranks_among_all_earlier_scores(rng):
    scores = rng.lognormal(0, 0.3, 40)
    stream, places = Stream(), score_bins(scores)
    found = stream.p_values(scores, np.random.default_rng(1))
    parts = np.random.default_rng(1).random(40)
    for i, p in enumerate(found):
        above = sum(places[j] > places[i] for j in range(i))
        equal = sum(places[j] == places[i] for j in range(i + 1))
        assert p == pytest.approx((above + parts[i] * equal) / (i + 1))


def test_scores_of_any_size_have_a_bin():
    found = score_bins(np.array([0.0, LOWEST, 1.0, 1.001, HIGHEST, 1e300]))
    assert found.tolist() == sorted(found.tolist())
    assert (found[0], found[-1]) == (0, BINS - 1)


def test_p_values_of_rows_like_the_reference_are_uniform(rng):
    typical = ReferenceDistribution.build(rows(rng, 40))
    stream = Stream()
    p = stream.p_values(typical.scores(rows(rng, 1500)), rng)
    assert kstest(p, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(p[1:], p[:-1])[0, 1]) < 0.1


def test_the_usual_row_scores_one(rng):
    X = rng.standard_normal((4000, 6)) @ rng.standard_normal((6, 6)) + 7
    # The covariance is drawn towards equal variances, so that the smallest directions count less.
    assert 0.7 < np.mean(ReferenceDistribution.build(X).scores(X)) < 1.001
    assert np.mean(ReferenceDistribution.build(rows(rng, 4000)).scores(rows(rng, 4000))) == pytest.approx(1, abs=0.03)


def test_few_rows_of_many_features_can_be_fitted(rng):
    X = rng.standard_normal((12, 50))
    found = ReferenceDistribution.build(X).scores(rng.standard_normal((30, 50)))
    assert np.isfinite(found).all()


def test_a_reference_of_equal_rows_is_refused(rng):
    with pytest.raises(ValueError, match="reference must have rows that differ, got 12 equal rows"):
        ReferenceDistribution.build(np.full((12, 3), 0.3))
    with pytest.raises(ValueError, match="reference must have rows that differ, got 40 equal rows"):
        DriftMonitor(np.full((40, 3), 0.3))


def test_a_column_that_is_constant_but_for_rounding_decides_nothing(rng):
    X, new = rng.standard_normal((40, 3)), rng.standard_normal((10, 3))
    jittered = np.nextafter(0.3, rng.integers(0, 2, 40).astype(float))
    found = ReferenceDistribution.build(np.c_[X, jittered]).scores(np.c_[new, np.full(10, 0.3)])
    assert found == pytest.approx(ReferenceDistribution.build(np.c_[X, np.zeros(40)]).scores(np.c_[new, np.zeros(10)]))


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_the_scale_of_the_rows_does_not_matter(rng, scale):
    X, new = rng.standard_normal((40, 3)), rng.standard_normal((10, 3))
    found = ReferenceDistribution.build(X * scale).scores(new * scale)
    assert found == pytest.approx(ReferenceDistribution.build(X).scores(new))


def test_the_stream_ever_alarms_no_more_often_than_stated():
    """Over streams of rows like the reference; the alarm looks at every row."""
    ever, n, alpha = 0, 120, 0.1
    for seed in range(n):
        rng = np.random.default_rng([5, seed])
        monitor = DriftMonitor(rows(rng, 40, 3), false_alarm=alpha, seed=seed)
        ever += monitor.update(rows(rng, 400, 3)).state == "alert"
    assert ever <= binom.ppf(0.999, n, alpha)


@pytest.mark.parametrize("change", ["farther", "nearer", "elsewhere"])
def test_changed_inputs_are_found_and_stay_found(change, rng):
    monitor = DriftMonitor(rows(rng, 200))
    assert monitor.update(rows(rng, 100)).state != "alert"
    new = rows(rng, 200)
    verdict = monitor.update({"farther": 2 * new, "nearer": 0.4 * new, "elsewhere": new + 1.5}[change])
    assert verdict.state == "alert"
    assert 100 < verdict.alarm_since <= 300
    after = monitor.update(rows(rng, 10))
    assert (after.state, after.alarm_since, after.n_seen) == ("alert", verdict.alarm_since, 310)
    monitor.acknowledge()
    assert monitor.update(rows(rng, 10)).state == "ok"


def test_batches_do_not_matter(rng):
    X, new = rows(rng, 60), rows(rng, 30)
    whole, parts = DriftMonitor(X), DriftMonitor(X)
    one = whole.update(new)
    for part in np.array_split(new, 5):
        last = parts.update(part)
    assert last.n_seen == one.n_seen == 30
    assert last.log10_martingale == pytest.approx(one.log10_martingale, abs=0.2)


def test_rows_of_earlier_batches_are_refused_and_do_not_count(rng, tmp_path):
    X, new = rows(rng, 60), rows(rng, 90)
    DriftMonitor(X).save(tmp_path / "m", keep_rows=True)
    monitor = DriftMonitor.load(tmp_path / "m")
    first = monitor.update(new[:60])
    with pytest.raises(ValueError, match="got 60 of 90 rows equal to rows of earlier batches"):
        DriftMonitor.load(tmp_path / "m").update(new.astype(np.float32))
    last = monitor.update(new[60:])
    assert (first.n_seen, last.n_seen) == (60, 90)
    # Inputs that many people ask occur again and again.
    often = DriftMonitor(X)
    for _ in range(5):
        often.update(new[rng.integers(20, size=40)])


def test_a_stream_of_an_earlier_version_has_no_known_rows(rng):
    plain = json.loads(Stream().as_text())
    plain.pop("known")
    assert len(Stream.from_text(json.dumps(plain)).known) == 0
    for damaged in ("xy", "abc", 3):
        with pytest.raises(StoreError, match="known"):
            Stream.from_text(json.dumps(plain | {"known": damaged}))


def test_a_stream_comes_back_from_text_to_the_last_bit(rng):
    stream = Stream()
    stream.bet(stream.p_values(rng.lognormal(size=300), rng), 2.0)
    back = Stream.from_text(stream.as_text())
    scores = rng.lognormal(size=50)
    for one in (stream, back):
        one.bet(one.p_values(scores, np.random.default_rng(3)), 2.0)
    assert back.as_text() == stream.as_text()
    assert back.log10_martingale == stream.log10_martingale


def test_the_strangest_rows_are_named(rng):
    monitor, new = DriftMonitor(rows(rng, 60)), rows(rng, 20)
    new[[4, 11]] *= [[30], [60]]
    assert monitor.update(new).strangest[:2] == (11, 4)


def test_broken_rows_alarm_and_are_not_seen(rng):
    monitor, new = DriftMonitor(rows(rng, 60)), rows(rng, 20)
    new[3, 1] = np.inf
    verdict = monitor.update(new)
    assert (verdict.state, verdict.needs_attention, verdict.n_seen) == ("not estimable", True, 0)
    assert verdict.reason == "batch has NaN or infinity in 1 of 20 rows: 3"
    assert math.isnan(verdict.mean_p_value)
    assert str(verdict) == f"not estimable: {verdict.reason}"
