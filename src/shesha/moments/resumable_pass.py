"""One pass over all rows of a source, which can be interrupted and resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from shesha.moments.batch_checks import check_batch
from shesha.moments.dask_arrays import sum_dask
from shesha.moments.jackknife_accumulator import Accumulator
from shesha.moments.row_panel_sums import all_pairs
from shesha.moments.row_sources import describe_source, open_side, stream, stretches
from shesha.moments.sums import Sums

_SAVE_EVERY = 60.0
"""Seconds between two writes of the state during a long pass."""
State = str | os.PathLike[str] | None


class Countable(Protocol):
    """Sums over rows that a pass can extend and save."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of rows that have been counted."""
        ...

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of features of each representation; empty before the first batch."""
        ...

    def add_unchecked(self, sides: list[Any]) -> None:
        """Add rows whose entries are not checked first, but while they are summed."""
        ...

    def set_parts(self, like: Accumulator, parts: Sequence[Sums]) -> None:
        """Set the state to sums that were computed by other processes."""
        ...

    def note_precision(self, sides: Sequence[Any]) -> None:
        """Record the rounding error of the input."""
        ...

    def save_with_source(self, path: str | os.PathLike[str], source: list[Any]) -> None:
        """Write the sums, with a description of their source."""
        ...

    @classmethod
    def load_with_header(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any]]:
        """Read what `save_with_source` wrote."""
        ...


M = TypeVar("M", bound=Countable)


def count_sides(fresh: M, sources: Sequence[Any], state: State) -> M:
    """Sum over the rows of arrays and files, in chunks."""
    sides = [open_side(side, name) for side, name in zip(sources, fresh.names, strict=True)]
    check_batch([side[:0] for side in sides], fresh.names, None)
    first, second = sides[0].shape[0], sides[1].shape[0]
    if first != second:
        names = fresh.names
        raise ValueError(f"{names[1]} must have as many rows as {names[0]} ({first:,}), got {second:,}")
    source = describe_source(sides)
    moments, counted = _resume(fresh, state)
    if counted is not None and counted != source:
        raise ValueError(
            f"state must belong to the same data, got {state}, which belongs to other data; use a new file"
        )
    return _count(moments, stretches(sides, len(moments)), state, source)


def count_stream(fresh: M, batches: Iterable[Any], state: State) -> M:
    """Sum over the batches that a loader or a generator yields."""
    if isinstance(batches, str | os.PathLike) or hasattr(batches, "shape"):
        kind = type(batches).__name__
        raise TypeError(f"Moments.of needs two representations, or one iterable of batches, got one {kind}")
    moments, counted = _resume(fresh, state)
    source = counted or []
    moments = _count(moments, stream(batches, fresh.names, len(moments), source), state, source)
    if not len(moments):
        raise ValueError("batches must contain at least one row, got an empty stream")
    return moments


def count_dask(fresh: M, sources: Sequence[Any], state: State) -> M:
    """Let the workers sum over the rows of Dask arrays."""
    if state is not None:
        raise ValueError("state must be left out with Dask arrays, got both; the Dask scheduler keeps finished work")
    pairs = all_pairs(len(sources))
    parts = sum_dask(sources, fresh.names, pairs)
    if not parts:
        return fresh
    fresh.set_parts(Accumulator(tuple(side.shape[1] for side in sources), pairs), parts)
    fresh.note_precision([np.empty(0, dtype=side.dtype) for side in sources])
    return fresh


def _resume(fresh: M, state: State) -> tuple[M, list[Any] | None]:
    """Return the saved sums, or fresh ones without a file, and the description of the saved sums' source."""
    if state is None or not Path(state).exists():
        return fresh, None
    moments, header = fresh.load_with_header(state)
    if moments.names != fresh.names:
        raise ValueError(
            f"state must contain sums of {', '.join(fresh.names)}, got {state} with sums of {', '.join(moments.names)}"
        )
    return moments, header.get("source", [])


def _count(moments: M, batches: Iterable[list[Any]], state: State, source: list[Any]) -> M:
    last = time.monotonic()
    try:
        for sides in batches:
            moments.add_unchecked(check_batch(sides, moments.names, moments.widths or None))
            if state is not None and time.monotonic() - last > _SAVE_EVERY:
                moments.save_with_source(state, source)
                last = time.monotonic()
    except BaseException:
        # After Ctrl-C, an error in the loader or a batch with NaN, save everything that was counted before.
        if state is not None and len(moments):
            moments.save_with_source(state, source)
        raise
    if state is not None and len(moments):
        moments.save_with_source(state, source)
    return moments
