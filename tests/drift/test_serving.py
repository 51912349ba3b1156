"""What is served: gauges that say what the last check said, and a page that shows no markup of others."""

from __future__ import annotations

import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from shesha.drift import DriftMonitor, history
from shesha.drift.monitor_server import server
from shesha.drift.status_page import page


@pytest.fixture
def folder(tmp_path, canaries, again):
    place = tmp_path / "<script>alert(1)<"
    DriftMonitor(canaries, nulls=[again() for _ in range(19)], false_alarm=0.05).save(place, keep_rows=True)
    return place


@pytest.fixture
def address(folder) -> Iterator[str]:
    found = server(folder, port=0)
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{found.server_address[1]}"
    found.shutdown()
    thread.join()
    found.server_close()


def read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read().decode()


def gauges(address: str) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(read(f"{address}/metrics"))
    samples = [sample for family in families for sample in family.samples]
    return {
        (one.name, *(value for name, value in sorted(one.labels.items()) if name in ("measure", "state"))): one.value
        for one in samples
    }


def test_gauges_are_those_of_the_last_check_and_update(folder, address, again, rng):
    assert ("shesha_drift", "RDM drift") not in gauges(address)
    monitor = DriftMonitor.load(folder)
    monitor.check(again())
    verdict = monitor.check(again(1.0))
    stream = monitor.update(rng.standard_normal((8, 12)))
    found = gauges(address)
    for score in verdict.scores:
        assert found["shesha_drift", score.name] == score.value
        assert found["shesha_drift_threshold", score.name] == score.threshold
        assert found["shesha_drift_p_value", score.name] == score.p_value
    assert (found["shesha_check_state", "alert"], found["shesha_check_state", "ok"]) == (1, 0)
    assert found["shesha_evidence",] == verdict.sequence.shiryaev_roberts
    assert (found["shesha_checks",], found["shesha_stream_rows",]) == (2, 8)
    assert found["shesha_stream_log10_evidence",] == stream.log10_martingale


def test_what_has_no_value_is_nan_and_the_state_says_so(folder, address):
    DriftMonitor.load(folder).check(np.full((48, 12), np.nan))
    found = gauges(address)
    assert np.isnan(found["shesha_drift", "RDM drift"])
    assert found["shesha_check_state", "not estimable"] == 1
    assert "not estimable" in read(address)


def test_times_of_a_clock_that_jumps_are_shown_and_never_order_events(folder, address, again, monkeypatch):
    times = ["2099-01-01T00:00:00+00:00", "1969-12-31T23:59:59+00:00", "0001-01-01T00:00:00", "nonsense"]
    for number, at in enumerate(times, start=1):
        monkeypatch.setattr(history, "_now", lambda at=at: at)
        DriftMonitor.load(folder).check(again())
        found = gauges(address)
        assert found["shesha_checks",] == number and f"{number} check" in read(address)
        time = found["shesha_check_timestamp_seconds",]
        assert np.isnan(time) if number > 2 else time == [4070908800.0, -1.0][number - 1]
    assert [event["at"] for event in DriftMonitor.load(folder).history()] == times


def test_the_page_escapes_what_it_shows(folder, address, again):
    monitor = DriftMonitor.load(folder)
    monitor.check(again(), about={"<b>": "x"})
    text = read(address)
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)&lt;" in text
    with monitor._history.open_for_writing() as history:
        event = monitor.history()[-1] | {"state": "<i>", "reason": "<u>", "scores": [], "at": "<em>"}
        history.add("check", event, {})
    text = page(folder)
    assert not {"<i>", "<u>", "<em>"} & set(text.replace(">", "> ").split())
    assert "&lt;i&gt;" in text and "&lt;u&gt;" in text


def test_only_what_is_served_is_there(address):
    for path in ("/monitor.json", "/../monitor.json", "/metrics/x"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(address + path)


def test_a_directory_that_is_gone_is_told_and_the_server_lives(folder, address):
    (folder / "monitor.json").rename(folder / "away")
    for path in ("/", "/metrics"):
        with pytest.raises(urllib.error.HTTPError, match="503"):
            read(address + path)
    (folder / "away").rename(folder / "monitor.json")
    assert "No check yet" in read(address)


def test_the_dashboard_asks_for_gauges_that_there_are(folder, address, again, rng):
    import json
    import re

    from shesha.drift import monitor_server

    monitor = DriftMonitor.load(folder)
    monitor.check(again())
    monitor.update(rng.standard_normal((8, 12)))
    there = {name for name, *_ in gauges(address)}
    board = json.loads((monitor_server.DASHBOARD).read_text(encoding="utf-8"))
    asked = {
        name
        for one in board["panels"]
        for target in one["targets"]
        for name in re.findall(r"shesha_\w+", target["expr"])
    }
    assert asked and asked <= there


@pytest.mark.parametrize("value", ["null", "[]", "{}", "7", '{"state": 3}', "{", '{"state": "ok", "scores": [null]}'])
def test_a_damaged_event_is_answered_with_a_reason(folder, address, again, value):
    DriftMonitor.load(folder).check(again())
    with sqlite3.connect(folder / "history.sqlite") as connection:
        connection.execute("UPDATE event SET value = ?", (value,))
    connection.close()
    for path in ("/", "/metrics"):
        with pytest.raises(urllib.error.HTTPError, match="503") as caught:
            read(address + path)
        assert "history.sqlite" in caught.value.read().decode()


def test_a_history_that_is_no_database_is_answered_with_a_reason(folder, address, again):
    DriftMonitor.load(folder).check(again())
    (folder / "history.sqlite").write_bytes(b"\x00garbage" * 500)
    for path in ("/", "/metrics"):
        with pytest.raises(urllib.error.HTTPError, match="503"):
            read(address + path)
