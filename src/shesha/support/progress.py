"""Progress of long work, as a bar on a terminal and as a line every half minute in logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from shesha.support.wording import visible_name

Item = TypeVar("Item")

_DELAY = 1.5
"""Seconds before a bar appears; quicker work shows no bar."""
_REFRESH = 0.2
"""Seconds between updates of a bar."""
_EVERY = 30.0
"""Seconds between progress lines if the output is not a terminal."""
QUIET = "SHESHA_QUIET"
"""Environment variable that silences all progress output, in worker processes as well."""
_muted: ContextVar[bool] = ContextVar("muted", default=False)
_answer: ContextVar[Callable[[], str]] = ContextVar("answer", default=str)
"""Text of the best answer so far, shown with the progress of all work inside."""


@contextmanager
def mute_progress() -> Iterator[None]:
    """Silence the progress of nested work while an outer loop reports its progress."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


@contextmanager
def best_answer(text: Callable[[], str]) -> Iterator[None]:
    """Show the best answer so far with the progress of the work inside, and add it to an interrupt of this work."""
    token = _answer.set(text)
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if answer := _answer_line():
            interrupt.add_note(answer)
        raise
    finally:
        _answer.reset(token)


def _answer_line() -> str:
    """Return the best answer so far in one line; it may contain names from the data."""
    return visible_name(_answer.get()())


def silent() -> bool:
    """Return whether progress output is turned off."""
    return bool(os.environ.get(QUIET))


class ProgressLines:
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
            answer = f"; {answer}" if (answer := _answer_line()) else ""
            sys.stderr.write(f"shesha: {text}, {spent:.0f} s so far{estimate}{answer}\n")
            sys.stderr.flush()


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items, and show the progress with the best answer so far."""
    if _muted.get() or silent() or not label:
        yield from items
    elif sys.stderr.isatty():
        yield from _terminal_bar(items, total, label)
    else:
        lines = ProgressLines()
        for done, item in enumerate(items, 1):
            yield item
            lines.say(f"{done:,} of {total:,} {label}", done / total if total else 0.0)


def collect(
    items: Iterable[Item],
    total: int,
    label: str,
    *,
    fewest: int = 0,
    describe: Callable[[list[Item]], str] | None = None,
) -> tuple[list[Item], bool]:
    """Collect the items; after Ctrl-C, return those so far if there are enough, and whether it was pressed.

    Parameters
    ----------
    items : iterable
    total : int
    label : str
        What the items are, in the plural. If empty, only the progress of work inside is shown.
    fewest : int
        Number of items from which an answer can be computed. With fewer, the interrupt is passed on.
    describe : function, optional
        The best answer from the items so far, for the progress. Default: that of the work around it.
    """
    collected: list[Item] = []
    try:
        with nullcontext() if describe is None else best_answer(partial(_describe, describe, collected)):
            collected.extend(track(items, total, label))
    except KeyboardInterrupt:
        if len(collected) < fewest:
            raise
        return collected, True
    return collected, False


def _describe(describe: Callable[[list[Item]], str], items: list[Item]) -> str:
    return describe(items) if items else ""


def _terminal_bar(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    due, bar, task, done = time.monotonic() + _DELAY, None, None, 0
    try:
        for done, item in enumerate(items, 1):
            yield item
            if time.monotonic() > due:
                if bar is None:
                    bar, task = _bar(label, total)
                bar.update(task, completed=done, description="\n".join(filter(None, (_answer_line(), label))))
                due = time.monotonic() + _REFRESH
    finally:
        if bar is not None:
            bar.update(task, completed=done)
            bar.stop()


def _bar(label: str, total: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(label, total=total)
