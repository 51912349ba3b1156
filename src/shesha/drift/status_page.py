"""The status page of a saved monitor: state, advice, drift over time, rows that moved, last checks and new inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from shesha.drift.monitor import DriftMonitor, as_number, draw_drift
from shesha.report import Drawing, Page, Section, Table, as_html
from shesha.results.drift import State
from shesha.support.optional import require
from shesha.support.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STATES = get_args(State)
_ROWS = 50
"""Largest number of checks and of updates on the page."""
_MOVED = 10
_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))
_CLOCKS = 60
"""Seconds by which the clocks of two machines may differ."""
_TITLES = {
    "ok": "No change",
    "watch": "Signs of change, but no alarm",
    "alert": "Alert: the model changed",
    "not estimable": "Alert: the check could not decide",
}
_CHARTS = (
    "A drift of 0 means the same geometry as the reference. Unchanged encodings exceed the threshold at the false "
    "alarm rate. Axes are logarithmic if values differ more than twentyfold."
)


def page(folder: Path, now: datetime | None = None) -> str:
    """Return a web page that shows the last checks and updates; all text is escaped.

    Parameters
    ----------
    folder
        Directory of a saved monitor.
    now
        The time from which the page counts. Default: the current time.

    Raises
    ------
    KeyError or TypeError
        If an event in the history lacks a required field.
    """
    return as_html(_report(folder, now or datetime.now(UTC)))


def _report(folder: Path, now: datetime) -> Page:
    monitor, name = DriftMonitor.load(folder), readable_name(folder)
    checks, updates = monitor.history("check", last=_ROWS), monitor.history("update", last=_ROWS)
    sections = [*_drift_over_time(checks), *_largest_movements(checks[-1]), _last_checks(checks, now)] if checks else []
    return Page(
        title=f"{checks[-1]['state']}: {name}, a monitor" if checks else f"{name}, a monitor",
        question=(
            f"Did the model change? {count(monitor.n_rows, 'canary row')}, as of {now:%Y-%m-%d %H:%M} UTC; reload to "
            "update."
        ),
        answer=_answer(checks[-1], now) if checks else ("No check yet: run `shesha monitor check`.",),
        sections=(*sections, *([_last_updates(updates, now)] if updates else [])),
    )


def readable_name(folder: Path) -> str:
    """Return the folder's name as text, with bytes that are not UTF-8 replaced."""
    return os.fsencode(Path(os.path.realpath(folder)).name).decode("utf-8", "replace")


def time_ago(at: str, now: datetime) -> str:
    """Return how long ago a moment was, in words.

    Examples
    --------
    >>> time_ago("2026-03-01T10:00:00+00:00", datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2 hours ago'
    >>> time_ago("2026-03-01T13:00:00+00:00", datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2026-03-01T13:00:00+00:00 (later than the time of this machine)'
    """
    try:
        seconds = (now - datetime.fromisoformat(at)).total_seconds()
    except (TypeError, ValueError):
        # A history that was edited by hand may contain invalid times.
        return str(at)
    if seconds < -_CLOCKS:
        return f"{at} (later than the time of this machine)"
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "just now"


def _answer(last: dict[str, Any], now: datetime) -> tuple[str, ...]:
    """Return the state, the time and settings of the last check, the advice, and the evidence of all checks."""
    settings, what = _settings(last), last["reason"] or last["advice"]
    answer = [
        f"{_TITLES.get(last['state'], last['state'])}.",
        f"Last check {time_ago(last['at'], now)}{f' ({settings})' if settings else ''}.",
        "Nothing needs to be done." if what == "Nothing." else f"What to do: {what}",
    ]
    row = last["sequence"]
    if row and last.get("by_sequence"):
        share = as_number(row["shiryaev_roberts"]) / as_number(row["threshold"])
        answer.append(
            f"The evidence of all checks is at {share:.0%} of the alarm threshold. An unchanged model raises an alarm "
            f"once in {as_number(row['run_length']):,.0f} checks on average."
        )
    return tuple(answer)


def _settings(check: dict[str, Any]) -> str:
    return ", ".join(f"{name} {text}" for name, text in sorted((check.get("about") or {}).items()))


def _short(value: Any) -> str:
    known = as_number(value)
    return f"{known:.2g}" if isfinite(known) else "no value"


def _drift_over_time(checks: Sequence[dict[str, Any]]) -> Iterator[Section]:
    """Yield a section with a chart for each measure of the last check."""
    figure = require("matplotlib.figure", "report", "pages need matplotlib").Figure

    def chart(measure: str) -> Drawing:
        drawn = [score for check in checks for score in check["scores"] if score["name"] == measure]
        n_beyond = sum(as_number(score.get("value")) > as_number(score.get("threshold")) for score in drawn)

        def draw() -> Axes:
            # A figure of pyplot may be made in the main thread only.
            return draw_drift(checks, measure, figure(figsize=(6.4, 2.6), layout="constrained").subplots())

        alarm = ". This measure raises the alarm" if drawn[-1]["tier"] == "primary" else ""
        text = (
            f"{measure}: {count(len(drawn), 'check')}, {n_beyond} beyond the threshold; last drift "
            f"{_short(drawn[-1].get('value'))}, threshold {_short(drawn[-1].get('threshold'))}{alarm}"
        )
        return Drawing(text, draw)

    yield Section("Drift over time", tuple(chart(score["name"]) for score in checks[-1]["scores"]), _CHARTS)


def _largest_movements(last: dict[str, Any]) -> Iterator[Section]:
    for title, movements in (("Rows that moved most", last.get("rows")), ("Classes", last.get("classes"))):
        moved = (movements or ())[:_MOVED]
        columns = {
            "label": [str(movement.get("label", "")) for movement in moved],
            "moved": [_short(movement["movement"]) for movement in moved],
            "largest without a change": [_short(movement.get("floor")) for movement in moved],
        }
        if moved:
            names = [str(movement["name"]) for movement in moved]
            yield Section(f"{title} in the last check", (Table.of(names, columns),))


def _last_checks(checks: Sequence[dict[str, Any]], now: datetime) -> Section:
    latest = checks[::-1]
    drifts = [{score["name"]: _short(score.get("value")) for score in check["scores"]} for check in latest]
    columns = {
        "state": [str(check["state"]) for check in latest],
        **{name: [line.get(name, "") for line in drifts] for name in drifts[0]},
        "settings": [_settings(check) for check in latest],
    }
    table = Table.of([time_ago(check["at"], now) for check in latest], columns, head="when")
    return Section("Last checks", (table,))


def _last_updates(updates: Sequence[dict[str, Any]], now: datetime) -> Section:
    latest = updates[::-1]
    columns = {
        "state": [str(update["state"]) for update in latest],
        "new rows so far": [f"{update['n_seen']:,}" for update in latest],
        "evidence of change": [f"{as_number(update['log10_martingale']):.1f}" for update in latest],
        "alarm threshold": [f"{as_number(update['log10_threshold']):.1f}" for update in latest],
    }
    table = Table.of([time_ago(update["at"], now) for update in latest], columns, head="when")
    return Section("New inputs", (table,), "Evidence and threshold are powers of ten.")
