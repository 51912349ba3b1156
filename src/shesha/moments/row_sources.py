"""Sources of rows that may not fit in memory: files and streams of batches."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shesha.inputs import validation as check
from shesha.io import open_matrix
from shesha.moments.sums import (
    batch_sides,
    panel_rows,
)
from shesha.support import memory, types as kinds
from shesha.support.device_arrays import stays, to_host
from shesha.support.files import file_stamp
from shesha.support.progress import track

Item = TypeVar("Item")
_PANELS = 8
"""Number of panels that are read together, if memory allows."""
_WAITING = 3
"""Number of chunks in memory at the same time: one in use, one waiting, and one being read."""
_ANNOUNCED = 3
"""Number of chunks that the operating system is asked to read in advance, to keep the disk busy."""


def stretch_rows(sides: Sequence[Any]) -> int:
    """Number of rows to read together: whole panels within a small share of the memory budget."""
    rows = panel_rows([int(side.shape[1]) for side in sides])
    on_host = [side for side in sides if getattr(getattr(side, "dtype", None), "kind", "") in tuple("fiub")]
    panel = rows * sum(int(side.shape[1]) * max(1, np.dtype(side.dtype).itemsize) for side in on_host)
    room = memory.memory_budget() // 8 // max(1, _WAITING * panel)
    return int(rows * min(_PANELS, max(1, room)))


def read_ahead(sides: Sequence[Any], starts: range) -> Iterator[list[Any]]:
    """For each start, yield the rows of all sides while the next chunk is read in the background."""
    yield from _one_ahead(_read(sides, starts))


def _read(sides: Sequence[Any], starts: range) -> Iterator[list[Any]]:
    step, announced = starts.step, starts.start
    for start in starts:
        for side in sides:
            _announce(side, announced, start + _ANNOUNCED * step)
        announced = start + _ANNOUNCED * step
        yield [_read_pages(side[start : start + step]) for side in sides]


def _one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items; a background thread prepares the next one while the current one is in use."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(lambda: list(islice(items, 1)))
        while head := ahead.result():
            ahead = pool.submit(lambda: list(islice(items, 1)))
            yield head[0]


def _read_pages(rows: Any) -> Any:
    """Load the pages of memory-mapped rows into memory, and return the rows."""
    if not isinstance(rows, np.memmap) or not rows.size:
        return rows
    if not rows.flags.c_contiguous:
        return np.array(rows)
    pages = rows.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE]
    # Unlike a Python loop or `mmap.madvise`, a reduction lets other threads run.
    pages.max()
    return rows


def _announce(side: Any, start: int, stop: int) -> None:
    """Ask the system to read a range of rows from a file in advance; the system may ignore this hint."""
    if not hasattr(os, "posix_fadvise") or not isinstance(side, np.memmap) or not side.flags.c_contiguous:
        return
    rows = side[start:stop]
    if not rows.size or side.filename is None:
        return
    try:
        descriptor = os.open(side.filename, os.O_RDONLY)
    except OSError:
        return
    try:
        os.posix_fadvise(descriptor, _place_in_file(rows), rows.nbytes, os.POSIX_FADV_WILLNEED)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _place_in_file(rows: Any) -> int:
    """Byte offset in the file at which the given memory-mapped rows start."""
    start = rows.offset - rows.offset % mmap.ALLOCATIONGRANULARITY
    mapped = np.frombuffer(rows._mmap, dtype=np.uint8)
    return int(start + rows.ctypes.data - mapped.ctypes.data)


def open_side(side: Any, name: str) -> Any:
    """Return an object whose rows can be sliced: an opened file or the array itself."""
    if isinstance(side, str | os.PathLike):
        return open_matrix(side)
    if hasattr(side, "tocsr"):
        return side.tocsr()
    if stays(side) or (hasattr(side, "dtype") and len(kinds.shape_of(side)) == 2):
        return side
    array = to_host(side, name)
    check.shape(array.shape, name, 0, 0)
    return array


def read_chunks(sides: Sequence[Any], start: int) -> Iterator[list[Any]]:
    """Yield the rows of all sides in chunks, starting at row `start`, while the next chunk is read."""
    starts = range(start, int(sides[0].shape[0]), stretch_rows(sides))
    yield from track(read_ahead(sides, starts), len(starts), "chunks of rows")


def stream(batches: Iterable[Any], names: Sequence[str]) -> Iterator[list[Any]]:
    """Yield the batches of a stream as lists of one matrix per name."""
    for batch in batches:
        sides = [side if kinds.is_array(side) else to_host(side) for side in batch_sides(batch)]
        if len(sides) != len(names):
            raise ValueError(f"a batch must contain {len(names)} matrices, {' and '.join(names)}, got {len(sides)}")
        yield sides


def describe_side(side: Any) -> list[Any]:
    """Describe data by shape, type, files and file times, so that a pass is not resumed with other data."""
    description: list[Any] = [list(map(int, side.shape)), str(side.dtype)]
    files = getattr(side, "files", None) or [getattr(side, "filename", None)]
    if all(isinstance(file, str | os.PathLike) and Path(file).exists() for file in files):
        for file in files:
            description += [str(file), file_stamp(Path(file))]
    elif isinstance(side, np.ndarray) and side.size:
        # Sums of half precision overflow.
        kind = np.float64 if side.dtype.kind == "f" else None
        with np.errstate(over="ignore", invalid="ignore"):
            description.append([float(row.sum(dtype=kind)) for row in (side[0], side[-1])])
    return description
