"""Reading files that other people may have written: regular files only, of a limited size, as valid text."""

from __future__ import annotations

import io
import json
import os
import stat
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from shesha.support.memory import memory_budget, readable


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
                f"{name} must fit the memory budget of {readable(budget)}, got {readable(size)} in {path}: raise "
                "SHESHA_MEMORY"
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


def _parse(loads: Any, language: str, text: str, path: Path, name: str, **options: Any) -> Any:
    try:
        return loads(text, **options)
    except RecursionError as error:
        raise ValueError(f"{name} must be valid {language}, got too many nested levels in {path}") from error
    except ValueError as error:
        raise ValueError(f"{name} must be valid {language}, got an error in {path}: {error}") from error
