"""Colours where there is a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest

import shesha
from shesha.report import colour_report, use_colour

AUDIT = "Audit of 2 representations\n  Stable above chance: a.\n  Not above chance: b.\n\nData\n  b: ! zero rows: 2"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "settings", "colours"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
    ],
)
def test_a_terminal_decides_unless_something_was_said(monkeypatch, terminal, settings, colours):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal() if terminal else io.StringIO())
    assert use_colour() is colours


def test_colours_add_nothing_but_colours():
    found = colour_report(AUDIT)
    for code in ("\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[0m"):
        assert code in found
        found = found.replace(code, "")
    assert found == AUDIT


def test_results_show_themselves(monkeypatch, capsys):
    found = shesha.results.DriftPath(("a", "b"), (0.0, 0.5), (0.0, 0.5), "spearman", "cosine")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    found.show()
    assert capsys.readouterr().out == f"{found}\n"

    class Printer:
        shown = ""

        def text(self, text):
            self.shown += text

    printer = Printer()
    found._repr_pretty_(printer, False)
    assert printer.shown == str(found)
