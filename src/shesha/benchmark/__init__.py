"""The benchmark: six tests that say which measure of similarity to trust.

`run` trains the models of a suite and compares them, `results` scores the measures from what it wrote, `rank` puts
them in order; `published` holds the published results. `tests` has the six tests for models of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_PLACES = {
    "run": "api",
    **dict.fromkeys(("ranks_beside", "with_published"), "beside"),
    **dict.fromkeys(("Model", "Outcome", "Setting"), "models"),
    **dict.fromkeys(("plot_agreement", "plot_ranks"), "pictures"),
    **dict.fromkeys(("published", "published_runtimes"), "_published"),
    **dict.fromkeys(("rank", "rank_table"), "ranks"),
    "report": "_report",
    **dict.fromkeys(("accuracies", "results", "runtimes"), "_results"),
    "status": "_status",
    "MissingDataError": "sources",
    **dict.fromkeys(("Store", "StoreError"), "store"),
    **dict.fromkeys(("Suite", "Task", "suite", "task"), "suites"),
    **dict.fromkeys(("agreement", "table", "to_markdown"), "tables"),
}
"""Names and the modules they come from, which are imported when a name is first asked for."""


def __getattr__(name: str) -> Any:
    if name == "tests":
        return import_module("shesha.benchmark.tests")
    if name not in _PLACES:
        raise AttributeError(f"module 'shesha.benchmark' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"shesha.benchmark.{_PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
