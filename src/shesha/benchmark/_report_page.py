"""A run as a page: ranks first, then every table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shesha.benchmark._results import accuracies, opened, results, runtimes
from shesha.benchmark._status import failures, status
from shesha.benchmark.beside import ranks_beside
from shesha.benchmark.ranks import rank
from shesha.benchmark.suites import Suite
from shesha.benchmark.tables import table
from shesha.benchmark.tests import known
from shesha.report import Item, Lines, Page, Part, Section, Text
from shesha.results._shown import as_table, what_was_run

if TYPE_CHECKING:
    import pandas as pd

    from shesha.benchmark.store import Store

_FEW = (
    "A rank rests on the tests, data sets and networks that were run, and on few models of each: intervals of ranks "
    "are wide. A measure that leads here need not lead on other data."
)


def report_page(
    store: str | Path | Store, *, title: str = "Benchmark results", of: Suite | None = None,
    about: Mapping[str, str] | None = None,
) -> Page:  # fmt: skip
    """Return what a store holds as the sections of a page.

    Parameters
    ----------
    store : path or Store
        What `run` wrote.
    title : str
        The heading.
    of : Suite, optional
        The suite that was run, where it is one of your own.
    about : mapping of str to str, optional
        What else to tell of what was run.
    """
    with opened(store) as found:
        scores, told = results(found, of), found.about()
        far, without = status(found, of), failures(found)
        models, seconds = accuracies(found), runtimes(found).reset_index()
    ranks = None if scores.empty else rank(scores)
    return Page(
        title=title,
        question="Which measure of similarity does best where the answer is known?",
        answer=(_answer(ranks),),
        numbers=() if ranks is None else (as_table(_measure_first(ranks), "Mean ranks, 1 is best"),),
        doubts=(Text(_FEW), *_missing(scores)),
        sections=(
            *_tests(scores),
            *_beside(scores),
            Section("Models", (as_table(models, "Models"),)),
            Section("Seconds per comparison", (as_table(seconds, "Seconds per comparison"),)),
            Section("How far", (as_table(far, "How far"),)),
            *((Section("Without a value", (Lines(tuple(without.split("\n"))),)),) if without else ()),
        ),
        ran=(*(about or {}).items(), *((name, str(value)) for name, value in told.items()), *what_was_run(found)[1:]),
    )


def _answer(ranks: pd.DataFrame | None) -> str:
    if ranks is None:
        return "No test is complete yet."
    overall = ranks.groupby("measure")["mean"].mean().sort_values()
    best = ", ".join(f"{name} ({value:.2f})" for name, value in overall.head(3).items())
    chance = (len(overall) + 1) / 2
    return (
        f"Best mean ranks over the domains: {best}, of {len(overall)} measures; by chance each would have {chance:g}."
    )


def _measure_first(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["measure", *(name for name in frame.columns if name != "measure")]]


def _missing(scores: pd.DataFrame) -> tuple[Part, ...]:
    rows = set() if scores.empty else set(scores["test"])
    lacking = [test.title for test in known() if not rows & set(test.rows)]
    return tuple(Item(f"Not run or not complete: {title}") for title in lacking)


def _tests(scores: pd.DataFrame) -> list[Section]:
    there = set() if scores.empty else set(scores["test"])
    found = []
    for test in known():
        for name in there & set(test.rows):
            wide = table(scores, name).round(2)
            wide.columns = [" ".join(map(str, one)) for one in wide.columns.to_flat_index()]
            frame = wide.reset_index()
            title = test.title if len(test.rows) == 1 else f"{test.title}: {name}"
            found.append(Section(title, (as_table(_measure_first(frame), title),), test.claim))
    return found


def _beside(scores: pd.DataFrame) -> list[Section]:
    if scores.empty or (ranks := ranks_beside(scores)).empty:
        return []
    return [Section("Ranks beside the published ones", (as_table(_measure_first(ranks), "Ranks"),))]
