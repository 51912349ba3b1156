"""The benchmark: six tests that say which measure of similarity to trust.

`run` trains the models of a suite and compares them, `results` scores the measures from what it wrote, `rank` puts
them in order; `published` holds the published results. `tests` has the six tests for models of your own.
"""

from typing import TYPE_CHECKING

from shesha._later import later

if TYPE_CHECKING:
    import shesha.benchmark.tests as tests
    from shesha.benchmark._published import published, published_runtimes
    from shesha.benchmark._report import report
    from shesha.benchmark._results import accuracies, results, runtimes
    from shesha.benchmark._status import status
    from shesha.benchmark.api import run
    from shesha.benchmark.beside import ranks_beside, with_published
    from shesha.benchmark.models import Model, Outcome, Setting
    from shesha.benchmark.pictures import plot_agreement, plot_ranks
    from shesha.benchmark.ranks import rank, rank_table
    from shesha.benchmark.sources import MissingDataError
    from shesha.benchmark.store import Store, StoreError
    from shesha.benchmark.suites import Suite, Task, suite, task
    from shesha.benchmark.tables import agreement, table, to_markdown

__getattr__, __dir__ = later(
    __name__,
    {
        "_published": ("published", "published_runtimes"),
        "_report": ("report",),
        "_results": ("accuracies", "results", "runtimes"),
        "_status": ("status",),
        "api": ("run",),
        "beside": ("ranks_beside", "with_published"),
        "models": ("Model", "Outcome", "Setting"),
        "pictures": ("plot_agreement", "plot_ranks"),
        "ranks": ("rank", "rank_table"),
        "sources": ("MissingDataError",),
        "store": ("Store", "StoreError"),
        "suites": ("Suite", "Task", "suite", "task"),
        "tables": ("agreement", "table", "to_markdown"),
    },
    ("tests",),
)

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
    "agreement",
    "plot_agreement",
    "plot_ranks",
    "published",
    "published_runtimes",
    "rank",
    "rank_table",
    "ranks_beside",
    "report",
    "results",
    "run",
    "runtimes",
    "status",
    "suite",
    "table",
    "task",
    "tests",
    "to_markdown",
    "with_published",
]
