"""Sources of rows: arrays, files beyond memory, and streams of batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shesha.io import open_matrix
from shesha.moments.batches import batch_sides
from shesha.moments.panels import panel_rows
from shesha.support.arrays import stays, to_host
from shesha.support.progress import track

Item = TypeVar("Item")
_PANELS = 16
"""Number of panels that are read together."""


def is_dask(side: Any) -> bool:
    """Return whether a side is a Dask array."""
    return hasattr(side, "__dask_graph__") and hasattr(side, "to_delayed")


def open_side(side: Any, name: str) -> Any:
    """Return an object whose rows can be sliced: an opened file, or the array itself."""
    if isinstance(side, str | os.PathLike):
        return open_matrix(side)
    if hasattr(side, "tocsr"):
        return side.tocsr()
    if stays(side) or (hasattr(side, "shape") and hasattr(side, "dtype") and len(side.shape) == 2):
        return side
    found = to_host(side, name)
    if found.ndim != 2:
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {found.shape}")
    return found


def stretches(sides: Sequence[Any], start: int) -> Iterator[list[Any]]:
    """Yield stretches of rows of all sides from a given row on, reading the next ones in the background."""
    n = sides[0].shape[0]
    step = _PANELS * panel_rows([side.shape[1] for side in sides])
    starts = range(start, n, step)
    read = ([side[first : first + step] for side in sides] for first in starts)
    yield from track(_one_ahead(read), len(starts), "stretches of rows")


def stream(batches: Iterable[Any], n_skipped: int) -> Iterator[list[Any]]:
    """Yield the batches of a stream, without the rows that were already counted."""
    for batch in batches:
        sides = batch_sides(batch)
        if n_skipped:
            n = len(sides[0])
            sides, n_skipped = [side[n_skipped:] for side in sides], max(0, n_skipped - n)
            if not len(sides[0]):
                continue
        yield sides


def describe_source(sides: Sequence[Any] | None) -> list[list[Any]]:
    """Identify data by shapes, types, files and their times, so that a state is never resumed with other data."""
    return [] if sides is None else [_describe_side(side) for side in sides]


def _describe_side(side: Any) -> list[Any]:
    found: list[Any] = [list(map(int, side.shape)), str(side.dtype)]
    file = getattr(side, "filename", None)
    if isinstance(file, str | os.PathLike) and Path(file).exists():
        known = Path(file).stat()
        found += [str(file), known.st_size, known.st_mtime_ns]
    elif isinstance(side, np.ndarray) and side.size:
        found.append([float(side[0].sum()), float(side[-1].sum())])
    return found


def _one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, and prepare the next one in a thread."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(lambda: list(islice(items, 1)))
        while found := ahead.result():
            ahead = pool.submit(lambda: list(islice(items, 1)))
            yield found[0]
