"""How far a run is, and how long the rest takes."""

from __future__ import annotations

import io
import sys

import pytest

from shesha.runs import Meter, duration


@pytest.fixture
def mixed():
    """Two workers; trainings of 10 s and comparisons of 0.5 and 2 s, some of each done."""
    meter = Meter(2)
    for kind, amount in (("train", 5), ("cheap", 100), ("costly", 8)):
        meter.expect(kind, amount)
    meter.finish("train", 1, 8.0)
    meter.finish("train", 1, 12.0)
    meter.finish("cheap", 20, 10.0)
    return meter


def test_what_is_left_takes_as_long_as_its_kind_took(mixed):
    mixed.finish("costly", 2, 4.0)
    assert mixed.seconds_left() == (pytest.approx((3 * 10 + 80 * 0.5 + 6 * 2) / 2), False)


def test_kinds_of_which_nothing_is_known_make_it_at_least_that(mixed):
    assert mixed.seconds_left() == (pytest.approx((3 * 10 + 80 * 0.5) / 2), True)


def test_amounts_that_are_expected_later_are_added(mixed):
    mixed.expect("cheap", 40)
    assert mixed.seconds_left()[0] == pytest.approx((3 * 10 + 120 * 0.5) / 2)


def test_nothing_is_said_before_anything_is_known():
    meter = Meter(4)
    assert meter.seconds_left() == (None, False)
    meter.expect("train", 1)
    assert meter.seconds_left() == (None, True)


def test_nothing_is_left_in_the_end(mixed):
    mixed.finish("train", 3, 30.0)
    mixed.finish("cheap", 80, 40.0)
    mixed.finish("costly", 8, 16.0)
    assert mixed.seconds_left() == (0, False)


def test_text_counts_what_is_done_whatever_its_kind(mixed):
    assert mixed.text() == "22/113 pieces, at least 35 s left"
    mixed.finish("costly", 8, 16.0)
    assert mixed.text() == "30/113 pieces, about 35 s left"
    mixed.more_to_plan = True
    assert mixed.text() == "30/113+ pieces, at least 35 s left"
    assert Meter(1, "files").text() == "0/0 files"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (89, "89 s"),
        (91, "2 min"),
        (600, "10 min"),
        (5399, "90 min"),
        (5401, "1.5 h"),
        (360000, "100.0 h"),
    ],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_nothing_is_shown_where_there_is_no_terminal(mixed, capsys):
    with mixed:
        mixed.show()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_terminal_shows_how_far_the_run_is_on_the_side(mixed, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with mixed:
        mixed.show()
        mixed._bar.refresh()
    assert "22/113 pieces, at least 35 s left" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_times_are_numbers_of_the_unit_that_keeps_them_below_ninety():
    """Up to rounding to the last digit that is printed, which hours have one more of."""
    units = {"s": (1, 0.5, 0, 90), "min": (60, 30, 90, 5400), "h": (3600, 180, 5400, 10**9)}
    for seconds in (0, 0.4, 1, 59, 60, 89.4, 89.9, 90, 91, 3599, 3600, 5399, 5400, 5401, 100_000):
        number, unit = duration(seconds).split()
        size, rounding, least, most = units[unit]
        assert abs(float(number) * size - seconds) <= rounding + 1e-9
        assert least <= seconds < most
