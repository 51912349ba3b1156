"""Evidence adds up as the recursions say, and reaches the alarm no earlier than stated on average."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shesha.drift import DriftMonitor
from shesha.drift.stream_evidence import AlarmRule, Stream, StreamEvidence, least_run_length
from shesha.support.sqlite import StoreError

RULE = AlarmRule(20, 99)
p_values = st.lists(st.integers(1, 100).map(lambda k: k / 100), min_size=1, max_size=30)


@given(p_values)
def test_the_sums_are_those_over_all_starts(p):
    rule = AlarmRule(1e4, 99)
    e = np.array([rule.e_value(one) for one in p])
    after = StreamEvidence()
    for one in p:
        after = after.update(one, rule)
    products = [float(np.prod(e[start:])) for start in range(len(e))]
    assert after.shiryaev_roberts == pytest.approx(sum(products))
    assert after.cusum == pytest.approx(max(products))


@given(st.integers(1, 2000))
def test_an_e_value_of_ranks_is_one_on_average(n_nulls):
    rule = AlarmRule(100, n_nulls)
    ranks = np.arange(1, n_nulls + 2) / (n_nulls + 1)
    assert np.mean([rule.e_value(p) for p in ranks]) == pytest.approx(1)


def _lengths(rule, weights, most):
    """Checks to the alarm of a monitor for each row of weights: the probabilities of the ranks."""
    rng, n = np.random.default_rng(0), len(weights)
    e = np.array([rule.e_value(k / (rule.n_nulls + 1)) for k in range(1, rule.n_nulls + 2)])
    limits, sums, found = np.cumsum(weights, axis=1), np.zeros(n), np.full(n, most)
    for number in range(1, most):
        ranks = (limits < rng.random(n)[:, None]).sum(axis=1).clip(max=len(e) - 1)
        sums = (1 + sums) * e[ranks]
        found[(found == most) & (sums >= rule.threshold)] = number
        if (found < most).all():
            break
    return found


@pytest.mark.parametrize("n_nulls", [19, 99, 499])
@pytest.mark.parametrize("stated", [5, 20, 100])
def test_without_change_the_alarm_takes_as_long_as_stated_and_hardly_longer(n_nulls, stated):
    """Ranks are uniform: the mean over monitors and re-encodings. Lower bounds are exact but for steps of 1 %."""
    uniform = np.full((3000, n_nulls + 1), 1 / (n_nulls + 1))
    found = _lengths(AlarmRule(stated, n_nulls), uniform, 40 * stated)
    error = found.std() / np.sqrt(len(found))
    assert stated - 3 * error <= found.mean() <= 1.1 * stated + 3 * error


def test_monitors_with_re_encodings_of_their_own_wait_as_long_as_stated_on_average():
    """Their ranks are not uniform: the spacings of 99 nulls, a Dirichlet distribution."""
    weights = np.random.default_rng(1).dirichlet(np.ones(100), 2000)
    found = _lengths(AlarmRule(20, 99), weights, 800)
    assert 20 <= found.mean() <= 30


def test_the_threshold_is_at_most_the_stated_length_which_always_suffices():
    for n_nulls in (19, 99, 999):
        limits = [AlarmRule(stated, n_nulls).threshold for stated in (2, 20, 100, 370, 1e4, 1e5)]
        assert limits == sorted(limits)
        assert all(limit <= stated for limit, stated in zip(limits, (2, 20, 100, 370, 1e4, 1e5), strict=True))


def test_the_bound_of_the_chain_is_that_of_two_ranks_by_hand():
    """One plus the sum is multiplied by 2 or by 0: an alarm at 6 takes two in a row, six checks on average."""
    assert least_run_length(6.0, np.array([2.0, 0.0])) == pytest.approx(6.0)
    assert least_run_length(1.9, np.array([2.0, 0.0])) == pytest.approx(2.0)


def test_an_alarm_stays_until_it_is_acknowledged():
    evidence = StreamEvidence()
    for _ in range(5):
        evidence = evidence.update(0.01, RULE)
    assert evidence.alarm_since == 2
    for _ in range(50):
        evidence = evidence.update(1.0, RULE)
    assert evidence.shiryaev_roberts < RULE.threshold
    assert evidence.alarm_since == 2
    assert StreamEvidence.from_text(evidence.as_text()) == evidence
    assert StreamEvidence.restart(evidence.as_text()) == StreamEvidence(55)
    assert StreamEvidence.from_text(None) == StreamEvidence()


def test_evidence_stays_finite_and_a_check_without_a_value_changes_no_sum():
    evidence, rule = StreamEvidence(), AlarmRule(1000, 999)
    for _ in range(2000):
        evidence = evidence.update(0.001, rule)
    assert np.isfinite(evidence.shiryaev_roberts) and np.isfinite(evidence.cusum)
    after = evidence.update(float("nan"), rule)
    assert (after.number, after.shiryaev_roberts) == (2001, evidence.shiryaev_roberts)


DAMAGED = (
    *("", "{", "null", "[]", "{}", "3", '"text"', "[" * 100_000, "\x00", '{"number": 1}'),
    '{"number": -1, "shiryaev_roberts": 0.0, "cusum": 0.0, "alarm_since": 0}',
    '{"number": 1.5, "shiryaev_roberts": 0.0, "cusum": 0.0, "alarm_since": 0}',
    '{"number": true, "shiryaev_roberts": 0.0, "cusum": 0.0, "alarm_since": 0}',
    '{"number": 1, "shiryaev_roberts": NaN, "cusum": 0.0, "alarm_since": 0}',
    '{"number": 1, "shiryaev_roberts": Infinity, "cusum": 0.0, "alarm_since": 0}',
    '{"number": 1, "shiryaev_roberts": "much", "cusum": 0.0, "alarm_since": 0}',
    '{"number": 1, "shiryaev_roberts": 0.0, "cusum": null, "alarm_since": 0}',
    '{"number": 1, "shiryaev_roberts": 0.0, "cusum": 0.0, "alarm_since": 2}',
    '{"number": 1, "shiryaev_roberts": 0.0, "cusum": 0.0, "alarm_since": 0, "more": 1}',
)


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("kind", [StreamEvidence, Stream])
def test_a_damaged_state_ends_in_one_error_that_says_how_to_go_on(kind, text):
    with pytest.raises(StoreError, match=r"evidence of earlier checks must be undamaged, got .*acknowledge"):
        kind.from_text(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [("bins", [99999]), ("bins", [1, 2]), ("counts", [-1]), ("capital", [1.0]), ("capital", None), ("n_seen", 1e3)],
)
def test_a_damaged_stream_ends_in_one_error(field, value):
    import json

    stream = Stream()
    stream.p_values(np.array([1.0]), np.random.default_rng(0))
    plain = json.loads(stream.as_text())
    assert Stream.from_text(json.dumps(plain)).as_text() == stream.as_text()
    with pytest.raises(StoreError, match="must be undamaged"):
        Stream.from_text(json.dumps(plain | {field: value}))


def test_an_encoding_that_is_checked_again_is_named(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    again = [X + 0.01 * rng.standard_normal(X.shape) for _ in range(60)]
    DriftMonitor(X, nulls=again[:50], run_length=50).save(tmp_path / "m")

    def says(current):
        found = DriftMonitor.load(tmp_path / "m").check(current)
        return any("as if the same encoding were checked again" in text for text in found.inputs)

    assert [says(rows) for rows in (again[51], again[52], again[52], again[53], again[52])] == [0, 0, 1, 0, 0]
    assert not any(says(X) for _ in range(3)), "an encoder without noise gives the same rows"
