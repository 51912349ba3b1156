"""The benchmark: rank similarity measures by six tests with known answers.

`run` trains the models of a suite, compares them and stores the numbers. From this store, `results` computes the scores
of the measures, and `rank` ranks the measures. `published` returns the published results. `tests` contains the six
tests, which you can also apply to your own models.
"""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    import shesha_bench.tests as tests
    from shesha_bench._markdown_report import report
    from shesha_bench._published_results import published, published_runtimes
    from shesha_bench.data_folders import MissingDataError
    from shesha_bench.leaderboard_ranks import leaderboard, leaderboard_page
    from shesha_bench.measure_ranks import rank, rank_table
    from shesha_bench.model_descriptions import Model, Setting
    from shesha_bench.model_outcomes import Outcome
    from shesha_bench.paper_tables import table, to_markdown
    from shesha_bench.published_comparison import add_published, agreement, compare_ranks, rank_with_published
    from shesha_bench.rank_plot import plot_ranks
    from shesha_bench.run_status import status
    from shesha_bench.run_suite import run
    from shesha_bench.store import Store, StoreError
    from shesha_bench.stored_results import accuracies, results, runtimes
    from shesha_bench.submission_files import read_submissions, submit
    from shesha_bench.suite_tasks import Task
    from shesha_bench.suites import Suite, suite, task

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
