"""Files: stamps, checks of output paths, and atomic writing."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DEVICES = ("/dev/", "/proc/")
"""Folders that contain devices and open files, such as /dev/stdout, which may be a regular file that the shell opened.
"""


def is_stream(place: Path) -> bool:
    """Return whether a path is a pipe, a device or an open file, which can be written but not replaced."""
    if str(place.absolute()).startswith(_DEVICES):
        return True
    return place.exists() and not place.is_file() and not place.is_dir()


def require_replaceable(place: Path) -> None:
    """Raise an error for a read-only file (even for root) or a link that points to itself."""
    if Path(os.path.realpath(place)).is_symlink():
        raise OSError(f"output must be a file, got {place}, which is a link to itself")
    if place.is_file() and not is_stream(place) and not place.stat().st_mode & 0o222:
        raise PermissionError(f"output must be writable, got {place}, which is read-only")


def file_stamp(path: Path) -> str:
    """Return a stamp that changes when a file, or a directory store, changes; the content is not read.

    Size and time of modification are not enough: `cp -p` and archive programs set the time of a replaced file. The
    number of the file and the time of its last status change cannot be set.
    """
    if not path.is_dir():
        known = path.stat()
        return f"{known.st_size}:{known.st_mtime_ns}:{known.st_ctime_ns}:{known.st_ino}"
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    parts = [f"{file.relative_to(path)}:{file_stamp(file)}" for file in inside]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
DRAFT = ".part"
"""Suffix of temporary files."""
_LONGEST = 200
"""Largest number of bytes of a file's name that the name of its temporary file repeats."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file in the same folder, which replaces the target if no error occurs.

    The new file gets the mode and the owner of the file that it replaces. If the path is a link, the file to which it
    leads is replaced. If the path is a pipe or a device, the complete temporary file is copied to it.

    Parameters
    ----------
    path : path
        File to write; its folder must exist.

    Yields
    ------
    Path
        Path of the temporary file, a name that no other thread or process uses. If the process is killed, this file
        remains.

    Raises
    ------
    PermissionError
        If the file exists and is read-only for everyone.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with replacing(path) as draft:
    ...     n_written = draft.write_text("1 2 3")
    ...     path.exists()
    False
    >>> path.read_text()
    '1 2 3'
    """
    place = Path(path)
    require_replaceable(place)
    try:
        with _through(place) if is_stream(place) else _rename_draft(Path(os.path.realpath(place))) as draft:
            yield draft
    except OSError as error:
        # Writing to an open file fails without its name, for example on a full disk.
        if error.errno in _DISK and error.filename is None:
            error.filename = str(place)
        raise


@contextmanager
def _through(place: Path) -> Iterator[Path]:
    """Yield a temporary file in another folder, and then copy it into the stream."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / place.name
        yield draft
        with draft.open("rb") as source, place.open("wb") as target:
            shutil.copyfileobj(source, target)


@contextmanager
def _rename_draft(place: Path) -> Iterator[Path]:
    """Yield a temporary file in the same folder; give it the old file's mode and owner, and rename it."""
    kept = os.fsencode(place.name)[:_LONGEST].decode(errors="ignore")
    draft = place.with_name(f"{kept}.{os.getpid()}.{secrets.token_hex(4)}{DRAFT}")
    earlier = place.stat() if place.exists() else None
    try:
        if earlier is not None:
            # The mode is restricted before there is any content, so that other users cannot read private content.
            draft.touch(mode=0o600)
        yield draft
        if earlier is not None:
            _take_over(draft, earlier)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _take_over(draft: Path, earlier: os.stat_result) -> None:
    """Copy the owner and mode of the earlier file to the temporary file, as far as permitted."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(draft, earlier.st_uid, earlier.st_gid)
    draft.chmod(stat.S_IMODE(earlier.st_mode))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file atomically, as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes to a file atomically."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files left by ended processes; only the process that may write there may call this."""
    for draft in Path(folder).glob(f"*{DRAFT}"):
        draft.unlink(missing_ok=True)
