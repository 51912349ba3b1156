"""A verdict of a drift monitor as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Explained, Item, Page, Part, Section, Table, Text
from shesha.results._shown import what_was_run

if TYPE_CHECKING:
    from shesha.results._monitor import DriftVerdict, Moved

_TIERS = {
    "primary": "raises the alarm",
    "confirm": "tells how deep a change goes",
    "early": "shows first signs",
    "local": "shows changes among neighbours",
}
_BARE = "The canary rows stand for the inputs that matter: a change elsewhere leaves them alone."


def verdict_page(verdict: DriftVerdict, said: str, rates: str, in_a_row: str) -> Page:
    """Return the page; the sentences are those that the text has."""
    doubts = tuple(Item(text) for text in (*verdict.notes, _BARE) if text)
    moved = {"Rows that moved most": verdict.rows, "Classes": verdict.classes}
    return Page(
        title=f"Drift: {verdict.state}",
        question="Is the model still the one that made the reference?",
        answer=tuple(filter(None, (f"{said} ({verdict.n_rows:,} rows).".capitalize(), verdict.reason, verdict.advice))),
        numbers=(_scores(verdict),),
        doubts=doubts,
        sections=(
            Section("How often it would alarm for nothing", tuple(Text(text) for text in (rates, in_a_row) if text)),
            *(Section(title, (_moved(title, rows),)) for title, rows in moved.items() if rows),
            Section("What the scores are for", tuple(_explained(verdict))),
        ),
        ran=(
            *sorted(verdict.about.items()),
            ("no change is", f"{verdict.n_nulls:,} {verdict.basis}"),
            ("tolerance", f"{verdict.tolerance:g}"),
            *what_was_run(verdict)[1:],
        ),
    )


def _scores(verdict: DriftVerdict) -> Table:
    found = verdict.scores
    columns = {
        "drift": tuple(_number(one.drift) for one in found),
        "threshold": tuple(_number(one.threshold) for one in found),
        "unchanged gives": tuple(_number(one.unchanged) for one in found),
        "at least": tuple(_number(one.low) for one in found),
        "p": tuple(_number(one.p_value) for one in found),
        "": tuple("beyond" if one.beyond else one.reason for one in found),
    }
    groups = tuple((Column(head, cells, ">" if head else "<"),) for head, cells in columns.items())
    return Table(tuple(one.measure for one in found), groups, "Scores", "measure")


def _moved(title: str, moved: tuple[Moved, ...]) -> Table:
    columns = (
        Column("label", tuple(one.label for one in moved), "<"),
        Column("moved", tuple(_number(one.movement) for one in moved)),
        Column("at most, unchanged", tuple(_number(one.floor) for one in moved)),
    )
    return Table(tuple(one.name for one in moved), (columns,), title, "name")


def _explained(verdict: DriftVerdict) -> list[Part]:
    where = "monitoring.md#what-a-verdict-says"
    told = [(one.measure, _TIERS.get(one.tier, one.tier)) for one in verdict.scores]
    return [Explained(measure, f"0 is the same geometry; {does}.", where) for measure, does in told]


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3g}"
