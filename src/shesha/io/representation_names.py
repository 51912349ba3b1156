"""Unique names for the arrays of several files."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path


def full_name(path: Path, name: str, taken: Container[str], *, alone: bool) -> str:
    """Return the name of an array, with the file's name or path if needed to be unique."""
    full = name if alone or name == path.stem else f"{path.stem}:{name}"
    return f"{path}:{name}" if full in taken else full
