"""The toy suite, and a program that runs it: python toy_run.py STORE MEASURE..., in chunks that are soon done."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from shesha_bench import suites
from shesha_bench.run_suite import run
from shesha_bench.suites import Suite, Task, setting_groups

CHUNK = 5
"""Comparisons per piece of work of the program, of measures that count as cheap."""
WORKERS = 2


def task(**changed: Any) -> Task:
    """Six standard models, three per group, three whose layers are compared, unless changed."""
    groups = setting_groups(label_randomization=(0, 0.5, 1), shortcut=(0, 0.5, 1), augmentation=(0, 0.3, 0.9))
    sizes = {"n_models": 6, "n_per_group": 3, "n_layered": 3} | changed
    return Task("toy_domain", "D", "A", {}, groups, **sizes)


class Inline:
    """An executor without workers: work is done where it is submitted."""

    n_workers = 2

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def renew(self) -> None:
        """There is nothing to start."""

    def close(self, *, now: bool) -> None:
        """There is nothing to end."""


if __name__ == "__main__":
    # Programs started in the background ignore Ctrl-C, and so do those that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    suites._SECONDS = CHUNK * suites._PLAIN
    run(Suite("toy", (task(),)), store=sys.argv[1], measures=sys.argv[2:], workers=WORKERS)
