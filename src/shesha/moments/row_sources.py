"""Sources of rows: arrays, files beyond memory, and streams of batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io import open_matrix
from shesha.moments.batch_checks import batch_sides
from shesha.moments.read_ahead import read_ahead, stretch_rows
from shesha.support.arrays import stays, to_host
from shesha.support.progress import track

_SAME_ROW = 1e-2
"""Relative difference of the sums of two rows that are the same row."""


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
    """Yield some rows of all sides at a time, from a row on; the next ones are read meanwhile."""
    starts = range(start, int(sides[0].shape[0]), stretch_rows(sides))
    yield from track(read_ahead(sides, starts), len(starts), "stretches of rows")


def stream(
    batches: Iterable[Any], names: Sequence[str], n_skipped: int = 0, source: list[Any] | None = None
) -> Iterator[list[Any]]:
    """Yield the batches of a stream, without the rows that were already counted.

    `source` describes the first row of the stream that was counted; an empty list is filled with that of this one.

    Raises
    ------
    ValueError
        If the first row is another one, or the stream ends before the rows that were counted.
    """
    known = [] if source is None else source
    left, first = n_skipped, True
    for batch in batches:
        sides = [side if hasattr(side, "shape") else to_host(side) for side in batch_sides(batch)]
        if len(sides) != len(names):
            raise ValueError(f"a batch must contain {len(names)} matrices, {' and '.join(names)}, got {len(sides)}")
        if first and sides[0].shape[0]:
            _require_same_start(known, _describe_start(sides), n_skipped)
            first = False
        if left:
            n = int(sides[0].shape[0])
            sides, left = [side[left:] for side in sides], max(0, left - n)
            if not sides[0].shape[0]:
                continue
        yield sides
    if left:
        raise ValueError(
            f"batches must contain the {n_skipped:,} rows that the state has counted, got {n_skipped - left:,}: the "
            "state belongs to other data"
        )


def _describe_start(sides: Sequence[Any]) -> list[list[float]]:
    """Sum and size of the first row of every side, which tell a shuffled or another stream."""
    rows = [side[:1].toarray() if hasattr(side, "toarray") else to_host(side[:1]) for side in sides]
    return [[float(row.sum(dtype=np.float64)), float(np.abs(row).sum(dtype=np.float64))] for row in rows]


def _require_same_start(known: list[Any], start: list[list[float]], n_skipped: int) -> None:
    if not known:
        if not n_skipped:
            known.extend(start)
        return
    # A model that runs again rounds otherwise.
    same = len(known) == len(start) and all(
        abs(a - b) <= _SAME_ROW * max(size, other) for (a, size), (b, other) in zip(known, start, strict=True)
    )
    if not same:
        raise ValueError(
            "batches must begin with the row that the state began with, got another: a stream is resumed in the same "
            "order (shuffle=False), or counted into a new state"
        )


def describe_source(sides: Sequence[Any] | None) -> list[list[Any]]:
    """Identify data by shapes, types, files and their times, so that a state is never resumed with other data."""
    return [] if sides is None else [_describe_side(side) for side in sides]


def _describe_side(side: Any) -> list[Any]:
    description: list[Any] = [list(map(int, side.shape)), str(side.dtype)]
    files = getattr(side, "files", None) or [getattr(side, "filename", None)]
    if all(isinstance(file, str | os.PathLike) and Path(file).exists() for file in files):
        for file in files:
            known = Path(file).stat()
            description += [str(file), known.st_size, known.st_mtime_ns]
    elif isinstance(side, np.ndarray) and side.size:
        description.append([float(side[0].sum()), float(side[-1].sum())])
    return description
