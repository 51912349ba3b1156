"""One writer per store, ensured by a lock that ends with its process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shesha.support.regular_files import require_no_link
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
