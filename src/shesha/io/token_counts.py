"""Read the token counts that an extraction stored with its arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_LONGEST_HEAD = 10**8
"""Maximum header size of a valid safetensors file, in bytes."""


class ReadArrays(dict[str, Any]):
    """The arrays of a file, by name.

    Attributes
    ----------
    n_tokens : tuple of int or None
        Number of tokens of each input, which an audit checks as a covariate; None if the file does not record it.
    opened : mapping of Path to Contents
        The files, with what else they contain.
    """

    def __init__(
        self, arrays: Mapping[str, Any], n_tokens: tuple[int, ...] | None, opened: Mapping[Path, Any] | None = None
    ) -> None:
        super().__init__(arrays)
        self.n_tokens, self.opened = n_tokens, dict(opened or {})


def shared_token_counts(paths: Iterable[str | os.PathLike[str]]) -> tuple[int, ...] | None:
    """Return the numbers of tokens that files record; None if no file does or if they disagree.

    Examples
    --------
    >>> shared_token_counts(["missing.npy"]) is None
    True
    """
    files = [file for path in paths for file in _files(Path(path))]
    records = {counts for file in files if (counts := recorded_token_counts(file)) is not None}
    return records.pop() if len(records) == 1 else None


def recorded_token_counts(path: Path) -> tuple[int, ...] | None:
    """Return the number of tokens of each input from the metadata of a .safetensors file or a .zarr store."""
    try:
        counts = _record(path)["inputs"]["n_tokens"]
        return tuple(int(count) for count in counts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Damaged files are reported when their arrays are read; here, such a file simply has no token counts.
        return None


def _record(path: Path) -> Any:
    if path.suffix == ".zarr":
        return json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"]["shesha"]
    if path.suffix != ".safetensors":
        raise ValueError("files of other formats contain no token counts")
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(_LONGEST_HEAD, path.stat().st_size):
            raise ValueError("no header")
        return json.loads(json.loads(stream.read(length))["__metadata__"]["shesha"])


def _files(path: Path) -> list[Path]:
    """Return a file or store itself, or the files of any other directory."""
    return sorted(path.iterdir()) if path.is_dir() and path.suffix != ".zarr" else [path]
