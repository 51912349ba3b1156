"""What a verdict tells to do must fit what it reports."""

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
