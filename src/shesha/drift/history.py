"""The history of a monitor, in a file that survives crashes or in memory."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Literal, Protocol

from shesha.runs import lock_for_writing
from shesha.support import sqlite
from shesha.support.warnings import MeasureWarning, warn

Kind = Literal["check", "update"]
LAYOUT = sqlite.Layout(
    "`shesha monitor`",
    "1",
    (
        """CREATE TABLE event (
    kind TEXT, number INTEGER, monitor TEXT NOT NULL, at TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, number)
) WITHOUT ROWID""",
        "CREATE TABLE state (monitor TEXT, name TEXT, value TEXT NOT NULL, PRIMARY KEY (monitor, name)) WITHOUT ROWID",
    ),
    program="monitor",
)
_KEPT_IN_MEMORY = 1000


class Writer(Protocol):
    """Access to a history while no other process can write to it."""

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        ...

    def add(self, kind: Kind, value: Mapping[str, Any], states: Mapping[str, str]) -> None:
        """Store an event together with the states that it changes, in one transaction."""
        ...

    def write(self, states: Mapping[str, str]) -> None:
        """Store states without an event."""
        ...


class History(Protocol):
    """Events and states of one monitor."""

    def open_for_writing(self) -> AbstractContextManager[Writer]:
        """Return a context manager that yields a Writer."""
        ...

    def events(self, kind: Kind, last: int | None = None) -> list[dict[str, Any]]:
        """Return events in chronological order, each with its time `at`; with `last`, only that many."""
        ...

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        ...


class InMemory:
    """The history of an unsaved monitor, which keeps only the last thousand events."""

    def __init__(self) -> None:
        self._events: dict[str, deque[dict[str, Any]]] = {}
        self._states: dict[str, str] = {}
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be copied."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a new lock."""
        self.__dict__.update(state, _lock=RLock())

    @contextmanager
    def open_for_writing(self) -> Iterator[InMemory]:
        """Lock out other threads while the state is read, changed and written; no other process can write to it."""
        with self._lock:
            yield self

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        return self._states.get(name)

    def add(self, kind: Kind, value: Mapping[str, Any], states: Mapping[str, str]) -> None:
        """Store an event together with the states that it changes."""
        self._states.update(states)
        self._events.setdefault(kind, deque(maxlen=_KEPT_IN_MEMORY)).append({"at": _now(), **value})

    def write(self, states: Mapping[str, str]) -> None:
        """Store states without an event."""
        self._states.update(states)

    def events(self, kind: Kind, last: int | None = None) -> list[dict[str, Any]]:
        """Return events in chronological order; with `last`, only that many."""
        events = list(self._events.get(kind, ()))
        return events if last is None else events[len(events) - min(last, len(events)) :]


class InFile:
    """The history of a saved monitor, in an SQLite file that also keeps events of earlier references.

    Parameters
    ----------
    path : Path
        The database file, which is created by the first write.
    monitor : str
        Name of the monitor, which is a hash of its arrays.
    """

    def __init__(self, path: Path, monitor: str) -> None:
        self.path, self.monitor = path, monitor

    @contextmanager
    def open_for_writing(self) -> Iterator[_InTransaction]:
        """Lock out other processes while the state is read, changed and written."""
        with lock_for_writing(self.path), closing(self._connect(create=True)) as connection:
            yield _InTransaction(connection, self.path, self.monitor)

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        with self._reading() as connection:
            return None if connection is None else _state(connection, self.monitor, name)

    def events(self, kind: Kind, last: int | None = None) -> list[dict[str, Any]]:
        """Return events in chronological order, including those of earlier references."""
        query = "SELECT monitor, at, value FROM event WHERE kind = ? ORDER BY number DESC LIMIT ?"
        with self._reading() as connection:
            rows = [] if connection is None else connection.execute(query, (kind, -1 if last is None else last))
            events = [{"monitor": monitor, "at": time, **self._values(value)} for monitor, time, value in rows]
        return events[::-1]

    def _values(self, text: Any) -> dict[str, Any]:
        """Return the values of an event; for a damaged event, raise an error that names the file."""
        try:
            event = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise sqlite.StoreError(f"{self.path} must contain events as JSON, got a damaged event: {error}") from error
        if not isinstance(event, dict) or not isinstance(event.get("state"), str):
            raise sqlite.StoreError(
                f"{self.path} must contain events with a state, got {str(text)[:60]!r}; "
                "move the file away to start a new history"
            )
        return event

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        if not self.path.exists():
            yield None
            return
        with (
            closing(sqlite.connect(self.path, LAYOUT, create=False, follow_links=False)) as connection,
            sqlite.reading(self.path),
        ):
            yield connection

    def _connect(self, *, create: bool) -> sqlite3.Connection:
        """Open the file; a link in a folder of another person could lead to any file."""
        return sqlite.connect(self.path, LAYOUT, create=create, follow_links=False)


class _InTransaction:
    def __init__(self, connection: sqlite3.Connection, path: Path, monitor: str) -> None:
        self._connection, self._path, self._monitor = connection, path, monitor

    def state(self, name: str) -> str | None:
        with sqlite.reading(self._path):
            return _state(self._connection, self._monitor, name)

    def add(self, kind: Kind, value: Mapping[str, Any], states: Mapping[str, str]) -> None:
        text = json.dumps(_replace_non_finite(value), allow_nan=False)
        with sqlite.transaction(self._connection, self._path):
            next_one = "SELECT coalesce(max(number), 0) + 1 FROM event WHERE kind = ?"
            number = self._connection.execute(next_one, (kind,)).fetchone()[0]
            row = (kind, number, self._monitor, _now(), text)
            self._connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)
            self._replace(states)

    def write(self, states: Mapping[str, str]) -> None:
        with sqlite.transaction(self._connection, self._path):
            self._replace(states)

    def _replace(self, states: Mapping[str, str]) -> None:
        rows = ((self._monitor, name, value) for name, value in states.items())
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", rows)


def write_or_warn(history: History, write: Callable[[Writer], None]) -> str:
    """Write to a history; if this fails, warn and return the problem instead of losing the verdict."""
    try:
        with history.open_for_writing() as writer:
            write(writer)
    except (OSError, sqlite.StoreError, sqlite3.Error) as error:
        problem = f"the verdict was not stored in the history and ignores earlier checks: {error}"
        warn(problem, MeasureWarning)
        return problem
    return ""


def _state(connection: sqlite3.Connection, monitor: str, name: str) -> str | None:
    query = "SELECT value FROM state WHERE monitor = ? AND name = ?"
    row = connection.execute(query, (monitor, name)).fetchone()
    return None if row is None else str(row[0])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _replace_non_finite(value: Any) -> Any:
    """Replace values that JSON lacks: NaN becomes null, and infinities the largest numbers."""
    if isinstance(value, Mapping):
        return {str(key): _replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None if value != value else (1e308 if value > 0 else -1e308)
    return value
