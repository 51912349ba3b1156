"""Write a run as Markdown: accuracies, tables, ranks, runtimes, and agreement with published results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shesha.report import markdown_table
from shesha_bench._published_results import published
from shesha_bench._report_tables import ReportTables, read_report_tables
from shesha_bench.measure_ranks import ranks_for_display
from shesha_bench.paper_tables import stars, to_markdown
from shesha_bench.published_comparison import agreement
from shesha_bench.store import Store
from shesha_bench.suites import Suite

if TYPE_CHECKING:
    import pandas as pd

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
