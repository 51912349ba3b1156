"""Long runs on processes or a cluster that store results at once and can resume after interruptions.

A plan provides `Job`s and stores their results; `run` executes the jobs on an executor. `ResultStore` stores texts by
key in one file, and `lock_for_writing` prevents other processes from writing to it. The package suits any kind of work.
"""

from shesha.runs.code_versions import version_of_code
from shesha.runs.runner import (
    ATTEMPTS,
    DaskWorkers,
    Executor,
    Here,
    Job,
    Kept,
    LocalProcesses,
    Meter,
    Plan,
    cores,
    disk_is_full,
    duration,
    executor,
    failure_reason,
    prepare,
    require_workers,
    run,
    search_paths,
)
from shesha.runs.store import ResultStore, lock_for_writing, open_for_writing

__all__ = [
    "ATTEMPTS",
    "DaskWorkers",
    "Executor",
    "Here",
    "Job",
    "Kept",
    "LocalProcesses",
    "Meter",
    "Plan",
    "ResultStore",
    "cores",
    "disk_is_full",
    "duration",
    "executor",
    "failure_reason",
    "lock_for_writing",
    "open_for_writing",
    "prepare",
    "require_workers",
    "run",
    "search_paths",
    "version_of_code",
]
