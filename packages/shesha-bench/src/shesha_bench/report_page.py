"""Present a run as a page: ranks first, then every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shesha.report import Explained, Item, Lines, Page, Section, Text
from shesha.results.generic_page import as_table, run_details
from shesha_bench._report_tables import ReportTables, read_report_tables
from shesha_bench.measure_ranks import ranks_for_display
from shesha_bench.suites import Suite

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.store import Store

_FEW = (
    "Ranks depend on the tests, data sets and networks that were run. There are few models of each, so "
    "intervals of ranks are wide. A measure that ranks first here may not rank first on other data."
)


_HEADS = {
    "mean": "mean rank",
    "median": "median rank",
    "n": "ranked in",
    "missing": "without a score",
}
_SCORES = (
    Explained("rank", "Position among the measures in one test on one data set and network; 1 is best. Each test "
    "contributes one score: AUPRC for tests by groups, Spearman for correlations, conformity for layers.",
    "benchmark.md"),
    Explained("spearman", "Rank correlation, over pairs of models, between the distance by the measure and the "
    "difference that the test defines; 1 is best, 0 is chance.", "benchmark.md"),
    Explained("auprc", "Area under the precision-recall curve for finding pairs of models of the same group; 1 is "
    "best. Chance is the share of such pairs.", "benchmark.md"),
    Explained("conformity", "Share of cases in which the measure finds the closer of two pairs; 1 is best, 0.5 "
    "is chance.", "benchmark.md"),
)  # fmt: skip


def report_page(
    store: str | Path | Store, *, title: str = "Benchmark results", of: Suite | None = None,
    about: Mapping[str, str] | None = None,
) -> Page:  # fmt: skip
    """Return the contents of a store as a page.

    Parameters
    ----------
    store : path or Store
        The store of a run.
    title : str
        Heading of the page.
    of : Suite, optional
        The suite of the run, which is needed only if it is your own.
    about : mapping of str to str, optional
        Additional details of the run that the page lists by name.
    """
    run_data = read_report_tables(store, of)
    return Page(
        title=title,
        question="Which similarity measure performs best in tests with known answers?",
        answer=(_answer(run_data.ranks),),
        numbers=()
        if run_data.ranks is None
        else (
            as_table(_measure_first(ranks_for_display(run_data.ranks)).rename(columns=_HEADS), "Mean ranks, 1 is best"),
        ),
        doubts=(Text(_FEW), *_missing_tests(run_data)),
        sections=(
            *_tests(run_data),
            Section("What the scores mean", _SCORES),
            *_published_sections(run_data.published_ranks),
            Section("Models", (as_table(run_data.models, "Models"),)),
            Section("Seconds per comparison", (as_table(run_data.runtimes, "Seconds per comparison"),)),
            Section("Progress", (as_table(run_data.far, "Progress"),)),
            *((Section("Without a value", (Lines(tuple(run_data.without.split("\n"))),)),) if run_data.without else ()),
        ),
        ran=(
            *(about or {}).items(),
            *((name, str(value)) for name, value in run_data.about.items()),
            *run_details(run_data)[1:],
        ),
    )


def _answer(ranks: pd.DataFrame | None) -> str:
    if ranks is None:
        return "No test is complete yet."
    overall = ranks.groupby("measure")["mean"].mean().sort_values()
    if len(overall) == 1:
        return (
            f"Only {overall.index[0]} was run, and a single measure has no rank. Run other measures on the same models."
        )
    if "source" in ranks and (ids := ranks[ranks["source"] == "own"]["measure"].unique()).size < len(overall) / 2:
        places = overall.rank(method="min").astype(int)[ids]
        text = ", ".join(f"{name} ranks {place} of {len(overall)}" for name, place in places.items())
        return (
            f"By mean rank over the domains, {text}. The other {len(overall) - len(ids)} scores are the published ones."
        )
    best = ", ".join(f"{name} ({value:.2f})" for name, value in overall.head(3).items())
    chance = (len(overall) + 1) / 2
    return (
        f"The best mean ranks over the domains are those of {best}, among {len(overall)} measures. By chance, each "
        f"measure would have mean rank {chance:g}."
    )


def _measure_first(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["measure", *(name for name in frame.columns if name != "measure")]]


def _missing_tests(results: ReportTables) -> Iterator[Item]:
    if results.missing_tests:
        yield Item(f"Tests not run or not complete: {', '.join(test.title for test in results.missing_tests)}")


def _tests(results: ReportTables) -> Iterator[Section]:
    for test, name, title in results.tests():
        wide = results.table(name).round(2)
        wide.columns = [" ".join(map(str, labels)) for labels in wide.columns.to_flat_index()]
        yield Section(title, (as_table(_measure_first(wide.reset_index()), title),), test.claim)


def _published_sections(ranks: pd.DataFrame) -> list[Section]:
    if ranks.empty:
        return []
    return [
        Section(
            "Ranks compared with the published ones",
            (as_table(_measure_first(ranks), "Ranks"),),
            "The measures that were run here are ranked by their scores and by the published scores.",
        )
    ]
