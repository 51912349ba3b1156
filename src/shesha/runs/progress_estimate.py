"""Progress of a run, and an estimate of the time that remains."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from shesha.support.progress import Lines, silent


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
