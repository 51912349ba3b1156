"""What a verdict tells to do must fit what it reports."""

import pytest

from shesha.drift import DriftMonitor


def test_a_quiet_check_after_an_alarm_does_not_say_nothing(canaries, again):
    watched = DriftMonitor(canaries, nulls=[again() for _ in range(99)], false_alarm=0.01)
    while not watched.check(again(0.5)).sequence.alarm_since:
        pass
    quiet = next(found for found in (watched.check(canaries) for _ in range(20)) if found.state == "ok")
    assert f"alarm at check {quiet.sequence.alarm_since}" in " ".join(str(quiet).split())
    assert quiet.advice != "Nothing." and "acknowledge" in quiet.advice
    watched.acknowledge()
    assert watched.check(canaries).advice == "Nothing."


@pytest.mark.parametrize(
    ("n_nulls", "false_alarm", "noise", "state"),
    [
        (5, None, 3e-3, "watch"),
        (5, None, 1.0, "alert"),
        (5, 0.17, 3e-3, "alert"),
        (19, None, 3e-3, "alert"),
    ],
)
def test_exceeding_a_few_re_encodings_is_no_alert_unless_the_rate_was_chosen(rng, n_nulls, false_alarm, noise, state):
    X = rng.standard_normal((40, 8))
    again = X + 1e-3 * rng.standard_normal((n_nulls, 40, 8))
    monitor = DriftMonitor(X, nulls=again, false_alarm=false_alarm)
    verdict = monitor.check(X + noise * rng.standard_normal(X.shape))
    assert verdict.state == state
    assert f", {100 * monitor.false_alarm:.2g} % of which exceed " in " ".join(str(verdict).split())
    assert ("no evidence of a change: at least 17 % of checks" in verdict.advice) == (state == "watch")
    assert ("at least 19 re-encodings, or choose" in " ".join(str(verdict).split())) == (
        n_nulls == 5 and false_alarm is None
    )
