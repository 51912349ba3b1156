"""Description of input files: names, sizes and fingerprints."""

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
    """Name the data of a card: the files, or the model that produced them."""
    return ", ".join(path.name for path in files) or str(model)


def what_was_run(files: Sequence[Path]) -> dict[str, str]:
    """Return the command and a fingerprint of each file, by which readers can identify the files."""
    facts = {"command": shlex.join(["shesha", *sys.argv[1:]])}
    return facts | {f"file {path}": fingerprint(path) for path in files if path.exists()}


def fingerprint(path: Path) -> str:
    """Return the size and SHA-256 of a file; for a folder, the hash of the names and hashes in it."""
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{file.relative_to(path).as_posix()} {fingerprint(file)}" for file in inside]
        all_digests = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return f"{len(inside):,} files, SHA-256 {all_digests} of their names and hashes"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{path.stat().st_size:,} bytes, SHA-256 {digest}"
