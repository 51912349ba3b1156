"""Directories of files that contain consecutive rows of one matrix."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from shesha.io.file_checks import UnreadableFileError
from shesha.support.natural_order import natural_key
from shesha.support.provenance import ignore_statements, state
from shesha.support.types import Array

Opener = Callable[[Path], Any]


class ShardedMatrix:
    """The files of a directory as one matrix, in the order of their names (part-2 before part-10).

    Only the shape and data type of each file are kept; a file is opened when its rows are read.
    """

    def __init__(self, path: Path, openers: dict[str, Opener]) -> None:
        self.files = sorted(_shards(path, openers), key=lambda file: natural_key(file.name))
        self._openers = openers
        self._lock = Lock()
        self._last: tuple[int, Any] | None = None
        widths: list[int] = []
        dtypes: list[np.dtype[Any]] = []
        lengths: list[int] = []
        for file in self.files:
            with ignore_statements():
                shard = openers[file.suffix.lower()](file)
            if len(shard.shape) != 2 or (widths and shard.shape[1] != widths[0]):
                expected = "a matrix" if not widths else f"{widths[0]} features, as {self.files[0].name} has"
                raise UnreadableFileError(f"{file} must contain {expected}, got shape {tuple(shard.shape)}")
            widths.append(int(shard.shape[1]))
            dtypes.append(np.dtype(shard.dtype))
            lengths.append(int(shard.shape[0]))
        self._starts = [0, *accumulate(lengths)]
        self.shape = (self._starts[-1], widths[0])
        self.dtype = np.result_type(*dtypes)
        state(f"{path.name}: {len(self.files)} files of consecutive rows, in the order of their names")

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows from the files that contain them."""
        start, stop, _ = rows.indices(self._starts[-1])
        blocks: list[Array] = []
        while start < stop:
            place = bisect_right(self._starts, start) - 1
            first, end = self._starts[place], min(stop, self._starts[place + 1])
            blocks.append(self._open(place)[start - first : end - first])
            start = end
        if len(blocks) == 1:
            # A single block stays a memory map, whose pages are read ahead.
            return blocks[0]
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]), dtype=self.dtype)

    def _open(self, place: int) -> Any:
        # Only the last file stays open, because slices are read in order and there may be thousands of files.
        with self._lock:
            if self._last is None or self._last[0] != place:
                file = self.files[place]
                with ignore_statements():
                    self._last = place, self._openers[file.suffix.lower()](file)
            return self._last[1]


def _shards(path: Path, openers: dict[str, Opener]) -> list[Path]:
    files = [file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_"))]
    shards = [file for file in files if file.suffix.lower() in openers]
    endings = " or ".join(openers)
    if not shards:
        raise UnreadableFileError(f"{path} must contain {endings} files with consecutive rows, got none")
    if len({file.suffix.lower() for file in shards}) > 1:
        names = ", ".join(sorted(file.name for file in shards)[:4])
        raise UnreadableFileError(f"{path} must contain files of one kind, {endings}, got both: {names}")
    return shards
