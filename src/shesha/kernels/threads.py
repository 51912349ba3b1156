"""Threads for independent tasks, each with a single-threaded BLAS.

The division into pieces depends only on the problem, and each piece is computed by one thread. Therefore results are
bit-for-bit equal for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from threading import RLock, current_thread
from typing import Any, TypeVar

from shesha.support import memory

Item = TypeVar("Item")
Result = TypeVar("Result")

_NAME = "shesha"
_MOST_THREADS = 64
_SMALL = 1 << 24
"""Number of multiplications below which one thread is faster than several."""
_blas_lock = RLock()
_blas_depth = 0


def n_threads() -> int:
    """Return the number of threads to use: SHESHA_THREADS, or the number of cores this process may use.

    The setting is capped, because many more threads than cores only take memory.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    setting = os.environ.get("SHESHA_THREADS", "")
    if setting:
        if not setting.isdigit() or int(setting) < 1:
            raise ValueError(f"SHESHA_THREADS must be a whole number of threads, got {setting!r}")
        return min(int(setting), max(_MOST_THREADS, 2 * cores))
    return cores


@lru_cache(maxsize=1)
def _blas() -> Any:
    """Find the BLAS libraries once, because the search takes milliseconds."""
    import numpy.linalg  # noqa: F401  (makes sure that the BLAS is loaded before the search)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS calls in the calling thread; the previous setting is restored at the outermost exit."""
    global _blas_depth, _blas_settings
    with _blas_lock:
        if _blas_depth == 0:
            # Querying only the thread number of each library is much faster than threadpoolctl's limit function.
            settings = [(library, library.get_num_threads()) for library in _blas().lib_controllers]
            _blas_settings = [(library, n) for library, n in settings if n is not None and n != 1]
            for library, _ in _blas_settings:
                library.set_num_threads(1)
        _blas_depth += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_depth -= 1
            if _blas_depth == 0:
                for library, n in _blas_settings:
                    library.set_num_threads(n)


_blas_settings: list[tuple[Any, int]] = []


def threads_for(n_multiplications: int) -> int | None:
    """Return how many tasks to run at once: 1 if there is little work, None for all threads."""
    return 1 if n_multiplications < _SMALL else None


def parallel(
    work: Callable[[Item], Result], items: Collection[Item], *, at_once: int | None = None
) -> Iterator[Result]:
    """Yield the result for each item, in order, with at most two items per thread in progress.

    `at_once` limits the number of threads, for items that need a lot of memory.
    """
    # Nested calls use one thread, because the outer call uses all threads.
    nested = current_thread().name.startswith(_NAME)
    workers = 1 if nested else min(n_threads(), len(items), n_threads() if at_once is None else at_once)
    with single_threaded_blas():
        if workers <= 1:
            yield from map(work, items)
            return
        yield from _pool_results(work, items, workers)


def _pool_results(work: Callable[[Item], Result], items: Collection[Item], workers: int) -> Iterator[Result]:
    queue = iter(items)
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=_NAME)
    try:
        # Only a few results are pending at a time, so that the memory use of long runs stays constant.
        pending: list[Future[Result]] = [pool.submit(work, item) for item in islice(queue, 2 * workers)]
        while pending:
            result = pending.pop(0).result()
            pending.extend(pool.submit(work, item) for item in islice(queue, 1))
            yield result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        memory.give_back()
