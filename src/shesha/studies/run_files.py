"""Write the files of a run: rows, checks, pictures, page, summary."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from shesha._version import __version__
from shesha.studies.checks import OWN_NUMBERS, STAND_IN, UNREACHABLE, Check, as_table, set_basis_by_words
from shesha.studies.claims import decide
from shesha.studies.facts import Fact, Facts
from shesha.studies.facts import as_table as facts_table
from shesha.studies.page import Page, save_page
from shesha.studies.study_definition import Study
from shesha.studies.study_rules import lesser_claims, read_published, set_headings, study_answer
from shesha.support.atomic_files import write_text
from shesha.support.plurals import count

if TYPE_CHECKING:
    import pandas as pd

SUMMARY, CHECKS, ROWS, FACTS = "summary.json", "checks.csv", "rows.csv", "facts.csv"
PAGE, FAILED_PAGE, FAILED_ROWS = "page.md", "page_not_made.md", "rows_without_page.csv"
"""The last two are written next to an earlier page, whose files are kept unchanged."""


@dataclass(frozen=True)
class StudyRun:
    """The results of the cells of a study."""

    study: Study
    rows: pd.DataFrame
    """One line per finished cell, in the order of the grid."""
    failures: dict[str, str]
    """Cells that raised an error, by their parameters, with the reason."""
    unreachable: dict[str, str]
    """Cells with missing data or weights."""
    n_cells: int
    quick: bool
    seconds: tuple[float, ...] = ()
    """Seconds of each row."""
    days: tuple[str, ...] = ()
    """Days on which rows were computed."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Numbers of rows by machine and versions, if recorded."""

    @property
    def complete(self) -> bool:
        """Whether every cell has a row."""
        return len(self.rows) == self.n_cells


def write(run: StudyRun, folder: Path) -> Path:
    """Write the rows, and the page if there are any; return the path of the page.

    Where no page can be made, an earlier one keeps its files, rows included. The new rows and the reason then have
    files of their own.
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
        # Pages are made for whole grids; what a part lacks must not cost the rows, nor the studies after this one.
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
    write_text(place / CHECKS, as_table(page.checks).to_csv(index=False, float_format="%.6g"))
    summary = {
        "name": study.name,
        "version": study.version,
        "paper": study.paper,
        "question": study.question,
        "answer": page.answer,
        "stand_ins": study.stand_ins,
        "grid": "quick" if run.quick else "full",
        "cells": run.n_cells,
        "rows": len(run.rows),
        "unreachable": len(run.unreachable),
        "seconds": round(sum(run.seconds), 1),
        "days": list(dict.fromkeys((run.days[0], run.days[-1]))) if run.days else [],
        "places": dict(run.places),
    }
    write_text(place / SUMMARY, json.dumps(summary, indent=1) + "\n")
    return save_page(page, place, f"{study.name} ({study.paper})", study.question, "\n\n".join(_describe_run(run)))


def _write_rows(run: StudyRun, place: Path) -> None:
    # Six digits are more than any draw is good for, and a quarter of the size.
    write_text(place, run.rows.to_csv(index=False, float_format="%.6g"))


def _error_location(error: Exception) -> str:
    """Name an error, and the line that raised it."""
    last = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def build_page(study: Study, rows: pd.DataFrame) -> tuple[Page, Facts]:
    """Return the page of a study with the engine's verdicts, answer and headings, and the facts that decide them."""
    page, facts = study.pages[0](rows, read_published(study)), study_facts(study, rows)
    checks = checks_of_page(study, page.checks, facts)
    tables, answer = set_headings(study, page.tables), study_answer(study, facts) or page.answer
    return replace(page, tables=tables, checks=checks, answer=answer), facts


def study_facts(study: Study, rows: pd.DataFrame) -> Facts:
    """Return the facts of a study's rows by name, if it has any."""
    facts: dict[str, Fact] = {}
    for make in study.fact_makers:
        facts |= make(rows, read_published(study))
    return facts


def checks_of_page(study: Study, checks: Sequence[Check], facts: Facts) -> tuple[Check, ...]:
    """Say what each check rests on, with the engine's verdicts where claims are data."""
    return set_basis(study, decide(study.name, tuple(checks), facts, lesser_claims(study)))


def set_basis(study: Study, checks: Sequence[Check]) -> tuple[Check, ...]:
    """Set the basis of each check, as the study declares it."""
    basis_checks = [
        check if check.verdict == UNREACHABLE else set_basis_by_words([check], OWN_NUMBERS, study.own_numbers)[0]
        for check in checks
    ]
    words = ("",) if study.stand_ins else ("stand-in",)
    return set_basis_by_words(set_basis_by_words(basis_checks, STAND_IN, words, but=study.repeated), study.on)


def has_page(study: Study, folder: Path) -> bool:
    """Return whether the page in a folder was made from the latest rows, not just from a list of missing data."""
    return (folder / study.name / SUMMARY).exists() and page_path(study, folder).name == PAGE


def page_path(study: Study, folder: Path) -> Path:
    """Return the path of the latest page in a folder, which says why if it could not be made."""
    failed = folder / study.name / FAILED_PAGE
    return failed if failed.exists() else folder / study.name / PAGE


def _write_failure_page(run: StudyRun, place: Path, why: str) -> Path:
    """Write the rows and a page about the run if no full page can be made, beside an earlier one if there is one."""
    earlier = (place / SUMMARY).exists()
    page, rows = (FAILED_PAGE, FAILED_ROWS) if earlier else (PAGE, ROWS)
    kept = "The other files in this folder come from an earlier run." if earlier else ""
    if len(run.rows) or not (place / rows).exists():
        _write_rows(run, place / rows)
    parts = [f"# {run.study.name}", run.study.question, why, kept, *_describe_run(run, rows)]
    place = place / page
    write_text(place, "\n\n".join(filter(None, parts)) + "\n")
    return place


def _describe_run(run: StudyRun, rows: str = ROWS) -> Iterator[str]:
    """Describe what was run, and what was not."""
    study, grid = run.study, "quick" if run.quick else "full"
    if study.stand_ins:
        yield f"Stand-ins: {study.stand_ins}."
    flag = " --quick" if run.quick else ""
    yield (
        f"`shesha study run {study.name}{flag}`: {len(run.rows)} of the {run.n_cells} cells of the {grid} grid "
        f"(version {study.version} of the study), {_duration(sum(run.seconds))} of computing time on one worker, "
        f"{' to '.join(dict.fromkeys((run.days[0], run.days[-1]))) if run.days else 'not run'}. Rows: `{rows}`."
    )
    for what, cells in (("raised an error", run.failures), ("could not be reached", run.unreachable)):
        if cells:
            reasons = sorted(set(cells.values()))
            yield f"{count(len(cells), 'cell')} {what}: " + "; ".join(reasons[:5]) + "."
    here = place()
    yield f"This page: shesha {__version__}, {here}."
    for other, n in sorted(run.places.items()):
        if other != here:
            yield f"{n} of the rows: {other}."


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def place() -> str:
    """Describe this machine: versions, processor and number of cores."""
    python = ".".join(map(str, sys.version_info[:3]))
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "pandas"))
    return f"Python {python}, {libraries}; {_machine()}"


def _machine() -> str:
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        models = [line.partition(":")[2].strip() for line in facts.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"
