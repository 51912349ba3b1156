"""Run jobs on workers that may die: submit them, collect results, retry, and estimate the time that remains."""

from __future__ import annotations

import errno
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from shesha.runs.executors import Executor, Here
from shesha.support.progress import Lines, silent
from shesha.support.warnings import NotEstimable


class Meter:
    """A counter of work by kind; remaining work of a kind is expected to proceed at the same speed."""

    def __init__(self, n_workers: int, what: str = "pieces") -> None:
        self._n_workers = n_workers
        self._what = what
        self._left: defaultdict[Hashable, float] = defaultdict(float)
        self._taken: defaultdict[Hashable, float] = defaultdict(float)
        self._done: defaultdict[Hashable, float] = defaultdict(float)
        self.more_to_plan = False
        """Whether more work will be added later."""
        self._bar: Any = None
        self._task: Any = None
        self._lines: Lines | None = None

    def expect(self, kind: Hashable, amount: float) -> None:
        """Add work that remains to be done."""
        self._left[kind] += amount

    def finish(self, kind: Hashable, amount: float, seconds: float) -> None:
        """Count finished work, with the time in seconds that one worker needed for it."""
        self._left[kind] -= amount
        self._done[kind] += amount
        self._taken[kind] += seconds

    def seconds_left(self) -> tuple[float | None, bool]:
        """Return the expected seconds (None if unknown), and whether the time for some work is still unknown."""
        known = {kind: self._taken[kind] / done for kind, done in self._done.items() if done > 0}
        amounts = {kind: amount for kind, amount in self._left.items() if amount > 1e-9}
        expected = sum(known[kind] * amount for kind, amount in amounts.items() if kind in known)
        unknown = [kind for kind in amounts if kind not in known]
        unknown_work = bool(unknown) or self.more_to_plan
        return (expected / self._n_workers if known else None), unknown_work

    def text(self) -> str:
        """Return the progress and the expected remaining time in words."""
        seconds, more = self.seconds_left()
        rest = "" if seconds is None else f", {'at least' if more else 'about'} {duration(seconds)} left"
        return f"{self.describe()}{rest}"

    def describe(self) -> str:
        """Return the amounts of finished and total work in words."""
        done = sum(self._done.values())
        return f"{done:.0f}/{done + sum(self._left.values()):.0f}{'+' if self.more_to_plan else ''} {self._what}"

    def __enter__(self) -> Meter:
        """Start to display the progress."""
        if sys.stderr.isatty() and not silent():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None)
        else:
            self._lines = Lines()
        return self

    def show(self) -> None:
        """Update the display, at once on a terminal and at intervals elsewhere."""
        if self._lines is not None:
            self._lines.say(self.text())
        if self._bar is not None:
            total = sum(self._done.values()) + sum(self._left.values())
            done = sum(self._done.values())
            self._bar.update(self._task, description=self.text(), completed=done, total=max(total, 1e-9))

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        if self._bar is not None:
            self._bar.stop()


def duration(seconds: float) -> str:
    """Format a duration for readers."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


ATTEMPTS = 3
"""Number of attempts that end with the worker's death after which a job is recorded as failed."""


@dataclass(eq=False)
class Job:
    """A job that any process can execute."""

    key: str
    """Key of the job within its plan."""
    kind: Hashable
    """Kind of the job; all jobs of one kind take about the same time per unit of work."""
    amount: float
    call: Callable[..., Any]
    """Function to call, which other processes must be able to import."""
    arguments: tuple[Any, ...]
    attempts: int = field(default=0, init=False)


class Plan(Protocol):
    """A plan of jobs that also handles their results; all methods are called in the main process."""

    def ready(self) -> Job | None:
        """Return a job that can be started; None if there is none at the moment."""
        ...

    def keep_result(self, job: Job, result: Any) -> float:
        """Store the result of a job, and return the time in seconds that a worker needed for it."""
        ...

    def record_failure(self, job: Job, reason: str) -> None:
        """Store the reason why a job has no result: an error, or repeated deaths of the worker."""
        ...


def run(plan: Plan, executor: Executor, meter: Meter | None = None) -> None:
    """Run the jobs of a plan until none is ready or running, then close the executor.

    If a worker dies, all running jobs are retried one at a time, to find the one that kills its worker. A job is
    recorded as failed after three attempts. Ctrl-C, a full disk or a lost cluster end the run; results that were
    already stored remain.

    Parameters
    ----------
    plan : Plan
        Provides the jobs and stores their results. Jobs may become ready only when other jobs have finished.
    executor : Executor
        `Here()`, `LocalProcesses(n)` or `DaskWorkers(address)`; it is closed at the end.
    meter : Meter, optional
        Progress display, to which the plan has added the expected work. By default, a new one is used.

    Examples
    --------
    >>> from shesha.runs import Here, Job, run
    >>> class Squares:
    ...     def __init__(self):
    ...         self.left, self.found = [3, 4], {}
    ...     def ready(self):
    ...         return Job(str(self.left[0]), "square", 1, pow, (self.left.pop(0), 2)) if self.left else None
    ...     def keep_result(self, job, result):
    ...         self.found[job.key] = result
    ...         return 0.0
    ...     def record_failure(self, job, reason):
    ...         self.found[job.key] = reason
    >>> plan = Squares()
    >>> run(plan, Here())
    >>> plan.found
    {'3': 9, '4': 16}
    """
    _Runner(plan, executor, Meter(executor.n_workers) if meter is None else meter)()


class _Runner:
    def __init__(self, plan: Plan, executor: Executor, meter: Meter) -> None:
        self._plan, self._executor, self._meter = plan, executor, meter
        self._under_way: dict[Future[Any], Job] = {}
        self._suspects: deque[Job] = deque()
        # A second job per worker avoids idle time. In this process, each result is stored before the next job starts.
        self._most = 1 if isinstance(executor, Here) else 2 * executor.n_workers

    def __call__(self) -> None:
        now = True
        try:
            with self._meter:
                while self._fill():
                    finished, _ = wait(self._under_way, timeout=1.0, return_when=FIRST_COMPLETED)
                    self._collect(finished)
                    self._meter.show()
            now = False
        finally:
            self._executor.close(now=now)

    def _fill(self) -> bool:
        """Submit as many jobs as the workers can take; return False if nothing is left to do."""
        if self._suspects:
            # A job that kills its worker can be identified if it runs alone.
            if not self._under_way:
                self._submit(self._suspects.popleft())
            return True
        while len(self._under_way) < self._most and (job := self._plan.ready()) is not None:
            self._submit(job)
        return bool(self._under_way)

    def _submit(self, job: Job) -> None:
        try:
            future = self._executor.submit(job.call, *job.arguments)
        except BrokenExecutor:
            self._executor.renew()
            future = self._executor.submit(job.call, *job.arguments)
        self._under_way[future] = job

    def _collect(self, finished: Collection[Future[Any]]) -> None:
        """Store finished results; if workers have died, the jobs that were running on them are lost."""
        jobs = [(self._under_way.pop(future), future) for future in finished]
        dead = [job for job, future in jobs if isinstance(future.exception(), BrokenExecutor)]
        for job, future in jobs:
            if job not in dead:
                self._finish(job, future)
        if dead:
            self._survive([*dead, *self._under_way.values()])

    def _finish(self, job: Job, future: Future[Any]) -> None:
        try:
            result = future.result()
        except Exception as error:  # Raised by the job itself, or by a cluster that lost it.
            if disk_is_full(error):
                raise
            job.attempts += 1
            if _lost(error) and job.attempts < ATTEMPTS:
                self._suspects.append(job)
            else:
                self._give_up(job, failure_reason(error))
            return
        self._meter.finish(job.kind, job.amount, self._plan.keep_result(job, result))

    def _survive(self, jobs: Sequence[Job]) -> None:
        """Start new workers, and retry the lost jobs one at a time."""
        self._under_way.clear()
        self._executor.renew()
        for job in jobs:
            job.attempts += 1
            if job.attempts < ATTEMPTS:
                self._suspects.append(job)
            else:
                self._give_up(job, f"the worker died {ATTEMPTS} times (out of memory?)")

    def _give_up(self, job: Job, reason: str) -> None:
        self._plan.record_failure(job, reason)
        self._meter.finish(job.kind, job.amount, 0.0)


def _lost(error: Exception) -> bool:
    """Return whether a cluster lost the job, as opposed to an error in the job itself."""
    return any(word in type(error).__name__ for word in ("Killed", "Cancelled", "Lost"))


def failure_reason(error: Exception) -> str:
    """Return the reason for a missing value as a single line."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, NotEstimable):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def disk_is_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
