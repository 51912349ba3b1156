"""One writer per store, by a lock that ends with its process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shesha.support.sqlite import StoreError

LOG = logging.getLogger(__name__)


@contextmanager
def lock_for_writing(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Prevent other processes from writing a store.

    Parameters
    ----------
    path : Path
        The store; the lock is a file next to it that names the process.
    wait : bool
        Wait while another process holds the lock, instead of raising StoreError.

    Raises
    ------
    StoreError
        If another process holds the lock, and `wait` is false.
    OSError
        If no file can be written next to the store.

    Examples
    --------
    >>> import os, tempfile
    >>> store = Path(tempfile.mkdtemp()) / "a.sqlite"
    >>> with lock_for_writing(store):
    ...     store.with_name("a.sqlite.lock").read_text() == str(os.getpid())
    True
    """
    # Importing the library must not pull it in.
    from filelock import FileLock, Timeout

    place = path.with_name(path.name + ".lock")
    lock = FileLock(place)
    try:
        # The library waits for ever where a file cannot be made although its folder is there.
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
        # Some systems keep others off a locked file's content; the name is for messages alone.
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
