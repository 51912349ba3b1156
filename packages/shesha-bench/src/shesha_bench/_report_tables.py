"""The tables of a report, which are read from a store once for all output formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shesha_bench.paper_tables import table
from shesha_bench.published_comparison import compare_ranks, rank_with_published
from shesha_bench.run_status import describe_missing_rows, failures, status
from shesha_bench.stored_results import accuracies, open_store, results, runtimes
from shesha_bench.suites import Suite
from shesha_bench.tests import BenchmarkTest, all_tests

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.store import Store


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
