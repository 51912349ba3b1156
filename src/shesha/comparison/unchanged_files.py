"""Check that files do not change while a command reads them."""

from __future__ import annotations

from pathlib import Path

from shesha.io.file_checks import UnreadableFileError
from shesha.support.file_stamps import file_stamp


def require_unchanged(path: Path, stamp: str) -> None:
    """Refuse a file whose stamp has changed since the command first read it."""
    if file_stamp(path) != stamp:
        raise UnreadableFileError(f"{path} must not change while the command runs, got a file that has changed")
