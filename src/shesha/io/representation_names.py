"""Unique names for arrays from several files."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path


def full_name(path: Path, name: str, taken: Container[str], *, alone: bool) -> str:
    """Return an array's name, preceded by the file's name or path if this is needed to make it unique."""
    full = name if alone or name == path.stem else f"{path.stem}:{name}"
    return f"{path}:{name}" if full in taken else full
