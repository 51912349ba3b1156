"""The benchmark: rank similarity measures by six tests with known answers.

`run` trains the models of a suite, compares them and stores the numbers. From this store, `results` computes the scores
of the measures, and `rank` ranks the measures. `published` returns the published results. `tests` contains the six
tests, which you can also apply to your own models.
"""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    from shesha_bench import tests as tests
    from shesha_bench.catalogue import Model as Model, Outcome as Outcome, Setting as Setting
    from shesha_bench.domains import MissingDataError as MissingDataError
    from shesha_bench.ranks import (
        add_published as add_published,
        agreement as agreement,
        compare_ranks as compare_ranks,
        plot_ranks as plot_ranks,
        published as published,
        published_runtimes as published_runtimes,
        rank as rank,
        rank_table as rank_table,
        rank_with_published as rank_with_published,
        table as table,
        to_markdown as to_markdown,
    )
    from shesha_bench.report_page import report as report
    from shesha_bench.run_suite import run as run, status as status
    from shesha_bench.store import Store as Store, StoreError as StoreError
    from shesha_bench.stored_results import accuracies as accuracies, results as results, runtimes as runtimes
    from shesha_bench.submissions import (
        leaderboard as leaderboard,
        leaderboard_page as leaderboard_page,
        read_submissions as read_submissions,
        submit as submit,
    )
    from shesha_bench.suites import Suite as Suite, Task as Task, suite as suite, task as task

__getattr__, __dir__ = lazy_names(__name__)
