"""The benchmark: rank similarity measures by six tests with known answers.

`run` trains the models of a suite, compares them and stores the numbers. From this store, `results` computes the scores
of the measures, and `rank` ranks the measures. `published` returns the published results. `tests` contains the six
tests, which you can also apply to your own models.
"""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    import shesha_bench.tests as tests
    from shesha_bench.catalogue import Model, Outcome, Setting
    from shesha_bench.domains import MissingDataError
    from shesha_bench.ranks import (
        add_published,
        agreement,
        compare_ranks,
        plot_ranks,
        published,
        published_runtimes,
        rank,
        rank_table,
        rank_with_published,
        table,
        to_markdown,
    )
    from shesha_bench.report_page import report
    from shesha_bench.run_suite import run, status
    from shesha_bench.store import Store, StoreError
    from shesha_bench.stored_results import accuracies, results, runtimes
    from shesha_bench.submissions import leaderboard, leaderboard_page, read_submissions, submit
    from shesha_bench.suites import Suite, Task, suite, task

__getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "MissingDataError",
    "Model",
    "Outcome",
    "Setting",
    "Store",
    "StoreError",
    "Suite",
    "Task",
    "accuracies",
    "add_published",
    "agreement",
    "compare_ranks",
    "leaderboard",
    "leaderboard_page",
    "plot_ranks",
    "published",
    "published_runtimes",
    "rank",
    "rank_table",
    "rank_with_published",
    "read_submissions",
    "report",
    "results",
    "run",
    "runtimes",
    "status",
    "submit",
    "suite",
    "table",
    "task",
    "tests",
    "to_markdown",
]
