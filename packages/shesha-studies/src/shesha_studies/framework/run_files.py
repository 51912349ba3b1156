"""Writing the files of a run: rows, checks, pictures, page and summary."""

from __future__ import annotations

import json
from pathlib import Path
from traceback import extract_tb
from typing import Any

from shesha.support.files import write_text
from shesha_studies.framework.checks import as_table
from shesha_studies.framework.fact_tables import facts_table
from shesha_studies.framework.page import save_page
from shesha_studies.framework.page_from_rows import build_page
from shesha_studies.framework.run_description import describe_run
from shesha_studies.framework.run_results import StudyRun
from shesha_studies.framework.study_decorator import Study
from shesha_studies.framework.study_lookup import data_folder

SUMMARY, CHECKS, ROWS, FACTS = "summary.json", "checks.csv", "rows.csv", "facts.csv"
PAGE, FAILED_PAGE, FAILED_ROWS = "page.md", "page_not_made.md", "rows_without_page.csv"
"""`FAILED_PAGE` and `FAILED_ROWS` are written next to an earlier page, whose files are not changed."""


def write(run: StudyRun, folder: Path) -> Path:
    """Write the rows and, if there are any, the page; return the path of the page.

    If the page cannot be made, the files of an earlier page are kept, including its rows. The new rows and the reason
    are then written to separate files.
    """
    study, place = run.study, folder / run.study.name
    place.mkdir(parents=True, exist_ok=True)
    if not len(run.rows):
        return _write_failure_page(run, place, "This run has no rows.")
    if not study.pages:
        return _write_failure_page(run, place, f"The study marks no function with `@{study.cell.__name__}.page`.")
    try:
        page, found_facts = build_page(study, run.rows)
    except Exception as error:
        # Pages may assume complete grids. An error due to an incomplete grid must not lose its rows or stop later
        # studies.
        need = "" if run.complete else " It may need more cells than this run has."
        _write_failure_page(run, place, f"The page could not be made: {_error_location(error)}.{need}")
        if run.complete:
            raise ValueError(
                f"the page of {study.name} must be made of its rows, got {_error_location(error)} (rows are kept)"
            ) from error
        return page_path(study, folder)
    _write_rows(run, place / ROWS)
    for name in (FAILED_PAGE, FAILED_ROWS):
        (place / name).unlink(missing_ok=True)
    if found_facts:
        write_text(place / FACTS, facts_table(found_facts).to_csv(index=False, float_format="%.6g"))
    write_text(place / CHECKS, as_table(page.checks).map(_six_digits).to_csv(index=False))
    write_text(place / SUMMARY, json.dumps(_summary(run, page.answer), indent=1) + "\n")
    if data_folder(study) is not None and not (page.tables or page.pictures):
        # The claims of such a study are on the page of their paper.
        (place / PAGE).unlink(missing_ok=True)
        return place / CHECKS
    return save_page(page, place, f"{study.name} ({study.paper})", study.question, "\n\n".join(describe_run(run, ROWS)))


def _summary(run: StudyRun, answer: str) -> dict[str, Any]:
    """Return those values of a run that the index of all studies shows."""
    study = run.study
    return {
        "name": study.name,
        "version": study.version,
        "paper": study.paper,
        "question": study.question,
        "answer": answer,
        "stand_ins": study.stand_ins,
        "grid": "quick" if run.quick else "full",
        "cells": run.n_cells,
        "rows": len(run.rows),
        "unreachable": len(run.unreachable),
        "seconds": round(sum(run.seconds), 1),
        "days": list(dict.fromkeys((run.days[0], run.days[-1]))) if run.days else [],
        "places": dict(run.places),
    }


def _six_digits(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _write_rows(run: StudyRun, place: Path) -> None:
    # Six digits exceed the precision of any draw, and make the file a quarter as large as all digits would.
    write_text(place, run.rows.to_csv(index=False, float_format="%.6g"))


def _error_location(error: Exception) -> str:
    """Return text that names an error and the line that raised it."""
    last = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def has_page(study: Study, folder: Path) -> bool:
    """Return whether the page in a folder was made from the latest rows."""
    return (folder / study.name / SUMMARY).exists() and page_path(study, folder).name == PAGE


def page_path(study: Study, folder: Path) -> Path:
    """Return the path of the latest page, of the file that explains why there is none, or of the checks."""
    files = [folder / study.name / name for name in (FAILED_PAGE, PAGE, CHECKS)]
    return next((file for file in files if file.exists()), files[1])


def _write_failure_page(run: StudyRun, place: Path, why: str) -> Path:
    """Write the rows and a page about the run if the real page cannot be made; keep an earlier page."""
    earlier = (place / SUMMARY).exists()
    page, rows = (FAILED_PAGE, FAILED_ROWS) if earlier else (PAGE, ROWS)
    kept = "The other files in this folder come from an earlier run." if earlier else ""
    if len(run.rows) or not (place / rows).exists():
        _write_rows(run, place / rows)
    parts = [f"# {run.study.name}", run.study.question, why, kept, *describe_run(run, rows)]
    place = place / page
    write_text(place, "\n\n".join(filter(None, parts)) + "\n")
    return place
