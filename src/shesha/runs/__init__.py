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
from shesha.runs.locks import only_writer
from shesha.runs.meter import Meter, duration
from shesha.runs.runner import ATTEMPTS, Job, Plan, disk_is_full, no_reason, run

__all__ = [
    "ATTEMPTS",
    "DaskWorkers",
    "Executor",
    "Here",
    "Job",
    "LocalProcesses",
    "Meter",
    "Plan",
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
]
