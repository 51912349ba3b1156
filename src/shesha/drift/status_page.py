"""The status page of a saved monitor: state, advice, moved rows, last checks, and a chart of the drift over time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from math import inf, isfinite, log10
from pathlib import Path
from typing import Any, NamedTuple

from shesha.drift.monitor import DriftMonitor

_WIDTH, _HEIGHT = 460, 160
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 8, 12, 26
_MANY = 20.0
"""Ratio of the largest to the smallest value above which the axis is logarithmic."""


class Check(NamedTuple):
    """One check: its time in words, its drift and threshold (NaN if missing), and the monitor's state."""

    at: str
    drift: float
    threshold: float
    state: str


def history_chart(measure: str, checks: Sequence[Check]) -> str:
    """Return a chart of one measure's drift over checks, oldest first, as SVG; text is escaped.

    Missing values are not drawn. On a logarithmic axis, values of zero or less are drawn at the lower edge.

    Examples
    --------
    >>> found = history_chart("<CKA>", [Check("today", 0.2, 0.1, "alert")])
    >>> "&lt;CKA&gt;: 1 check" in found, 'class="alert"' in found
    (True, True)
    """
    scale = _Scale([value for check in checks for value in (check.drift, check.threshold)])
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(checks) - 1)
    xs = [_LEFT + (i * step if len(checks) > 1 else (_WIDTH - _LEFT - _RIGHT) / 2) for i in range(len(checks))]
    known = [(x, check) for x, check in zip(xs, checks, strict=True) if isfinite(check.drift)]
    n_beyond = sum(check.drift > check.threshold for check in checks)
    caption = (
        f"{measure}: {len(checks)} {'check' if len(checks) == 1 else 'checks'}, {n_beyond} beyond the threshold; "
        f"last drift {_number(checks[-1].drift)}, threshold {_number(checks[-1].threshold)}"
    )
    limits = " ".join(
        # Cut off at the axes, so that no line crosses the labels.
        f"M{max(_LEFT, x - step / 2):.1f} {scale.y(check.threshold):.1f}H{min(_WIDTH - _RIGHT, x + step / 2):.1f}"
        for x, check in zip(xs, checks, strict=True)
        if isfinite(check.threshold)
    )
    line = " ".join(f"{x:.1f},{scale.y(check.drift):.1f}" for x, check in known)
    marks = "".join(_mark(x, scale.y(check.drift), check) for x, check in known)
    axis = "".join(
        f'<text x="{_LEFT - 6}" y="{scale.y(value) + 5:.1f}" text-anchor="end">{_number(value)}</text>'
        f'<path class="grid" d="M{_LEFT} {scale.y(value):.1f}H{_WIDTH - _RIGHT}"/>'
        for value in (scale.high, scale.low)
    )
    ends = f'<text x="{_LEFT}" y="{_HEIGHT - 5}">{escape(checks[0].at)}</text>'
    ends += f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 5}" text-anchor="end">{escape(checks[-1].at)}</text>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(caption)}">{axis}{ends}'
        f'<path class="limit" d="{limits}"/><polyline class="line" points="{line}"/>{marks}</svg>'
    )


class _Scale:
    """The vertical scale, which is logarithmic if the values differ by large factors."""

    def __init__(self, values: Sequence[float]) -> None:
        positive = [value for value in values if isfinite(value) and value > 0]
        top, least = max(positive, default=1.0), min(positive, default=1.0)
        self.logarithmic = top / least > _MANY
        self.high = 10 ** (log10(top) + 0.1) if self.logarithmic else 1.15 * top
        self.low = 10 ** (log10(least) - 0.1) if self.logarithmic else 0.0

    def y(self, value: float) -> float:
        """Return the vertical position of a value, measured from the top."""
        share = (value - self.low) / (self.high - self.low)
        if self.logarithmic:
            where = log10(value) if value > 0 else -inf
            share = (where - log10(self.low)) / (log10(self.high) - log10(self.low))
        return _TOP + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _TOP - _BOTTOM)


def _mark(x: float, y: float, checked: Check) -> str:
    """Draw one check: a diamond for an alarm, otherwise a dot, so that shape as well as colour differs."""
    kind = checked.state.split()[0]
    shape = (
        f'<path class="{escape(kind)}" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z">'
        if kind == "alert"
        else f'<circle class="{escape(kind)}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
    )
    end = "path" if kind == "alert" else "circle"
    return f"{shape}<title>{escape(checked.at)}: {_number(checked.drift)}, {escape(checked.state)}</title></{end}>"


def _number(value: float) -> str:
    return f"{value:.2g}" if isfinite(value) else "no value"


STATES = ("ok", "watch", "alert", "not estimable")
_ROWS = 50
_MOVED = 10
_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))
_TITLES = {
    "ok": "No change",
    "watch": "Signs of change, but no alarm",
    "alert": "Alert: the model changed",
    "not estimable": "Alert: the check could not decide",
}
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'%3E"
    "%3Ccircle cx='4.5' cy='4.5' r='4' fill='%23{}'/%3E%3C/svg%3E"
)
_CHARTS = (
    "A drift of 0 means the same geometry as the reference. The dashed line is the threshold, which unchanged "
    "encodings rarely "
    "exceed. Diamonds mark alarms. Axes are logarithmic if values differ more than twentyfold."
)
_ICON_COLOURS = {"ok": "00695c", "watch": "b26a00", "alert": "b00020", "not estimable": "b00020"}
_CSS = """
:root { --page: #fcfcfa; --ink: #1c1e21; --quiet: #5b6168; --line: #dcdcd6; --panel: #f4f3ee; --first: #1f4e79;
  --ok: #00695c; --watch: #8a4b00; --alert: #b00020; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --ink: #e8e6e1; --quiet: #a3a8ae; --line: #34383d;
  --panel: #1e2125; --first: #86b8ea; --ok: #5fd0a8; --watch: #f0b35f; --alert: #ff8a95; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.4rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 70rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
h3 { font-size: .95rem; margin: 0; } p { max-width: 46rem; margin: .3rem 0; overflow-wrap: anywhere; }
.quiet, time { color: var(--quiet); } .state { border-left: 6px solid; padding: .2rem 0 .2rem 1rem; margin: 1rem 0; }
.state strong { font-size: 1.25rem; } .scroll { overflow-x: auto; }
.ok { color: var(--ok); } .watch { color: var(--watch); } .alert, .not { color: var(--alert); font-weight: 650; }
.state p, .state time { color: var(--ink); font-weight: 400; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.2rem; }
svg { width: 100%; height: auto; display: block; } svg text { font-size: 15px; fill: var(--quiet); }
.grid { stroke: var(--line); } .line { fill: none; stroke: var(--first); stroke-width: 1.5; }
.limit { stroke: var(--alert); stroke-width: 1.5; stroke-dasharray: 5 3; fill: none; }
svg .ok { fill: var(--first); } svg .watch { fill: var(--watch); } svg .alert, svg .not { fill: var(--alert); }
table { border-collapse: collapse; font-size: .92rem; } caption { text-align: left; color: var(--quiet); }
td, th { padding: .3rem 1rem .3rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 550; } .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { min-width: 10rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { display: none; } table, tbody { display: block; } td:empty { display: none; }
  tr { display: flex; flex-wrap: wrap; gap: .1rem 1rem; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  td, td.name { padding: 0; border: 0; min-width: 0; } td::before { content: attr(data-head) " "; color: var(--quiet); }
}
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><link rel="icon" href="{icon}">
<style>{css}</style></head><body><header><h1>{name}</h1><p class="quiet">{about}</p></header>
<main>{body}</main></body></html>
"""


def page(folder: Path, now: datetime | None = None) -> str:
    """Return a web page that shows the last checks and updates; all text is escaped.

    Parameters
    ----------
    folder : Path
        Directory of the monitor.
    now : datetime, optional
        Time from which ages such as "5 hours ago" are counted. Default: the current time.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "<b>"
    >>> DriftMonitor(np.random.default_rng(0).standard_normal((20, 4))).save(folder)
    >>> "<b>" in page(folder), "&lt;b&gt;" in page(folder)
    (False, True)
    """
    monitor, present = DriftMonitor.load(folder), now or datetime.now(UTC)
    checks, updates = monitor.history("check", last=_ROWS), monitor.history("update", last=_ROWS)
    name = escape(readable_name(folder))
    state = checks[-1]["state"] if checks else "ok"
    parts = (
        [_state_now(checks[-1], present)] if checks else ["<p>No check yet: run <code>shesha monitor check</code>.</p>"]
    )
    if checks:
        parts += [_charts(checks, present), _largest_movements(checks[-1]), _last_checks(checks[::-1], present)]
    if updates:
        parts.append(_last_updates(updates[::-1], present))
    return _PAGE.format(
        title=f"{escape(state)}: {name}, a shesha monitor" if checks else f"{name}, a shesha monitor",
        icon=_ICON.format(_ICON_COLOURS.get(state, "5b6168")),
        css=_CSS,
        name=name,
        about=f"{monitor.n_rows:,} canary rows. As of {present:%Y-%m-%d %H:%M} UTC; reload to update.",
        body="".join(parts),
    )


def readable_name(folder: Path) -> str:
    """Return the folder's name as text, with bytes that are not UTF-8 replaced."""
    return os.fsencode(Path(os.path.realpath(folder)).name).decode("utf-8", "replace")


def number(value: Any) -> float:
    """Return a number from the history, in which null stands for NaN."""
    return float("nan") if value is None else float(value)


def time_ago(at: str, now: datetime) -> str:
    """Return how long ago a moment was, in words.

    Examples
    --------
    >>> time_ago("2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, 5, 59, tzinfo=UTC))
    '5 hours ago'
    """
    try:
        seconds = (now - datetime.fromisoformat(at)).total_seconds()
    except (TypeError, ValueError):
        # A history that was edited by hand may contain invalid times.
        return str(at)
    for unit, length in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count:,} {unit}{'s' * (count > 1)} ago"
    return "just now"


def _time(time: str, now: datetime) -> str:
    return f'<time datetime="{escape(time)}" title="{escape(time)}">{escape(time_ago(time, now))}</time>'


def _state_now(last: dict[str, Any], now: datetime) -> str:
    """Return the current state with its time, the recorded settings and the advice, as HTML."""
    circumstances = ", ".join(f"{name} {text}" for name, text in sorted((last.get("about") or {}).items()))
    what = last["reason"] or last["advice"]
    todo = "Nothing needs to be done." if what == "Nothing." else f"What to do: {what}"
    title = _TITLES.get(last["state"], last["state"])
    kind = last["state"].split()[0] if last["state"] in STATES else ""
    return (
        f'<section class="state {kind}"><strong>{escape(title)}</strong>'
        f"<p>Last check {_time(last['at'], now)}{escape(f' ({circumstances})' if circumstances else '')}.</p>"
        f"<p>{escape(todo)}</p>{_evidence(last)}</section>"
    )


def _evidence(last: dict[str, Any]) -> str:
    """Return the accumulated evidence as a share of the alarm threshold, if the monitor uses that rule."""
    row = last["sequence"]
    if not row or not last.get("by_sequence"):
        return ""
    limit = number(row.get("threshold") or row["run_length"])
    share = number(row["shiryaev_roberts"]) / limit
    return (
        f"<p>The evidence of all checks is at {share:.0%} of the alarm threshold. An unchanged model raises an alarm "
        f"once in {number(row['run_length']):,.0f} checks on average.</p>"
    )


def _charts(checks: Sequence[dict[str, Any]], now: datetime) -> str:
    """Chart the drift over time for each measure of the last check."""
    figures = []
    for score, name in zip(checks[-1]["scores"], _names(checks[-1]), strict=True):
        points = [
            Check(
                time_ago(check["at"], now), number(result.get("value")), number(result.get("threshold")), check["state"]
            )
            for check in checks
            for result in check["scores"]
            if result["name"] == score["name"]
        ]
        role = "This measure raises the alarm. " if score["tier"] == "primary" else ""
        last = f"{role}Last drift {_short(points[-1].drift)}, threshold {_short(points[-1].threshold)}"
        figures.append(
            f'<div><h3>{escape(name)}</h3><p class="quiet">{last.strip()}</p>{history_chart(name, points)}</div>'
        )
    return f'<h2>Drift over time</h2><p class="quiet">{_CHARTS}</p><div class="charts">{"".join(figures)}</div>'


def _names(check: dict[str, Any]) -> list[str]:
    """Return the names of the measures, without options where the names alone are distinct."""
    names = [str(score["name"]) for score in check["scores"]]
    bases = [name.partition("(")[0] for name in names]
    return [base if bases.count(base) == 1 else name for name, base in zip(names, bases, strict=True)]


def _short(value: float) -> str:
    return f"{value:.2g}" if isfinite(value) else "no value"


def _largest_movements(last: dict[str, Any]) -> str:
    parts = []
    for title, movements in (("Rows that moved most", last.get("rows")), ("Classes", last.get("classes"))):
        moved = (movements or ())[:_MOVED]
        columns = {
            "name": [_cell(movement["name"], "name") for movement in moved],
            "label": [_cell(movement.get("label", "")) for movement in moved]
            if any(movement.get("label") for movement in moved)
            else [],
            "moved": [_cell(_short(number(movement["movement"])), "n") for movement in moved],
            "largest without a change": [_cell(_short(number(movement.get("floor"))), "n") for movement in moved],
        }
        shown = {head: cells for head, cells in columns.items() if cells}
        if moved:
            table = _table(shown, list(zip(*shown.values(), strict=True)))
            parts.append(f"<h2>{title} in the last check</h2>{table}")
    return "".join(parts)


def _last_checks(checks: Sequence[dict[str, Any]], now: datetime) -> str:
    measures = [score["name"] for score in checks[0]["scores"]]
    head = ["when", "state", *_names(checks[0]), "circumstances"]
    lines = []
    for check in checks:
        drifts = {score["name"]: number(score.get("value")) for score in check["scores"]}
        cells = [_cell(_short(drifts[name]) if name in drifts else "", "n") for name in measures]
        about = ", ".join(f"{name} {text}" for name, text in sorted((check.get("about") or {}).items()))
        lines.append(
            [f"<td>{_time(check['at'], now)}</td>", f"<td>{_state(check['state'])}</td>", *cells, _cell(about, "name")]
        )
    return f"<h2>Last checks</h2>{_table(head, lines)}"


def _last_updates(updates: Sequence[dict[str, Any]], now: datetime) -> str:
    lines = [
        [
            f"<td>{_time(update['at'], now)}</td>",
            f"<td>{_state(update['state'])}</td>",
            _cell(f"{update['n_seen']:,}", "n"),
            _cell(f"{number(update['log10_martingale']):.1f} of {number(update['log10_threshold']):.1f}", "n"),
        ]
        for update in updates
    ]
    head = ["when", "state", "new rows so far", "evidence of change and alarm threshold (powers of ten)"]
    return f"<h2>New inputs</h2>{_table(head, lines)}"


def _table(head: Collection[object], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(str(title))}</th>' for title in head)
    names = [f'<td data-head="{escape(str(title))}"' for title in head]
    lines = "".join(
        f"<tr>{''.join(cell.replace('<td', name, 1) for cell, name in zip(row, names, strict=True))}</tr>"
        for row in rows
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cell(text: object, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(str(text))}</td>'


def _state(state: str) -> str:
    kind = state.split()[0] if state in STATES else ""
    return f'<span class="{kind}">{escape(state)}</span>'
