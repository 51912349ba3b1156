"""The page of a monitor for people: what it says now, drift over time, and nothing that a browser fetches."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import numpy as np
import pytest

from shesha.drift import DriftMonitor, history
from shesha.drift.status_page import Check, history_chart, page, time_ago

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAN = float("nan")


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    """A monitor with three checks, a day apart; the last is an alarm."""
    X = rng.standard_normal((60, 8))
    names = np.array([f"<i>row {i}</i>" for i in range(60)])
    import pandas as pd

    again = [X + 1e-3 * rng.standard_normal(X.shape) for _ in range(99)]
    monitor = DriftMonitor(pd.DataFrame(X, index=names), nulls=again, labels=["x", "y"] * 30, run_length=5)
    place = tmp_path / "canary"
    monitor.save(place, keep_rows=True)
    for day, scale in enumerate((1e-3, 1e-3, 0.5)):
        at = (NOW - timedelta(days=3 - day)).isoformat(timespec="seconds")
        monkeypatch.setattr(history, "_now", lambda at=at: at)
        monitor.check(X + scale * rng.standard_normal(X.shape), about={"revision": f"r{day}"})
    return place


def test_it_says_what_is_the_matter_when_and_what_to_do(folder):
    text = page(folder, NOW)
    first = text.index("Alert: the model changed")
    assert first < text.index("Last check") < text.index("What to do: ") < text.index("Drift over time")
    assert "1 day ago" in text and "3 days ago" in text and "revision r2" in text
    last = DriftMonitor.load(folder).history()[-1]
    share = last["sequence"]["shiryaev_roberts"] / last["sequence"]["threshold"]
    assert f"{share:.0%} of the alarm threshold" in text
    for moved in (*last["rows"], *last["classes"]):
        assert moved["name"].replace("<", "&lt;").replace(">", "&gt;") in text
    assert "<i>row" not in text


def test_nothing_is_fetched_run_or_reloaded(folder):
    text = page(folder, NOW)
    assert "<script" not in text and "http-equiv" not in text and "@import" not in text
    assert set(re.findall(r"https?://[^' ]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert 'rel="icon" href="data:' in text and "width=device-width" in text


def test_every_measure_has_a_chart_with_a_mark_per_check(folder):
    pictures = re.findall(r"<svg .*?</svg>", page(folder, NOW))
    assert len(pictures) == 4
    for one in pictures:
        parsed = ElementTree.fromstring(one)
        assert len(parsed.findall(".//title")) == 3
        assert "3 checks, 1 beyond the threshold" in parsed.attrib["aria-label"]
    # Times, as measures, are those of the history.
    assert "RDM drift" in pictures[0] and "3 days ago" in pictures[0]


def test_a_monitor_without_checks_says_so(tmp_path, rng):
    DriftMonitor(rng.standard_normal((20, 4))).save(tmp_path / "new")
    text = page(tmp_path / "new")
    assert "No check yet" in text and "<svg" not in text.replace("%3Csvg", "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "just now"), (-60, "just now"), (60, "1 minute ago"), (7199, "1 hour ago"), (200_000_000, "2,314 days ago")],
)
def test_times_are_relative(seconds, words):
    assert time_ago((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == words


def test_a_time_that_is_none_stays_what_it_is():
    assert time_ago("<em>", NOW) == "<em>"


def heights(picture):
    """Heights of dots, which say how large a drift is; the threshold's first."""
    limit = float(re.search(r'class="limit" d="M[\d.-]+ ([\d.]+)H', picture)[1])
    return [limit, *(float(one) for one in re.findall(r'cy="([\d.]+)"', picture))]


def test_linear_where_values_are_alike_and_logarithmic_where_not():
    limit, *dots = heights(history_chart("m", [Check("a", 0.05, 0.1, "ok"), Check("b", 0.1, 0.1, "ok")]))
    bottom = 160 - 26
    assert dots[1] == limit
    assert bottom - dots[0] == pytest.approx((bottom - dots[1]) / 2, abs=0.1)
    steps = [Check(str(i), 10.0**-i, 0.1, "ok") for i in range(5)]
    _, *dots = heights(history_chart("m", steps))
    assert np.diff(dots) == pytest.approx([np.diff(dots)[0]] * 4, abs=0.2)


def test_missing_values_leave_a_gap_and_odd_ones_stay_inside():
    picture = history_chart("m", [Check("a", NAN, NAN, "not estimable"), Check("b", -1.0, 0.1, "ok")])
    assert picture.count("<title>") == 1 and "no value" not in picture.split("aria-label")[0]
    assert all(0 <= one <= 160 for one in heights(picture))
    nothing = history_chart("m", [Check("a", NAN, NAN, "not estimable")])
    assert "last drift no value" in nothing
    ElementTree.fromstring(nothing)


def test_alarms_have_a_shape_of_their_own():
    picture = history_chart("m", [Check("a", 1.0, 0.1, "alert"), Check("b", 0.05, 0.1, "ok")])
    assert picture.count('<path class="alert"') == 1 and picture.count("<circle") == 1
