"""The ending and the stem of a file name, of which a compressed file has two, as in 'table.csv.gz'."""

from __future__ import annotations

from pathlib import Path

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Endings of compressed files."""


def file_ending(path: Path) -> str:
    """Return the ending of a file name in lower case, such as '.npy' or '.csv.gz'."""
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + last if last in COMPRESSED else last


def file_stem(path: Path) -> str:
    """Return a file name without its ending."""
    ending = file_ending(path)
    return path.name[: len(path.name) - len(ending)] if ending else path.name
