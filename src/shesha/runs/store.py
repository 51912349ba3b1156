"""The store of results: texts under keys in an SQLite file, with one writer at a time, ensured by a lock."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shesha.support import sqlite, types as kinds
from shesha.support.files import require_no_link
from shesha.support.sqlite import StoreError

LOG = logging.getLogger(__name__)


@contextmanager
def lock_for_writing(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Prevent other processes from writing to a store.

    Parameters
    ----------
    path : Path
        File of the store. The lock is a file in the same folder, which contains the number of the process.
    wait : bool
        Whether to wait if another process holds the lock; otherwise, StoreError is raised.

    Raises
    ------
    StoreError
        If another process holds the lock and `wait` is false, or if the lock is a link or a pipe.
    OSError
        If no file can be written in the folder of the store.

    Examples
    --------
    >>> import os, tempfile
    >>> store = Path(tempfile.mkdtemp()) / "a.sqlite"
    >>> with lock_for_writing(store):
    ...     store.with_name("a.sqlite.lock").read_text() == str(os.getpid())
    True
    """
    # Imported here, because importing shesha must not import filelock.
    from filelock import FileLock, Timeout

    place = path.with_name(path.name + ".lock")
    lock = FileLock(place)
    try:
        require_no_link(place, "lock of a store")
    except ValueError as error:
        raise StoreError(str(error)) from error
    try:
        # filelock would wait forever if the folder exists but the file cannot be created.
        place.open("a").close()
        lock.acquire(blocking=False)
    except Timeout:
        owner = f"another run (process {_owner(place)})"
        if not wait:
            raise StoreError(f"store must have only one writer, but {owner} is writing {path}") from None
        LOG.warning("%s is writing %s; this run waits until the other run ends", owner, path)
        lock.acquire()
    except OSError as error:
        raise type(error)(f"store must be in a writable folder, got {path}: {error}") from error
    try:
        # Some systems deny access to a locked file; its content is needed only for messages.
        with suppress(OSError):
            place.write_text(str(os.getpid()))
        yield
    finally:
        lock.release()


def _owner(place: Path) -> str:
    try:
        return place.read_text().strip() or "unknown"
    except OSError:
        return "unknown"


LAYOUT = sqlite.Layout(
    "`shesha compare --store` or `shesha study run`",
    "2",
    (
        """CREATE TABLE result (
    kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID""",
    ),
    program="results",
)
_LAST = "\U0010ffff"
_SEAL = 8
"""Length of the checksum that precedes each text."""


def _add_checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}{text}"


class ResultStore(sqlite.Database):
    """Texts (such as JSON) by kind and key, in one SQLite file or, without a path, in memory.

    If the process is killed, all texts for which `put` had returned are kept. Only one process may write at a time; see
    `open_for_writing`. Each thread needs a `ResultStore` of its own for the same file. Each text is stored with a
    checksum; a text that was altered later raises an error.

    Parameters
    ----------
    path : path, optional
        File of the store. By default, the texts are kept in memory.
    create : bool
        Whether to create the file if it does not exist; if false, a missing file raises an error.

    Raises
    ------
    StoreError
        If the file is damaged, or belongs to another kind or version of store.

    Examples
    --------
    >>> with ResultStore() as store:
    ...     store.put("square", {"3": "9", "4": "16"})
    ...     store.get("square", "4"), store.get("cube", "4"), dict(store.items("square"))
    ('16', None, {'3': '9', '4': '16'})
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        super().__init__(sqlite.MEMORY if path is None else Path(path), LAYOUT, create=create)

    @property
    def is_kept(self) -> bool:
        """Whether the store outlives this process."""
        return self.path != sqlite.MEMORY

    def put(self, kind: str, values: Mapping[str, str]) -> None:
        """Write texts in a single transaction; earlier texts under the same keys are replaced."""
        with sqlite.transaction(self._connection, self.path):
            rows = ((kind, key, _add_checksum(value)) for key, value in values.items())
            self._connection.executemany("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", rows)

    def get(self, kind: str, key: str) -> str | None:
        """Return the text under a key; None if there is none."""
        query = "SELECT value FROM result WHERE kind = ? AND key = ?"
        with sqlite.reading(self.path):
            row = self._connection.execute(query, (kind, key)).fetchone()
        return None if row is None else self._verify_checksum(kind, key, row[0])

    def items(self, kind: str, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield the keys and texts of one kind, in order of keys, optionally only those with a prefix."""
        query = "SELECT key, value FROM result WHERE kind = ? AND key >= ? AND key < ? ORDER BY key"
        with sqlite.reading(self.path):
            for key, value in self._connection.execute(query, (kind, prefix, prefix + _LAST)):
                yield key, self._verify_checksum(kind, key, value)

    def _verify_checksum(self, kind: str, key: str, value: Any) -> str:
        """Return the text of a stored value; raise an error if its checksum does not match."""
        text = value[_SEAL:] if isinstance(value, str) else ""
        if not isinstance(value, str) or _add_checksum(text) != value:
            raise sqlite.store_damage(self.path, f"{kind} {key:.40}")
        return text

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Convert errors about a stored text whose values have another form to one that names the store."""
        try:
            yield
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise sqlite.store_damage(self.path, f"{type(error).__name__}: {error}") from error

    def forget(self, kind: str, keys: Iterable[str]) -> None:
        """Remove the texts under the given keys, if they exist."""
        with sqlite.transaction(self._connection, self.path):
            self._connection.executemany("DELETE FROM result WHERE kind = ? AND key = ?", ((kind, key) for key in keys))


@contextmanager
def open_for_writing(path: str | os.PathLike[str] | None, *, wait: bool = True) -> Iterator[ResultStore]:
    """Open a store and lock it against other writers; without a path, open one in memory.

    Parameters
    ----------
    path : path or None
        File of the store, which is created if it does not exist; its folder must exist. None means in memory.
    wait : bool
        Whether to wait while another process writes; otherwise, StoreError is raised.
    """
    if path is None:
        with ResultStore() as store:
            yield store
        return
    place = kinds.path(path, "store")
    sqlite.require_place(place, LAYOUT.writer)
    with lock_for_writing(place, wait=wait), ResultStore(place) as store:
        yield store
