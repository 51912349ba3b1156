"""Long work in pieces: on processes or a cluster, kept the moment it is there, taken up again after any end.

A plan offers `Job`s and keeps their results; `run` does them on an executor. `ResultStore` keeps texts under keys in
one file, `only_writer` keeps other processes off it. Nothing here knows what the work is.
"""

from shesha.runs.executors import (
    DaskWorkers,
    Executor,
    Here,
    LocalProcesses,
    cores,
    executor,
    prepare,
    require_workers,
    search_paths,
)
from shesha.runs.kept import Kept
from shesha.runs.locks import only_writer
from shesha.runs.meter import Meter, duration
from shesha.runs.runner import ATTEMPTS, Job, Plan, disk_is_full, no_reason, run
from shesha.runs.store import ResultStore, writing
from shesha.runs.versions import FOLLOWED, version_of_code

__all__ = [
    "ATTEMPTS",
    "FOLLOWED",
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
    "no_reason",
    "only_writer",
    "prepare",
    "require_workers",
    "run",
    "search_paths",
    "version_of_code",
    "writing",
]
