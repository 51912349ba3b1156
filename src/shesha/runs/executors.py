"""Executors with a common interface: this process, local processes, or a Dask cluster."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import connection, get_context, parent_process
from types import ModuleType
from typing import Any, Protocol

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds
from shesha.support.optional import require

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


def require_workers(workers: int | None, scheduler: str | None) -> None:
    """Check the number of processes and the cluster address before anything is written."""
    if scheduler is None:
        if workers is not None:
            workers = check.count(workers, "workers")
        return
    if workers is not None:
        raise ValueError("workers must not be given with a scheduler: the cluster has its own workers")
    _import_distributed()
    _require_listener(scheduler)


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
