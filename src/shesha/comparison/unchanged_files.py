"""Check that files do not change while a command reads them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shesha.io.file_checks import UnreadableFileError


def file_stamp(path: Path) -> str:
    """Return a stamp that changes when a file, or a directory store, changes; the content is not read."""
    if not path.is_dir():
        known = path.stat()
        return f"{known.st_size}:{known.st_mtime_ns}"
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    parts = [f"{file.relative_to(path)}:{file_stamp(file)}" for file in inside]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def require_unchanged(path: Path, stamp: str) -> None:
    """Refuse a file whose stamp has changed since the command first read it."""
    if file_stamp(path) != stamp:
        raise UnreadableFileError(f"{path} must not change while the command runs, got a file that has changed")
