"""Overwrite a file or a Zarr store only on request, and either completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shesha.support import atomic_files

_STORES = ("zarr.json", ".zgroup", ".zarray")
"""Files by which the folder of a Zarr store is recognised."""


@contextmanager
def replace_path(target: Path, *, overwrite: bool, folder: bool) -> Iterator[Path]:
    """Yield a temporary path; the file or folder written there then replaces the target.

    After an error, the target is unchanged and no temporary file remains. If the target is a link, the file to which it
    points is replaced.
    """
    atomic_files.require_replaceable(target)
    stream = not folder and atomic_files.is_stream(target)
    target = target if stream else Path(os.path.realpath(target))
    _require_replaceable(target, folder)
    with _folder(target) if folder else atomic_files.replacing(target) as draft:
        yield draft
        if os.path.lexists(target) and not (overwrite or stream):
            raise FileExistsError(f"path must be new unless overwrite=True, got the existing {target}")


def _require_replaceable(target: Path, folder: bool) -> None:
    """Refuse to replace a folder that is not a Zarr store."""
    if target.is_dir() and not (folder and any((target / marker).is_file() for marker in _STORES)):
        raise IsADirectoryError(f"path must be a file or a Zarr store to be replaced, got the directory {target}")
    if folder and target.is_file():
        raise NotADirectoryError(f"path must be a Zarr store, which is a directory, got the file {target}")


@contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which replaces the target unless an error occurs."""
    draft, old = (target.with_name(f".{secrets.token_hex(8)}.draft") for _ in range(2))
    try:
        yield draft
        # A folder cannot be given the name of an existing folder.
        if target.is_dir():
            target.rename(old)
        draft.rename(target)
    finally:
        if old.is_dir() and not target.is_dir():
            old.rename(target)
        for leftover in (draft, old):
            if leftover.is_dir():
                shutil.rmtree(leftover)
