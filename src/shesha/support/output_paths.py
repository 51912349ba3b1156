"""Checks of the paths of output files: pipes and devices, read-only files, links."""

from __future__ import annotations

import os
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
