"""Lines of progress: one each half minute, with the time that is left."""

import pytest

from shesha.support import progress
from shesha.support.progress import Lines, mute_progress, track


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand; no variable silences what is printed."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.delenv(progress.QUIET, raising=False)
    return now


def test_a_line_comes_every_half_minute_and_says_what_is_left(clock, capsys):
    lines = Lines()
    for seconds, share, printed in [
        (29.9, 0.1, ""),
        (30.0, 0.25, "shesha: pairs, 30 s so far, about 90 s left\n"),
        (59.0, 0.5, ""),
        (60.0, 0.5, "shesha: pairs, 60 s so far, about 60 s left\n"),
        (95.0, 0.0, "shesha: pairs, 95 s so far\n"),
    ]:
        clock[0] = 100.0 + seconds
        lines.say("pairs", share)
        assert capsys.readouterr().err == printed


def test_items_are_counted_from_one(clock, capsys):
    for item in track(iter("abcd"), 4, "steps"):
        clock[0] += 20
        assert item in "abcd"
    assert capsys.readouterr().err == "shesha: 2 of 4 steps, 40 s so far, about 40 s left\n" + (
        "shesha: 4 of 4 steps, 80 s so far, about 0 s left\n"
    )


def test_work_of_unknown_length_has_no_time_left(clock, capsys):
    for _ in track(range(2), 0, "batches"):
        clock[0] += 40
    assert capsys.readouterr().err == "shesha: 1 of 0 batches, 40 s so far\nshesha: 2 of 0 batches, 80 s so far\n"


def test_progress_can_be_silenced_and_inner_work_muted(clock, capsys, monkeypatch):
    with mute_progress():
        for _ in track(range(2), 2, "inner"):
            clock[0] += 40
    monkeypatch.setenv(progress.QUIET, "1")
    for _ in track(range(2), 2, "outer"):
        clock[0] += 40
    lines = Lines()
    clock[0] += 40
    lines.say("later")
    assert capsys.readouterr().err == ""
    monkeypatch.delenv(progress.QUIET)
    lines.say("later")
    assert capsys.readouterr().err == "shesha: later, 40 s so far\n"
