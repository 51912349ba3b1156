"""An audit on one screen: the verdict, one table, the largest problem, and where to read more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shesha.report import Column, Lines, Part, Point, Section, Table, Text, as_text, texts
from shesha.results.audit.doubts_section import doubts
from shesha.results.audit.headline import headline
from shesha.results.audit.sections import data
from shesha.results.audit.tables import find_estimate, interval
from shesha.results.audit.verdict import verdict

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit
    from shesha.results.stability.chance import Chance

SCREEN = 30
"""Most lines that `print` shows, each up to 80 characters long."""
_FEWEST = 3
"""Fewest representations that the table shows."""
_FAULTS = 3
_SCALE = (
    "Do random halves of the features have the same geometry? Reference values: unrelated features 0, an untrained "
    "digits network 0.60 to 0.76, MiniLM 0.64 to 0.80."
)
_AGREEMENT = "Alignment: are rows with the same label closer to each other than to other rows?"
_REST = Section("More", (Text("`full_text()` prints every number; `save_html('audit.html')` saves a page."),))


def first_screen(audit: Audit, words: Callable[[str], str] = str, more: Section = _REST) -> list[Section]:
    """Return the parts of a report that fits on one screen.

    Parameters
    ----------
    audit : Audit
        The audit to report.
    words : callable
        Function that rewords reasons for the caller, for example with the option names of the command line.
    more : Section
        The last section, which says what to do next and where to find the remaining numbers.
    """
    scored = [finding for finding in audit.representations if not finding.reason]
    for brief in (False, True):
        rest = [_first_faults(audit, words), _first_doubt(audit, words, brief=brief), more]
        parts = [headline(audit, brief=True), *(section for section in rest if section is not None)]
        if not scored:
            break
        used = as_text([*parts, _table(audit, scored[:1], len(scored), brief=brief)], 80).count("\n")
        room = SCREEN - used
        if room >= min(_FEWEST, len(scored)):
            break
    if scored:
        room = max(_FEWEST, room)
        shown = scored if len(scored) <= room else _sample(audit, scored, room - 1)
        parts.insert(1, _table(audit, shown, len(scored), brief=brief))
    if audit.interrupted:
        parts.append(Section("Interrupted: the other representations were not audited."))
    return parts


def _table(audit: Audit, shown: Sequence[RepresentationAudit], several: int, *, brief: bool) -> Section:
    """Show the leading score with its chance level and a verdict in words."""
    stability = any(finding.feature_split is not None for finding in shown)
    title, name = ("Stability", "feature_split") if stability else ("Agreement", "supervised_alignment")
    chances = [finding.chances.get(name) or finding.supervised_chances.get(name) for finding in shown]
    columns = (
        Column(_HEADS[title], tuple(interval(find_estimate(finding, name), 2) for finding in shown), "<"),
        Column("chance up to", tuple(_threshold(chance) for chance in chances)),
        Column("p", tuple("" if chance is None else f"{chance.p_value:.2g}" for chance in chances)),
        Column("verdict", tuple(_verdict(finding, title) for finding in shown), "<"),
    )
    parts: list[Part] = [Table(tuple(finding.name for finding in shown), (columns,), title, "representation")]
    if 1 < len(shown) < several:
        parts.append(
            Text(f"{len(shown)} of {several} representations are shown, including the most and the least stable.")
        )
    parts.append(Text(f"{_brackets(audit, shown, name)}{_SCALE if title == 'Stability' else _AGREEMENT}"))
    return Section(title, (*parts, *texts(["" if brief else _farthest(audit)])))


_HEADS = {"Stability": "feature split", "Agreement": "alignment with labels"}


def _brackets(audit: Audit, shown: Sequence[RepresentationAudit], name: str) -> str:
    estimates = [estimate for estimate in (find_estimate(each, name) for each in shown) if estimate is not None]
    known = any(estimate.low == estimate.low for estimate in estimates)
    return f"Brackets: {100 * audit.options.get('confidence', 0.95):g}% intervals. " if known else ""


def _farthest(audit: Audit) -> str:
    """Name the representation that has drifted farthest from the first."""
    known = {} if audit.drift is None else dict(zip(audit.drift.names, audit.drift.from_first, strict=True))
    known = {name: value for name, value in known.items() if value == value}
    if len(known) < 2 or audit.drift is None:
        return ""
    name = max(known, key=lambda candidate: known[candidate])
    return (
        f"Largest drift from {audit.drift.names[0]}: {known[name]:.2f} ({name}). 0 means the same geometry, and 1 an "
        "unrelated one."
    )


def _threshold(chance: Chance | None) -> str:
    return "" if chance is None or chance.threshold != chance.threshold else f"{chance.threshold:.2f}"


def _verdict(finding: RepresentationAudit, title: str) -> str:
    if title == "Stability":
        return verdict(finding)
    chance = finding.supervised_chances.get("supervised_alignment")
    return "" if chance is None else "above chance" if chance.significant else "not above chance"


def _sample(audit: Audit, scored: Sequence[RepresentationAudit], room: int) -> list[RepresentationAudit]:
    """Choose evenly spaced representations in order, always including the most and the least stable."""
    ends = {*audit.ranking[:1], *audit.ranking[-1:]}
    places = {round(step * (len(scored) - 1) / max(1, room - 3)) for step in range(room - 2)}
    return [finding for place, finding in enumerate(scored) if place in places or finding.name in ends]


def _first_faults(audit: Audit, words: Callable[[str], str]) -> Section | None:
    """The first few faults in the data."""
    section = data(audit, words)
    if section is None or len(section.parts) <= _FAULTS:
        return section
    more = Text(f"The full report lists {len(section.parts) - _FAULTS} more faults.")
    return Section(section.title, (*section.parts[:_FAULTS], more))


def _first_doubt(audit: Audit, words: Callable[[str], str], *, brief: bool) -> Section | None:
    """Describe the problem with the largest effect (if brief, only its remedy), and name the others."""
    section = doubts(audit, words)
    if section is None:
        return None
    points = [part for part in section.parts if isinstance(part, Point)]
    first = points[0]
    shown = Text(f"{first.name} ({first.evidence}): {first.advice}") if brief else first
    others = ", ".join(point.name for point in points[1:])
    return Section(section.title, (shown, *texts([f"Other problems: {others}." if others else ""])))


def next_steps(commands: Sequence[tuple[str, str]]) -> Section:
    """Return a section of next steps: commands, each with the question that it answers."""
    return Section("Next", (Lines(tuple(line for answer, command in commands for line in (answer, f"  {command}"))),))
