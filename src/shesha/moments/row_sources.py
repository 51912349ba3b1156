"""Sources of rows: arrays, files larger than memory, and streams of batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io import open_matrix
from shesha.moments.batch_checks import batch_sides
from shesha.moments.read_ahead import read_ahead, stretch_rows
from shesha.moments.stream_fingerprint import StreamFingerprint
from shesha.support.device_arrays import stays, to_host
from shesha.support.file_stamps import file_stamp
from shesha.support.progress import track


def is_dask(side: Any) -> bool:
    """Return whether a side is a Dask array."""
    return hasattr(side, "__dask_graph__") and hasattr(side, "to_delayed")


def open_side(side: Any, name: str) -> Any:
    """Return an object whose rows can be sliced: an opened file or the array itself."""
    if isinstance(side, str | os.PathLike):
        return open_matrix(side)
    if hasattr(side, "tocsr"):
        return side.tocsr()
    if stays(side) or (hasattr(side, "shape") and hasattr(side, "dtype") and len(side.shape) == 2):
        return side
    array = to_host(side, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {array.shape}")
    return array


def stretches(sides: Sequence[Any], start: int) -> Iterator[list[Any]]:
    """Yield the rows of all sides in chunks, starting at row `start`, while the next chunk is read."""
    starts = range(start, int(sides[0].shape[0]), stretch_rows(sides))
    yield from track(read_ahead(sides, starts), len(starts), "chunks of rows")


def stream(
    batches: Iterable[Any], names: Sequence[str], n_skipped: int = 0, source: list[Any] | None = None
) -> Iterator[list[Any]]:
    """Yield the batches of a stream, without the rows that have already been counted.

    `source` is the fingerprint of the counted stream; the sums of new rows are appended to it.

    Raises
    ------
    ValueError
        If the first rows differ from the counted rows, or if the stream has fewer rows than were counted.
    """
    fingerprint = StreamFingerprint([] if source is None else source)
    start = 0
    for batch in batches:
        sides = [side if hasattr(side, "shape") else to_host(side) for side in batch_sides(batch)]
        if len(sides) != len(names):
            raise ValueError(f"a batch must contain {len(names)} matrices, {' and '.join(names)}, got {len(sides)}")
        stop = start + int(sides[0].shape[0])
        if len({int(side.shape[0]) for side in sides}) == 1:
            fingerprint.check(start, sides)
        if stop > n_skipped or (stop == start and start >= n_skipped):
            yield [side[max(0, n_skipped - start) :] for side in sides]
        start = stop
    if start < n_skipped:
        raise ValueError(
            f"batches must contain the {n_skipped:,} rows that the state has counted, got only {start:,} rows; use the "
            "data that the state belongs to, or a new state"
        )


def describe_source(sides: Sequence[Any] | None) -> list[list[Any]]:
    """Describe data by shapes, types, files and file times, so that a pass is not resumed with other data."""
    return [] if sides is None else [_describe_side(side) for side in sides]


def _describe_side(side: Any) -> list[Any]:
    description: list[Any] = [list(map(int, side.shape)), str(side.dtype)]
    files = getattr(side, "files", None) or [getattr(side, "filename", None)]
    if all(isinstance(file, str | os.PathLike) and Path(file).exists() for file in files):
        for file in files:
            description += [str(file), file_stamp(Path(file))]
    elif isinstance(side, np.ndarray) and side.size:
        description.append([float(side[0].sum()), float(side[-1].sum())])
    return description
