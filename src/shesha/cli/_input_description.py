"""Describe input files by their names, sizes and fingerprints."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def describe_inputs(files: Sequence[Path], model: object) -> str:
    """Return a name for the data on a card: the files, or the model that produced the data."""
    return ", ".join(path.name for path in files) or str(model)


def what_was_run(files: Sequence[Path]) -> dict[str, str]:
    """Return the command and a fingerprint of each file, from which readers can identify the files."""
    facts = {"command": shlex.join(["shesha", *sys.argv[1:]])}
    return facts | {f"file {path}": fingerprint(path) for path in files if path.exists()}


def fingerprint(path: Path) -> str:
    """Return a file's size and SHA-256, or for a folder a hash over the names and hashes of its files."""
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{file.relative_to(path).as_posix()} {fingerprint(file)}" for file in inside]
        all_digests = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return f"{len(inside):,} files, SHA-256 {all_digests} of their names and hashes"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{path.stat().st_size:,} bytes, SHA-256 {digest}"
