"""The place of a file or of a Zarr store, taken by what is whole; never the place of anything else."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shesha.support import atomic_files

_STORES = ("zarr.json", ".zgroup", ".zarray")
"""What the folder of a Zarr store holds."""


@contextmanager
def replace_path(target: Path, *, overwrite: bool, folder: bool) -> Iterator[Path]:
    """Yield a path beside the target; what was written there, a file or a folder, then takes the target's place.

    If anything goes wrong, what was there stays, and nothing is left behind. A link stays a link, to what is new.
    """
    stream = not folder and atomic_files.is_stream(target)
    target = target if stream else target.resolve()
    _require_replaceable(target, folder)
    with _folder(target) if folder else atomic_files.replacing(target) as draft:
        yield draft
        if os.path.lexists(target) and not (overwrite or stream):
            raise FileExistsError(f"path must be new unless overwrite=True, got {target}")


def _require_replaceable(target: Path, folder: bool) -> None:
    """A folder may be replaced only if losing all of it is what was asked for."""
    if target.is_dir() and not (folder and any((target / one).is_file() for one in _STORES)):
        raise IsADirectoryError(f"path must be a file or a Zarr store to be replaced, got the directory {target}")
    if folder and target.is_file():
        raise NotADirectoryError(f"path must be a Zarr store, which is a directory, got the file {target}")


@contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Yield another name beside the folder; what is written there takes the folder's place, unless an error comes."""
    draft, old = (target.with_name(f".{secrets.token_hex(8)}.draft") for _ in range(2))
    try:
        yield draft
        # A folder can be renamed only to where there is none.
        if target.is_dir():
            target.rename(old)
        draft.rename(target)
    finally:
        if old.is_dir() and not target.is_dir():
            old.rename(target)
        for left in (draft, old):
            if left.is_dir():
                shutil.rmtree(left)
