"""Progress of long work, as a bar on a terminal and as a line every half minute in logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")

_DELAY = 1.5
"""Seconds before a bar appears; quicker work shows no bar."""
_EVERY = 30.0
"""Seconds between progress lines if the output is not a terminal."""
QUIET = "SHESHA_QUIET"
"""Environment variable that silences all progress output, in worker processes as well."""
_muted: ContextVar[bool] = ContextVar("muted", default=False)


@contextmanager
def mute_progress() -> Iterator[None]:
    """Silence the progress of nested work while an outer loop reports its progress."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def silent() -> bool:
    """Return whether progress output is turned off."""
    return bool(os.environ.get(QUIET))


class Lines:
    """Prints progress at intervals when there is no terminal for a bar."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()

    def say(self, text: str, share: float = 0.0) -> None:
        """Print a line if enough time has passed; `share` is the finished share, if known."""
        if silent():
            return
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            spent = now - self._start
            estimate = f", about {spent * (1 - share) / share:.0f} s left" if share else ""
            sys.stderr.write(f"shesha: {text}, {spent:.0f} s so far{estimate}\n")
            sys.stderr.flush()


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items, and show the progress."""
    if _muted.get() or silent():
        yield from items
    elif sys.stderr.isatty():
        yield from _terminal_bar(items, total, label)
    else:
        lines = Lines()
        for done, item in enumerate(items, 1):
            yield item
            lines.say(f"{done:,} of {total:,} {label}", done / total if total else 0.0)


def _terminal_bar(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
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
