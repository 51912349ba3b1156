"""What the arrays of several files are called."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path


def full_name(path: Path, name: str, taken: Container[str], *, alone: bool) -> str:
    """Return the name of an array of a file: with the file's where there are others, with its path if that is taken."""
    full = name if alone or name == path.stem else f"{path.stem}:{name}"
    return f"{path}:{name}" if full in taken else full
