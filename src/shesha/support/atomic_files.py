"""Writing a file so that a reader finds the old one or the new one, never half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DRAFT = ".part"
"""Ends the name of a file that is being written."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield another name beside the file; what is written there takes the file's place, unless an error comes first.

    Parameters
    ----------
    path : path
        The file to write; its folder must exist.

    Yields
    ------
    Path
        The draft, of a name that no other process writes to. A process that is killed leaves it behind.

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
    draft = place.with_name(f"{place.name}.{os.getpid()}{DRAFT}")
    try:
        yield draft
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8: whole, or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes: whole, or not at all."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove the drafts that writers left behind who died; only for the one process that may write there."""
    for draft in Path(folder).glob(f"*{DRAFT}"):
        draft.unlink(missing_ok=True)
