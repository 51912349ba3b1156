"""The page of a study as a single HTML file that includes its pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shesha import report
from shesha.results.generic_page import as_table
from shesha_studies.framework.checks import SAID, VERDICTS, Check, as_table as checks_table
from shesha_studies.framework.page import UNANSWERED, Page, Picture
from shesha_studies.framework.page_from_rows import build_page
from shesha_studies.framework.run_description import describe_run
from shesha_studies.framework.run_files import ROWS
from shesha_studies.framework.run_results import StudyRun

if TYPE_CHECKING:
    import pandas as pd

_FIRST = 3
"""Number of notes on the first screen of the page."""
_CHECKS = (
    '"Agrees" means within the joint 95 % uncertainty, or equal up to rounding. "Does not hold" means that the '
    "claim is not repeated or fails its control, even if its numbers agree. The last column explains numbers that "
    "differ."
)


def study_page(run: StudyRun, about: Mapping[str, str]) -> report.Page:
    """Return the page of a study: its answer, first picture and main limits, then all details.

    Parameters
    ----------
    run : StudyRun
        The run, with at least one row.
    about : mapping of str to str
        Further information about the run.
    """

    study = run.study
    page, _ = build_page(study, run.rows)
    pictures = [_picture_part(picture) for picture in page.pictures]
    tables = [report.Section(title, (as_table(frame, title),)) for title, frame in page.tables]
    return report.Page(
        title=study.question,
        question=f"{_question_source(study.paper)} (study {study.name})",
        answer=tuple(filter(None, (page.answer or UNANSWERED, _verdict_sentence(page.checks)))),
        numbers=tuple(pictures[:1]) or tuple(part for section in tables[:1] for part in section.parts),
        doubts=(*_notes(page.notes[:_FIRST]), *_incomplete(run)),
        sections=(
            *([report.Section("More to know", _notes(page.notes[_FIRST:]))] if page.notes[_FIRST:] else []),
            *_checks(page),
            *([report.Section("Pictures", tuple(pictures[1:]))] if pictures[1:] else []),
            *(tables if pictures else tables[1:]),
        ),
        ran=(*about.items(), *_ran(run)),
    )


def _question_source(paper: str) -> str:
    """Return text that names the source of the question."""
    first, _, others = paper.partition(";")
    if first != "new":
        return f"Repeated from {paper}"
    return f"An experiment of our own; related to{others}" if others else "An experiment of our own"


def _verdict_sentence(checks: Sequence[Check]) -> str:
    """Summarise the verdicts on published numbers in one sentence."""
    if not checks:
        return ""
    counts = Counter(check.verdict for check in checks)
    phrases = [f"{counts[name]} {SAID[name][counts[name] > 1]}" for name in VERDICTS if counts[name]]
    if len(checks) == 1:
        return f"The only published number or claim {SAID[checks[0].verdict][0]}."
    return f"Of {len(checks)} published numbers and claims, {', '.join(phrases)}."


def _incomplete(run: StudyRun) -> tuple[report.Part, ...]:
    if run.complete:
        return ()
    grid = "quick" if run.quick else "full"
    cells = f"{len(run.rows)} of the {run.n_cells} cells of the {grid} grid"
    return (report.Item(f"This page uses {cells}, so its numbers may change."),)


def _checks(page: Page) -> list[report.Section]:
    if not page.checks:
        return []
    # Checks that could not be computed come last, because they make up most of some tables.
    checks = sorted(page.checks, key=lambda check: VERDICTS.index(check.verdict))
    title, frame = "Comparison with published numbers", _omit_empty_reasons(checks_table(checks))
    first = ["what", "published", "ours", "verdict", "where"]
    ordered = frame[[name for name in (*first, "why") if name in frame]]
    return [report.Section(title, (as_table(ordered, title),), _CHECKS)]


def _omit_empty_reasons(frame: pd.DataFrame) -> pd.DataFrame:
    """Omit the column of reasons if there are none."""
    return frame if frame["why"].any() else frame.drop(columns="why")


def _notes(notes: Sequence[str]) -> tuple[report.Part, ...]:
    return tuple(report.Item(note, marked=True) for note in notes)


def _ran(run: StudyRun) -> list[tuple[str, str]]:
    names = ("study", *("cells without a number",) * (bool(run.failures) + bool(run.unreachable)), "versions")
    return list(zip(names, describe_run(run, ROWS), strict=True))


def _picture_part(picture: Picture) -> report.Drawing:
    axes: Any = picture.figure.axes[0]
    return report.Drawing(picture.shows, lambda: axes)
