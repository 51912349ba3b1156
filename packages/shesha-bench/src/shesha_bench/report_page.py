"""The report of a run, as Markdown and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shesha.report import Explained, Item, Lines, Page, Section, Text, markdown_table
from shesha.results.generic_page import as_table, run_details
from shesha_bench.ranks import (
    agreement,
    compare_ranks,
    published,
    rank_with_published,
    ranks_for_display,
    stars,
    table,
    to_markdown,
)
from shesha_bench.run_suite import describe_missing_rows, failures, status
from shesha_bench.store import Store
from shesha_bench.stored_results import accuracies, open_store, results, runtimes
from shesha_bench.suites import Suite
from shesha_bench.tests import BenchmarkTest, all_tests

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ReportTables:
    """The tables of a run, independent of the store from which they were read."""

    about: Mapping[str, object]
    """Versions of the libraries, and name of the suite."""
    scores: pd.DataFrame
    models: pd.DataFrame
    """Test accuracy of each model."""
    runtimes: pd.DataFrame
    far: pd.DataFrame
    """Numbers of finished and missing comparisons, by test."""
    without: str
    """A description of comparisons without a value; empty if there are none."""
    shortened: str
    """A description of comparisons that leave out rows; empty if there are none."""

    @cached_property
    def ranks(self) -> pd.DataFrame | None:
        """Ranks of the measures, including published ones that were not run; None until a test is complete."""
        return None if self.scores.empty else rank_with_published(self.scores)

    @cached_property
    def published_ranks(self) -> pd.DataFrame:
        """Ranks compared with the published ones; empty if no measure is in both."""
        return self.scores.head(0) if self.scores.empty else compare_ranks(self.scores)

    @property
    def missing_tests(self) -> list[BenchmarkTest]:
        """Tests that have no result."""
        there = self._there
        return [test for test in all_tests() if not there & set(test.rows)]

    def tests(self) -> Iterator[tuple[BenchmarkTest, str, str]]:
        """Yield each test that was run, with the name and the title of each of its results."""
        for test in all_tests():
            for name in test.rows:
                if name in self._there:
                    yield test, name, test.title if len(test.rows) == 1 else f"{test.title}: {name}"

    def table(self, name: str) -> pd.DataFrame:
        """Return the scores of one result, in the layout of the paper."""
        return table(self.scores, name)

    @cached_property
    def _there(self) -> set[str]:
        return set() if self.scores.empty else set(self.scores["test"])


def read_report_tables(store: str | Path | Store, of: Suite | None = None) -> ReportTables:
    """Read all tables from a store; `of` is the suite that was run, if it is your own."""
    with open_store(store) as opened_store:
        return ReportTables(
            about=opened_store.about(),
            scores=results(opened_store, of),
            models=accuracies(opened_store),
            runtimes=runtimes(opened_store).reset_index(),
            far=status(opened_store, of),
            without=failures(opened_store),
            shortened=describe_missing_rows(opened_store),
        )


_FEWER_ROWS = (
    "A zero row has no cosine with other rows, and a constant row has no correlation. Measures that need these "
    "values compare two models by the rows that have a direction in both. The list gives the number of "
    "comparisons that leave out rows, and the largest number of rows left out:"
)


def report(store: str | Path | Store, *, title: str = "Benchmark results", of: Suite | None = None) -> str:
    """Return the contents of a store as a page of Markdown.

    Parameters
    ----------
    store : path or Store
        The store of a run.
    title : str
        Heading of the page.
    of : Suite, optional
        The suite of the run, which is needed only if it is your own.
    """
    run_data = read_report_tables(store, of)
    about = run_data.about
    parts = [f"# {title}\n\nMade by `shesha bench report` (shesha {about.get('shesha')}, suite {about.get('suite')})."]
    parts.append("## Models\n\n" + _models(run_data.models))
    parts.extend(_agreement(run_data))
    if run_data.ranks is not None:
        parts.append("## Ranks\n\n" + _ranks(run_data.ranks))
    parts.extend(_tables(run_data))
    parts.append(
        "## Seconds per comparison\n\n"
        "Times include the preparation of each representation, divided among its pairs.\n\n"
        + _plain(run_data.runtimes, 4)
    )
    if run_data.shortened:
        parts.append(f"## On fewer rows\n\n{_FEWER_ROWS}\n\n{run_data.shortened}")
    total = int(run_data.far["comparisons"].sum())
    missing = f"Of {total:,} comparisons, these have no value:\n\n{run_data.without}"
    parts.append(f"## Without value\n\n{missing if run_data.without else f'All {total:,} comparisons have a value.'}")
    return "\n\n".join(parts) + "\n"


def _models(accuracies: pd.DataFrame) -> str:
    table = accuracies.copy()
    table["setting"] = [
        kind if kind in ("standard", "deep") else f"{kind} {degree:g}"
        for kind, degree in zip(table["kind"], table["degree"], strict=True)
    ]
    grouped = table.groupby(["dataset", "architecture", "kind", "degree", "setting"], sort=True)
    lines = grouped.agg(
        models=("accuracy", "count"),
        failed=("accuracy", lambda values: int(values.isna().sum())),
        mean=("accuracy", "mean"),
        low=("accuracy", "min"),
        high=("accuracy", "max"),
        seconds=("seconds", "mean"),
    ).reset_index()
    lines = lines.drop(columns=["kind", "degree"])
    lines = lines.rename(columns={"mean": "accuracy", "low": "lowest", "high": "highest", "seconds": "seconds each"})
    return (
        "Test accuracy by setting. In the test rows, a shortcut carries no information about the class.\n\n"
        + _plain(lines)
    )


def _agreement(results: ReportTables) -> list[str]:
    if results.scores.empty or (table := agreement(results.scores, published())).empty:
        return []
    text = (
        "The table compares our columns with the published columns, over the measures that both contain. It "
        "gives the rank correlation (Spearman), the mean absolute difference, and the standard deviation of the "
        "published column. If a column hardly varies, its ranks carry little information."
    )
    ranks = results.published_ranks
    agreed = ranks["mean"].corr(ranks["published_mean"], method="spearman")
    text_of_ranks = (
        "The table ranks the measures of the paper over these columns. The rank correlation (Spearman) between our "
        f"mean ranks and the published ones is {agreed:.2f}."
    )
    return [
        f"## Compared with the published results\n\n{text}\n\n{_plain(table)}",
        f"### Ranks compared with the published ones\n\n{text_of_ranks}\n\n{_plain(ranks)}",
    ]


def _ranks(ranks: pd.DataFrame) -> str:
    return (
        "Each test contributes one score: AUPRC for tests by groups, Spearman for tests by predictions (disagreement "
        "for outputs), and conformity for layers. Ties share their mean rank.\n\n" + _plain(ranks_for_display(ranks))
    )


def _tables(results: ReportTables) -> list[str]:
    return [
        f"## {title}\n\n{test.claim}\n\n{to_markdown(results.table(name), stars(results.scores, name))}"
        for test, name, title in results.tests()
    ]


def _plain(frame: pd.DataFrame, digits: int = 2) -> str:
    """Return a data frame as a Markdown table."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return "" if value != value else f"{value:.{digits}f}"
        return str(value)

    return markdown_table(list(frame.columns), [list(map(cell, row)) for row in frame.itertuples(index=False)])


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
    """Return the contents of a store as a page."""
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
