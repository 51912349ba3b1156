"""Run jobs on workers that may die, in this process, local processes or a Dask cluster, and store their results."""

from __future__ import annotations

import errno
import json
import os
import pickle
import socket
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from types import ModuleType
from typing import Any, Protocol

from shesha.inputs import validation as check
from shesha.runs.store import ResultStore
from shesha.support import types as kinds
from shesha.support.optional import require
from shesha.support.progress import ProgressLines, silent
from shesha.support.warnings import NotEstimable

Result = Any


class Executor(Protocol):
    """The interface of an executor: that of `concurrent.futures`, plus a restart after workers have died."""

    n_workers: int

    def submit(self, work: Callable[..., Result], *args: Any) -> Future[Result]:
        """Start a task."""
        ...

    def renew(self) -> None:
        """Restart the workers after some of them have died."""
        ...

    def close(self, *, now: bool) -> None:
        """Close the executor; with `now`, do not wait for running tasks."""
        ...


class Here:
    """The current process, which executes submitted tasks immediately."""

    n_workers = 1

    def submit(self, work: Callable[..., Result], *args: Any) -> Future[Result]:
        """Execute a task; Ctrl-C interrupts it."""
        ended: Future[Result] = Future()
        try:
            ended.set_result(work(*args))
        except Exception as error:  # The future raises the error for the caller.
            ended.set_exception(error)
        return ended

    def renew(self) -> None:
        """Do nothing: there is nothing to restart."""

    def close(self, *, now: bool) -> None:
        """Do nothing: there is nothing to close."""


class LocalProcesses:
    """Local processes, each with an equal share of the cores or a given number of threads."""

    def __init__(self, n_workers: int, paths: tuple[str, ...] = (), n_threads: int | None = None) -> None:
        self.n_workers = n_workers
        self._setup = (max(1, cores() // n_workers) if n_threads is None else n_threads, paths)
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.n_workers, get_context("spawn"), _start, self._setup)

    def submit(self, work: Callable[..., Result], *args: Any) -> Future[Result]:
        """Start a task."""
        return self._pool.submit(work, *args)

    def renew(self) -> None:
        """Restart the workers after some of them have died."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()

    def close(self, *, now: bool) -> None:
        """Close the executor; with `now`, stop running tasks."""
        # The shutdown clears this list, so it is copied first.
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=not now, cancel_futures=True)
        for process in processes if now else ():
            process.terminate()


class DaskWorkers:
    """The workers of an existing Dask cluster, which must have access to the files that the tasks use."""

    def __init__(self, address: str, paths: tuple[str, ...] = ()) -> None:
        distributed = _import_distributed()
        self._client = distributed.Client(address, timeout="10s", set_as_default=False)
        self.n_workers = max(1, sum(self._client.nthreads().values()))
        self._paths = paths

    def submit(self, work: Callable[..., Result], *args: Any) -> Future[Result]:
        """Start a task."""
        # Without pure=False, Dask would run calls with equal arguments only once.
        started: Future[Result] = Future()
        packed = pickle.dumps((work, args))
        future = self._client.submit(_run_packed, self._paths, packed, pure=False, retries=2)
        future.add_done_callback(lambda done: _hand_over(done, started))
        started.dask_future = future  # type: ignore[attr-defined]
        return started

    def renew(self) -> None:
        """Do nothing, because Dask replaces workers itself."""

    def close(self, *, now: bool) -> None:
        """Close the client; the cluster itself is not changed."""
        self._client.close()


def _hand_over(done: Any, started: Future[Result]) -> None:
    try:
        started.set_result(done.result())
    except BaseException as error:  # The future raises the error for the caller.
        started.set_exception(error)


def _run_packed(paths: tuple[str, ...], packed: bytes) -> Result:
    """Execute a pickled task, whose modules can be imported only after the search paths are set."""
    prepare(1, paths)
    work, args = pickle.loads(packed)
    return work(*args)


def prepare(n_threads: int, paths: tuple[str, ...]) -> None:
    """Set up a worker process: the number of its threads, and the search paths of user functions."""
    os.environ["SHESHA_THREADS"] = str(n_threads)
    sys.path.extend(path for path in paths if path not in sys.path)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(n_threads)
    else:
        # torch reads this variable when it is first imported.
        os.environ.setdefault("OMP_NUM_THREADS", str(n_threads))


def _import_distributed() -> ModuleType:
    return require("distributed", "dask")


def executor(workers: int | None, scheduler: str | None) -> Executor:
    """Return an executor: a cluster's workers, or local processes (by default one per core)."""
    if scheduler is not None:
        return DaskWorkers(scheduler, search_paths())
    return LocalProcesses(cores() if workers is None else workers, search_paths())


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def require_workers(workers: int | None, scheduler: str | None) -> int | None:
    """Return the number of processes, after checking it and the cluster address before anything is written."""
    if scheduler is None:
        return None if workers is None else check.count(workers, "workers")
    if workers is not None:
        raise ValueError("workers must not be given with a scheduler: the cluster has its own workers")
    _import_distributed()
    _require_listener(scheduler)
    return None


def _require_listener(address: str) -> None:
    """Raise an error if an address does not answer; otherwise, an unconnected client would linger."""
    if kinds.text(address, "scheduler").startswith("inproc://"):
        return  # A scheduler in this process has no socket; the client checks at once whether it exists.
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    # Other protocols (tls, ucx, ws) are not accepted, because no option passes their certificates or libraries.
    if not host or not port.isdigit() or "/" in host:
        raise ValueError(f"scheduler must be an address such as tcp://127.0.0.1:8786, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise ConnectionError(f"scheduler must be the address of a Dask scheduler, got {address!r}: {error}") from error


def _start(n_threads: int, paths: tuple[str, ...]) -> None:
    """Set up a worker that leaves Ctrl-C to the main process and ends when the main process ends."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare(n_threads, paths)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()


def _exit_with_parent(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def search_paths() -> tuple[str, ...]:
    """Return this process's module search path, which the workers need."""
    return tuple(path for path in sys.path if path)


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
        self._lines: ProgressLines | None = None

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
        if sys.stderr.isatty() and not silent() and (self.more_to_plan or sum(self._left.values()) > 1):
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None)
        else:
            self._lines = ProgressLines()
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
