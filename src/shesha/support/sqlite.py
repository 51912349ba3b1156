"""SQLite files with one writer at a time, a checked layout, and transactions."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_HEADER = b"SQLite format 3\0"
_ABOUT = "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
MEMORY = Path(":memory:")
"""Stands for a database in memory."""


class StoreError(ValueError):
    """Raised if a file is not a store of this version, or if another run is writing to it."""


@dataclass(frozen=True)
class Layout:
    """The tables in one kind of store; in addition, every store has a table `about` that describes it."""

    writer: str
    """Name of the program that writes this kind of store, for messages."""
    schema: str
    """Version number of the layout."""
    tables: Sequence[str]
    """Statements that create the tables of a new store."""
    program: str | None = None
    """Value in `about` that distinguishes this kind of store."""
    earlier: Sequence[str] = ()
    """Versions of earlier layouts that can still be read."""
    upgrade: Callable[[sqlite3.Connection], None] | None = None
    """Function that upgrades a store from an earlier layout to this one."""


def connect(path: Path, layout: Layout, *, create: bool = True) -> sqlite3.Connection:
    """Open a store, and create its tables if it is new and may be created.

    Raises
    ------
    FileNotFoundError
        If the file does not exist and `create` is false.
    StoreError
        If the file is not a store of this kind and version, or if it cannot be read and written.
    """
    if path != MEMORY:
        if not create and not path.exists():
            raise FileNotFoundError(f"store must be the file of an earlier run, got {path}, which does not exist")
        require_place(path, layout.writer)
    try:
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise _unusable(path, error) from error
    try:
        prepare(connection, path, layout, create=create)
    except sqlite3.DatabaseError as error:
        connection.close()
        refused = (
            _unusable(path, error)
            if isinstance(error, sqlite3.OperationalError)
            else damaged_store_error(path, str(error))
        )
        raise refused from error
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """An open store, which is closed at the end of its `with` block."""

    def __init__(self, path: Path, layout: Layout, *, create: bool) -> None:
        self.path = path
        self._connection = connect(path, layout, create=create)

    def __enter__(self) -> Self:
        """Return the open store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._connection.close()


def _unusable(path: Path, error: sqlite3.OperationalError) -> StoreError:
    return StoreError(f"store must be a file that can be read and written, got {path}: {error}")


def prepare(connection: sqlite3.Connection, path: Path, layout: Layout, *, create: bool) -> None:
    """Create the tables of an empty store; raise an error for a store of another kind or version."""
    foreign = f"store must be a file written by {layout.writer}, got {path}"
    try:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{foreign}: {error}") from error
    if not names and create:
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection, path):
            _lay_out(connection, layout)
    elif "about" not in names:
        raise StoreError(foreign)
    _require_version(connection, path, layout, foreign)
    if create and layout.upgrade is not None and about(connection).get("schema") != layout.schema:
        with transaction(connection, path):
            layout.upgrade(connection)
    # If the process dies, committed data are kept; only a failure of the machine can lose the last commits.
    connection.execute("PRAGMA synchronous = NORMAL")


def _lay_out(connection: sqlite3.Connection, layout: Layout) -> None:
    for statement in (_ABOUT, *layout.tables):
        connection.execute(statement)
    entries = {"schema": layout.schema} | ({} if layout.program is None else {"program": layout.program})
    connection.executemany("INSERT INTO about VALUES (?, ?)", entries.items())


def _require_version(connection: sqlite3.Connection, path: Path, layout: Layout, foreign: str) -> None:
    entries = about(connection)
    if entries.get("program") != layout.program:
        raise StoreError(foreign)
    readable = (*layout.earlier, layout.schema)
    if entries.get("schema") not in readable:
        raise StoreError(
            f"store must have layout {' or '.join(readable)}, got {entries.get('schema')} in {path}, which another "
            "version of "
            "shesha wrote. Pass another file with --store (for studies, another folder with --out), or use that version"
        )


def about(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the description of a store from its table `about`."""
    return dict(connection.execute("SELECT name, value FROM about"))


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run a transaction; if the disk is full, raise an OSError that says so."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            with suppress(sqlite3.DatabaseError):
                connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
            raise OSError(errno.ENOSPC, f"no space left for {path}; finished results are kept") from error
        if type(error) is sqlite3.DatabaseError:
            raise damaged_store_error(path, str(error)) from error
        raise


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert SQLite errors about a damaged file to an error that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise damaged_store_error(path, str(error)) from error


def damaged_store_error(path: Path, finding: str) -> StoreError:
    """Return the error to raise for a damaged store."""
    return StoreError(
        f"store must be undamaged, got {path}, which is damaged ({finding}). Move the file away, or pass another file "
        "with --store (for studies, another folder with --out)"
    )


def require_place(path: Path, writer: str) -> None:
    """Check, before anything is written, that a path can be a store of this writer."""
    if path.is_dir():
        raise IsADirectoryError(f"store must be a file, got the folder {path}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of the store must exist, got {path}")
    if path.is_file() and not _is_database(path):
        raise StoreError(f"store must be a file written by {writer}, got {path}")


def _is_database(path: Path) -> bool:
    """Return whether a file is empty or a database; SQLite itself would treat any short file as empty."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) in (b"", _HEADER)
