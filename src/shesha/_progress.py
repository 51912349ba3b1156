"""Progress of long work: shown on a terminal after a moment, silent everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")

_DELAY = 1.5
"""Seconds before progress appears: quick work stays silent."""
_muted: ContextVar[bool] = ContextVar("muted", default=False)


@contextmanager
def muted() -> Iterator[None]:
    """Silence the progress of inner work while an outer loop reports."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items; on a terminal show how far they are."""
    if _muted.get() or not sys.stderr.isatty():
        yield from items
        return
    start, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items, 1):
            yield item
            if bar is None and time.monotonic() - start > _DELAY:
                bar, task = _bar(label, total)
            if bar is not None:
                bar.update(task, completed=done)
    finally:
        if bar is not None:
            bar.stop()


def _bar(label: str, total: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(label, total=total)
