"""The page of a study as one file, with its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shesha import report
from shesha.results._shown import as_table
from shesha.studies._checks import as_table as checks_table
from shesha.studies._page import Page, Picture
from shesha.studies._writing import PUBLISHED, StudyRun, _said


def study_page(found: StudyRun, about: Mapping[str, str]) -> report.Page:
    """Return the sections of a study: its answer, its first table, its notes to doubt by, then everything.

    Parameters
    ----------
    found : StudyRun
        With at least one row.
    about : mapping of str to str
        What else to tell of what was run.
    """
    import pandas as pd

    study = found.study
    published = None if study.published is None else pd.read_csv(PUBLISHED / study.published, comment="#")
    page = study.pages[0](found.rows, published)
    tables = [report.Section(title, (as_table(frame, title),)) for title, frame in page.tables]
    if page.checks:
        title = "Beside the published numbers"
        tables.append(report.Section(title, (as_table(checks_table(page.checks), title),)))
    pictures = [_drawn(one) for one in page.pictures]
    return report.Page(
        title=f"{study.name} ({study.paper})",
        question=study.question,
        answer=(page.answer,),
        numbers=tuple(pictures[:1]),
        doubts=_notes(page),
        sections=(*([report.Section("Pictures", tuple(pictures[1:]))] if pictures[1:] else []), *tables),
        ran=(*about.items(), *((f"run {place}", text) for place, text in enumerate(_said(found), 1))),
    )


def _notes(page: Page) -> tuple[report.Part, ...]:
    return tuple(report.Item(note) for note in page.notes)


def _drawn(picture: Picture) -> report.Drawing:
    axes: Any = picture.figure.axes[0]
    return report.Drawing(picture.shows, lambda: axes)
