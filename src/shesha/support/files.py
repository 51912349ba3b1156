"""Reading files that other people may have written, checks of output paths, and atomic writing."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from shesha.support.memory import format_bytes, memory_budget
from shesha.support.optional import require


def cache_folder() -> Path:
    """Return the folder for files that can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shesha"


def open_regular(path: Path, name: str = "path", *, follow_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading; raise ValueError for a pipe, a device, or (if requested) a link.

    Opening a pipe waits for a writer, and a device such as /dev/zero never ends.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the argument, for messages.
    follow_links : bool
        Whether the path may be a link. Files that a folder of another person names must not be links.
    """
    if not follow_links:
        require_no_link(path, name)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{name} must be a file, got the folder {path}")
        raise ValueError(f"{name} must be a regular file, got {path}, which is a pipe or a device")
    return os.fdopen(descriptor, "rb")


def require_no_link(path: Path, name: str = "path") -> None:
    """Raise ValueError for a link, and for anything else that is neither absent nor a regular file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise ValueError(f"{name} must be a regular file, got {path}, which is {kind}")


def read_bytes(path: Path, name: str = "path", *, follow_links: bool = True) -> bytes:
    """Return the content of a regular file that fits the memory budget."""
    with open_regular(path, name, follow_links=follow_links) as stream:
        size, budget = os.fstat(stream.fileno()).st_size, memory_budget()
        if size > budget:
            raise ValueError(
                f"{name} must fit the memory budget of {format_bytes(budget)}, got {format_bytes(size)} in {path}: "
                "raise SHESHA_MEMORY"
            )
        return stream.read()


def read_text(path: Path, name: str = "path", *, follow_links: bool = True) -> str:
    """Return the text of a regular file in UTF-8, with or without a byte order mark; an error names the line."""
    return decode(read_bytes(path, name, follow_links=follow_links), path, name)


def read_lines(path: Path, name: str = "path") -> list[str]:
    """Return the lines of a text file in UTF-8, without their ends."""
    with io.StringIO(read_text(path, name), newline=None) as stream:
        return [line.removesuffix("\n") for line in stream]


def decode(content: bytes, path: Path, name: str = "path") -> str:
    """Return bytes of a file as text; for other bytes than UTF-8, raise ValueError that names the file and the line."""
    if fault := text_fault(content.splitlines(keepends=True)):
        raise ValueError(f"{name} must be text in UTF-8, got {fault} of {path}: save the file as UTF-8")
    return content.decode("utf-8-sig")


def text_fault(lines: Iterable[bytes]) -> str:
    """Return what makes lines other than text in UTF-8, such as "the byte 0xff in line 3"; "" for such text."""
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "UTF-16 in line 1"
        position = line.find(b"\0")
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            position = error.start
        if position >= 0:
            return f"the byte 0x{line[position]:02x} in line {number}"
    return ""


def read_json(path: Path, name: str = "path", *, follow_links: bool = True, **options: Any) -> Any:
    """Return the document in a JSON file; raise ValueError for anything else."""
    return _parse(json.loads, "JSON", read_text(path, name, follow_links=follow_links), path, name, **options)


def read_toml(path: Path, name: str = "path") -> dict[str, Any]:
    """Return the tables in a TOML file; raise ValueError for anything else."""
    tables: dict[str, Any] = _parse(tomllib.loads, "TOML", read_text(path, name), path, name)
    return tables


def read_image(path: Path, name: str = "image") -> Any:
    """Return an image file in colour, as an image of Pillow that fits the memory budget."""
    library = require("PIL.Image", "vision", "pillow is needed to open images")
    with open_regular(path, name) as stream:
        try:
            with library.open(stream) as image:
                if 3 * image.width * image.height > memory_budget():
                    raise ValueError(f"{image.width:,} x {image.height:,} pixels exceed the memory budget")
                if image.format == "EPS":
                    raise ValueError("an EPS file is a program, which is not run; save its pixels as PNG")
                return in_colour(image)
        except Exception as error:  # Pillow raises errors of any kind for damaged files.
            raise ValueError(f"{name} must be an undamaged 8-bit image file, got {path}: {error}") from error


def in_colour(image: Any) -> Any:
    """Return an image of Pillow with three channels of 8 bits; other depths are refused, as Pillow would cut them."""
    if image.mode.startswith(("I", "F")):
        raise ValueError(
            f"its pixels are not 8-bit (mode {image.mode}), and brighter ones than 255 would turn white; scale all "
            "images alike to 0 ... 255, and save them as 8-bit"
        )
    return image.convert("RGB")


def _parse(loads: Any, language: str, text: str, path: Path, name: str, **options: Any) -> Any:
    try:
        return loads(text, **options)
    except RecursionError as error:
        raise ValueError(f"{name} must be valid {language}, got too many nested levels in {path}") from error
    except ValueError as error:
        raise ValueError(f"{name} must be valid {language}, got an error in {path}: {error}") from error


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
    """Write a text to a file atomically, as UTF-8; bytes of file names that are not UTF-8 are shown as escapes."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes to a file atomically."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files left by ended processes; only the process that may write there may call this."""
    for draft in Path(folder).glob(f"*{DRAFT}"):
        draft.unlink(missing_ok=True)
