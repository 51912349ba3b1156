"""Under a temporary name first, then renamed: what is written is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STORES = ("zarr.json", ".zgroup", ".zarray")
"""What the folder of a Zarr store holds."""


@contextmanager
def replacing(target: Path, *, overwrite: bool, folder: bool) -> Iterator[Path]:
    """Yield a path beside the target; what was written there, a file or a folder, then takes the target's place.

    If anything goes wrong, what was there stays, and nothing is left behind. A link stays a link, to what is new.
    """
    target = target.resolve()
    _require_replaceable(target, folder)
    temporary = _beside(target)
    try:
        yield temporary
        if os.path.lexists(target) and not overwrite:
            raise FileExistsError(f"path must be new unless overwrite=True, got {target}")
        if target.is_dir():
            _exchange(temporary, target)
        else:
            temporary.replace(target)
    finally:
        _remove(temporary)


def _require_replaceable(target: Path, folder: bool) -> None:
    """A folder may be replaced only if losing all of it is what was asked for."""
    if target.is_dir() and not (folder and any((target / one).is_file() for one in _STORES)):
        raise IsADirectoryError(f"path must be a file or a Zarr store to be replaced, got the directory {target}")
    if folder and target.is_file():
        raise NotADirectoryError(f"path must be a Zarr store, which is a directory, got the file {target}")


def _beside(target: Path) -> Path:
    # A name of its own, since two may write the same file at once, and short, since names have limits.
    return target.with_name(f".{secrets.token_hex(8)}.part")


def _exchange(temporary: Path, target: Path) -> None:
    """Put one folder in the place of another: a folder can be renamed only to where there is none."""
    old = _beside(target)
    target.rename(old)
    try:
        temporary.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
