"""How far a run is, and how long the rest takes."""

from __future__ import annotations

import io
import sys

import pytest

from shesha.runs import Meter


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
