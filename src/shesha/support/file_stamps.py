"""Stamps of files, which change when a file changes."""

from __future__ import annotations

import hashlib
from pathlib import Path


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
