"""Long runs on processes or a cluster that store results at once and can resume after interruptions.

A plan provides `Job`s and stores their results; `run` executes the jobs on an executor. `ResultStore` stores texts by
key in one file, and `lock_for_writing` prevents other processes from writing to it. The package suits any kind of work.
"""

from shesha.runs.code_versions import version_of_code as version_of_code
from shesha.runs.runner import (
    ATTEMPTS as ATTEMPTS,
    DaskWorkers as DaskWorkers,
    Executor as Executor,
    Here as Here,
    Job as Job,
    Kept as Kept,
    LocalProcesses as LocalProcesses,
    Meter as Meter,
    Plan as Plan,
    cores as cores,
    disk_is_full as disk_is_full,
    duration as duration,
    executor as executor,
    failure_reason as failure_reason,
    prepare as prepare,
    require_workers as require_workers,
    run as run,
    search_paths as search_paths,
)
from shesha.runs.store import (
    ResultStore as ResultStore,
    lock_for_writing as lock_for_writing,
    open_for_writing as open_for_writing,
)
