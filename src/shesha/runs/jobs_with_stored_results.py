"""A plan of independent jobs that stores their results."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from shesha.runs.runner import Job, Meter
from shesha.runs.store import ResultStore


class Kept:
    """Jobs whose results are stored as JSON under the job's key; jobs with a stored result are not rerun.

    Parameters
    ----------
    store : ResultStore
        Store for the results.
    kind : str
        Kind of entry under which the results are stored.
    jobs : iterable of Job
        Jobs whose calls return values that JSON can represent. The key of a job must identify everything that
        determines its result (content of the data, options, version of the code).
    meter : Meter, optional
        Progress display, to which the expected work is added.

    Attributes
    ----------
    results : dict of str to any
        Results by key, as read from JSON, from this run and from earlier runs.
    failures : dict of str to str
        The reason for each missing result. Reasons are not stored, so the next run repeats these jobs.

    Examples
    --------
    >>> from shesha.runs import Here, run
    >>> with ResultStore() as store:
    ...     jobs = [Job("2^5", "power", 1, pow, (2, 5)), Job("1/0", "power", 1, divmod, (1, 0))]
    ...     plan = Kept(store, "power", jobs)
    ...     run(plan, Here())
    >>> plan.results, plan.failures
    ({'2^5': 32}, {'1/0': 'ZeroDivisionError: integer division or modulo by zero'})
    """

    def __init__(self, store: ResultStore, kind: str, jobs: Iterable[Job], meter: Meter | None = None) -> None:
        self.store, self._kind = store, kind
        self.results: dict[str, Any] = {}
        self.failures: dict[str, str] = {}
        self._left: deque[Job] = deque()
        for job in jobs:
            text = store.get(kind, job.key)
            if text is not None:
                with store.decoding():
                    self.results[job.key] = json.loads(text)
                continue
            self._left.append(Job(job.key, job.kind, job.amount, time_call, (job.call, *job.arguments)))
            if meter is not None:
                meter.expect(job.kind, job.amount)

    def ready(self) -> Job | None:
        """Return the next job; None if there is none left."""
        return self._left.popleft() if self._left else None

    def keep_result(self, job: Job, result: Any) -> float:
        """Store the result."""
        seconds, value = result
        text = json.dumps(value)
        self.store.put(self._kind, {job.key: text})
        # The value is read back from JSON, so that this run and later runs have identical results.
        self.results[job.key] = json.loads(text)
        return float(seconds)

    def record_failure(self, job: Job, reason: str) -> None:
        """Record the reason why a job has no result."""
        self.failures[job.key] = reason


def time_call(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Call the function; return the time in seconds and the result."""
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result
