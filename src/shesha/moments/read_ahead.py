"""Reading the next rows from disk in a background thread while the previous rows are processed.

The rows of a memory map are read from disk when a thread first uses them. Without reading ahead, the threads that
compute products would wait for the disk at every page.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from shesha.moments.row_panel_sums import panel_rows
from shesha.support import memory

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
    panel = rows * sum(int(side.shape[1]) * max(1, np.dtype(side.dtype).itemsize) for side in sides if _is_host(side))
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


def _is_host(side: Any) -> bool:
    return hasattr(side, "dtype") and getattr(side.dtype, "kind", "") in tuple("fiub")
