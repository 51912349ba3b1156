"""Read parquet files in chunks of rows, or copy them a few columns at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from shesha.inputs.table_columns import decide, state_layout
from shesha.io._arrow_lists import arrow_vectors
from shesha.io._tables import parquet_table
from shesha.io.file_checks import UnreadableFileError, optional, reading
from shesha.support.item_lists import join_names
from shesha.support.types import Array

_UNPACKED = 24
"""Bytes of memory per value while a column is decoded: page, dictionary and array."""


class ParquetMatrix:
    """A column of vectors, or else columns of numbers, read one row group at a time."""

    def __init__(self, path: Path, key: str | None) -> None:
        self._path = path
        with reading(path):
            self._file = optional("pyarrow.parquet", path).ParquetFile(path, memory_map=True)
            groups = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        self._starts = [0, *accumulate(groups)]
        self._lock = Lock()
        self._last: tuple[int, Array] | None = None
        table = parquet_table(path)
        layout = decide(table.columns, str(path), None if key is None else [key])
        matrices = [*layout.vectors, *layout.families, *["numbers"] * bool(layout.matrix)]
        if len(matrices) > 1:
            raise ValueError(f"key must name one of the columns {join_names(matrices)} of {path}, got {key}")
        if key is not None and not matrices:
            known = [column.name for column in table.columns if column.kind != "other"]
            raise ValueError(f"key must be one of {join_names(known)} in {path}, got {key!r}")
        self._vectors = next(iter(layout.vectors.values()), None)
        columns = layout.matrix or next(iter(layout.families.values()), ())
        self._columns = [self._vectors[0].name] if self._vectors else [column.name for column in columns]
        if not self._columns or not self._starts[-1]:
            raise UnreadableFileError(f"{path} must contain rows of numbers, got none")
        filled = int(np.flatnonzero(groups)[0])
        first = [next(self._batches(filled, [name], 1)) for name in self._columns]
        self.shape = (self._starts[-1], *(first[0].shape[1:] if self._vectors else (len(first),)))
        self.dtype = np.result_type(*first)
        state_layout(path.name, layout, self.shape, next(iter(layout.vectors), None))

    @property
    def is_list(self) -> bool:
        """Whether each row is a vector in one column, so that other columns are not features."""
        return self._vectors is not None

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows, read from their row groups."""
        start, stop, _ = rows.indices(self._starts[-1])
        blocks = []
        while start < stop:
            place = bisect_right(self._starts, start) - 1
            first, end = self._starts[place], min(stop, self._starts[place + 1])
            blocks.append(self._group(place)[start - first : end - first])
            start = end
        return np.concatenate(blocks) if blocks else np.empty((0, *self.shape[1:]), dtype=self.dtype)

    def pieces(self, n_bytes: int) -> Iterator[tuple[slice, slice, Array]]:
        """Yield (rows, columns, values) of pieces that each need about `n_bytes` bytes for decoding."""
        width = self.shape[1]
        for place, (start, end) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            together = 1 if self._vectors else min(max(1, n_bytes // (_UNPACKED * (end - start))), width)
            n_rows = max(1, n_bytes // (_UNPACKED * (width if self._vectors else together)))
            for first in range(0, len(self._columns), together):
                names, row = self._columns[first : first + together], start
                columns = slice(0, width) if self._vectors else slice(first, first + len(names))
                for block in self._batches(place, names, n_rows):
                    yield slice(row, row + len(block)), columns, block
                    row += len(block)

    def _group(self, place: int) -> Array:
        # Slices are usually read in order, so it suffices to keep the last group.
        with self._lock:
            if self._last is None or self._last[0] != place:
                with reading(self._path):
                    table = self._file.read_row_group(place, columns=self._columns)
                self._last = place, self._values(table)
            return self._last[1]

    def _batches(self, place: int, names: list[str], n_rows: int) -> Iterator[Array]:
        """Yield the values of the given columns in a row group, `n_rows` rows at a time."""
        options = {"batch_size": n_rows, "row_groups": [place], "columns": names, "use_threads": False}
        with reading(self._path):
            batches = self._file.iter_batches(**options)
        table = optional("pyarrow", self._path).Table
        while True:
            with reading(self._path):
                batch = next(batches, None)
                if batch is None:
                    return
                found = table.from_batches([batch])
            yield self._values(found)

    def _values(self, table: Any) -> Array:
        if self._vectors is None:
            with reading(self._path):
                return np.column_stack([column.to_numpy() for column in table.columns])
        with reading(self._path):
            array = table.column(0).combine_chunks()
        return arrow_vectors(self._path, self._columns[0], self._vectors[1], getattr(array, "storage", array), 0)
