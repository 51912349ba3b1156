"""SQLite files with one writer at a time, a checked layout, and transactions."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shesha.support.files import open_regular, require_no_link

_HEADER = b"SQLite format 3\0"
_ABOUT = "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
MEMORY = Path(":memory:")
"""Stands for a database in memory."""
COMPANIONS = ("-wal", "-shm", "-journal", ".lock")
"""Endings of the files that SQLite, and the lock of a store, place beside it."""
_SUPER_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""Last bytes of a journal that names another file, which SQLite may delete when it opens the store."""
_STEP, _FEWEST_STEPS, _BYTES_PER_STEP = 1_000_000, 200, 10_000
"""Instructions between two looks at a statement, and the looks after which it ends: so many, and one for so many bytes
of the file. A statement on an undamaged store needs far fewer, whatever the speed of the machine.
"""
_DENIED = tuple(
    getattr(sqlite3, f"SQLITE_{action}")
    for action in ("ATTACH", "DETACH", "CREATE_TRIGGER", "CREATE_VIEW", "CREATE_VTABLE", "DROP_VTABLE", "RECURSIVE")
)


class StoreError(ValueError):
    """Raised if a file is not a store of this version, or if another run is writing to it."""


@dataclass(frozen=True)
class Layout:
    """The tables in one kind of store; in addition, every store has a table `about` that describes it."""

    writer: str
    """Name of the program that writes this kind of store, for messages."""
    schema: str
    """Version number of the layout."""
    tables: tuple[str, ...]
    """Statements that create the tables of a new store."""
    program: str | None = None
    """Value in `about` that distinguishes this kind of store."""
    optional: tuple[str, ...] = ()
    """Statements that create the tables which a store may have in addition."""


def connect(path: Path, layout: Layout, *, create: bool = True, follow_links: bool = True) -> sqlite3.Connection:
    """Open a store, and create its tables if it is new and may be created.

    With `follow_links=False`, a path that is a link is refused, as for a file in a folder of another person.

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
        if not follow_links and path.is_symlink():
            raise StoreError(f"store must be a file, got {path}, which is a link")
        require_place(path, layout.writer)
    try:
        connection = _open(path)
    except sqlite3.OperationalError as error:
        raise _unusable(path, error) from error
    try:
        prepare(connection, path, layout, create=create)
    except sqlite3.DatabaseError as error:
        connection.close()
        refused = (
            _unusable(path, error) if isinstance(error, sqlite3.OperationalError) else store_damage(path, str(error))
        )
        raise refused from error
    except BaseException:
        connection.close()
        raise
    return connection


class _Connection(sqlite3.Connection):
    """A connection that ends statements which run far longer than the size of the file can explain.

    A damaged or prepared file can make SQLite visit the same pages without end.
    """

    _steps = 0

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        self._steps = 0
        return super().execute(*statement)

    def executemany(self, *statement: Any) -> sqlite3.Cursor:
        self._steps = 0
        return super().executemany(*statement)

    def end_after(self, limit: int) -> None:
        """End statements after a number of steps."""

        def is_late() -> bool:
            self._steps += 1
            return self._steps > limit

        self.set_progress_handler(is_late, _STEP)


def _authorize(action: int, _first: Any, _second: Any, _database: Any, source: str | None) -> int:
    """Deny what no statement of ours needs, and everything that a view or a trigger asks for."""
    return sqlite3.SQLITE_DENY if action in _DENIED or source is not None else sqlite3.SQLITE_OK


def _open(path: Path) -> sqlite3.Connection:
    """Open a file so that nothing in it can run code, read other files or work without end."""
    where = path if path == MEMORY else f"{path.absolute().as_uri()}{_mode(path)}"
    connection = sqlite3.connect(where, timeout=60, isolation_level=None, factory=_Connection, uri=True)
    size = path.stat().st_size if path.is_file() else 0
    connection.end_after(_FEWEST_STEPS + size // _BYTES_PER_STEP)
    connection.set_authorizer(_authorize)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _mode(path: Path) -> str:
    """Return the options of SQLite for a file: read-only if its folder cannot be written."""
    if os.access(path.absolute().parent, os.W_OK):
        return ""
    log = path.with_name(f"{path.name}-wal")
    # With a log that holds changes, SQLite must read both, and refuses if it cannot.
    return "?mode=ro" if log.exists() and log.stat().st_size else "?immutable=1"


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
        found = _schema(connection)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{foreign}: {error}") from error
    if not found and create:
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection, path):
            # Another thread or process may have created the tables since.
            if not _schema(connection):
                _lay_out(connection, layout.tables, layout.schema, layout.program)
        found = _schema(connection)
    # Views and triggers of others must not run, so nothing is read before this check.
    if more := sorted(f"{kind} {name}" for kind, name, _ in found if kind not in ("table", "index")):
        raise StoreError(f"{foreign}, which contains the {more[0]}")
    if ("table", "about", _plain(_ABOUT)) not in found:
        raise StoreError(foreign)
    _require_version(connection, path, layout, foreign)
    required, optional = _schemas_of_layout(layout)
    if found - optional != required:
        raise StoreError(f"{foreign}, whose tables differ from those of this layout")
    # If the process dies, committed data are kept; only a failure of the machine can lose the last commits.
    connection.execute("PRAGMA synchronous = NORMAL")


Schema = frozenset[tuple[str, str, str]]


def _schema(connection: sqlite3.Connection) -> Schema:
    """Return all tables, indices, views and triggers by kind, name and definition."""
    return frozenset(
        (str(kind), str(name), _plain(str(sql)))
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master")
    )


def _plain(sql: str) -> str:
    """Return a definition without spaces, line breaks and quotes."""
    return re.sub(r'[\s"]+', "", sql)


@cache
def _schemas_of_layout(layout: Layout) -> tuple[Schema, Schema]:
    """Return the schema of a new store, and that of the tables which it may have in addition."""
    with closing(sqlite3.connect(MEMORY, isolation_level=None)) as connection:
        _lay_out(connection, layout.tables, layout.schema, layout.program)
        required = _schema(connection)
        for statement in layout.optional:
            connection.execute(statement)
        return required, _schema(connection) - required


def _lay_out(connection: sqlite3.Connection, tables: tuple[str, ...], version: str, program: str | None) -> None:
    for statement in (_ABOUT, *tables):
        connection.execute(statement)
    entries = {"schema": version} | ({} if program is None else {"program": program})
    connection.executemany("INSERT INTO about VALUES (?, ?)", entries.items())


def _require_version(connection: sqlite3.Connection, path: Path, layout: Layout, foreign: str) -> None:
    entries = about(connection)
    if entries.get("program") != layout.program:
        raise StoreError(foreign)
    if entries.get("schema") != layout.schema:
        raise StoreError(
            f"store must have layout {layout.schema}, got {entries.get('schema')} in {path}, which another version of "
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
        if isinstance(error, sqlite3.OperationalError):
            raise _unusable(path, error) from error
        if type(error) is sqlite3.DatabaseError:
            raise store_damage(path, str(error)) from error
        raise


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert SQLite errors about a damaged file to an error that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise store_damage(path, str(error)) from error


def store_damage(path: Path, finding: str) -> StoreError:
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
    if path.is_symlink() and not path.exists():
        raise StoreError(f"store must be a file, got {path}, which is a link to nothing")
    try:
        for ending in COMPANIONS:
            require_no_link(path.with_name(path.name + ending), "file of a store")
        is_foreign = path.exists() and not _is_database(path)
        journal = path.with_name(path.name + "-journal")
        names_another_file = journal.exists() and _last_bytes(journal) == _SUPER_JOURNAL
    except ValueError as error:
        raise StoreError(str(error)) from error
    if is_foreign:
        raise StoreError(f"store must be a file written by {writer}, got {path}")
    if names_another_file:
        raise StoreError(f"store must be a single file, got {path}, whose journal names another file")


def _is_database(path: Path) -> bool:
    """Return whether a file is empty or a database; SQLite itself would treat any short file as empty."""
    with open_regular(path, "store") as file:
        return file.read(len(_HEADER)) in (b"", _HEADER)


def _last_bytes(path: Path) -> bytes:
    """Return the end of a file; nothing if its writer has just removed it."""
    with suppress(FileNotFoundError), open_regular(path, "store") as file:
        file.seek(max(0, path.stat().st_size - len(_SUPER_JOURNAL)))
        return file.read()
    return b""
