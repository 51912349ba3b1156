"""The page of a monitor for people: what it says now, drift over time, and nothing that a browser fetches."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from shesha.drift import DriftMonitor, history
from shesha.drift.status_page import page

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def test_nothing_is_fetched_or_reloaded(folder):
    text = page(folder, NOW)
    assert "refresh" not in text and "@import" not in text and " src=" not in text
    assert "default-src 'none'" in text and "width=device-width" in text


def test_every_measure_has_a_chart(folder):
    text = page(folder, NOW)
    assert text.count("<svg ") == 4
    assert text.count('aria-label="Picture: ') == text.count("3 checks, 1 beyond the threshold") // 3 == 4
    assert text.count("This measure raises the alarm") == 3 and "drift by RDM drift" in text


def test_a_monitor_without_checks_says_so(tmp_path, rng):
    DriftMonitor(rng.standard_normal((20, 4))).save(tmp_path / "new")
    text = page(tmp_path / "new")
    assert "No check yet" in text and "<svg" not in text
