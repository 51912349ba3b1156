"""One pass over all rows of a source, on this machine or on Dask workers, which can be interrupted and resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from shesha.kernels.threads import single_threaded_blas
from shesha.moments.jackknife_accumulator import MOST_PARTS, Accumulator, compact_parts
from shesha.moments.row_sources import describe_source, open_side, read_ahead, stream, stretch_rows, stretches
from shesha.moments.sums import Pairs, Sums, all_pairs, check_batch, merge, panel_rows, require_finite, sum_panel
from shesha.support.optional import require

_TOGETHER = 8
"""Number of lists of parts that are joined in one task."""
_FEWEST_ROWS = 64
"""Smallest number of rows in a part."""


def sum_dask(sides: Sequence[Any], names: Sequence[str], pairs: Pairs) -> list[Sums]:
    """Return the sums over consecutive parts of the rows, computed by the user's Dask scheduler.

    Raises
    ------
    ValueError
        If the sides have different numbers of rows, or if Dask does not know these numbers.
    """
    dask = require("dask", "dask", "dask must be installed to sum over Dask arrays")
    _check_shapes(sides, names)
    if not sides[0].shape[0]:
        return []
    most = Accumulator(tuple(int(side.shape[1]) for side in sides), pairs).most_parts()
    level = _chunk_sums(_align(sides), names, pairs, most)
    join = dask.delayed(partial(_join, most=most))
    while len(level) > 1:
        level = [join(level[i : i + _TOGETHER]) for i in range(0, len(level), _TOGETHER)]
    (sums,) = dask.compute(level[0])
    return list(sums)


def _check_shapes(sides: Sequence[Any], names: Sequence[str]) -> None:
    for side, name in zip(sides, names, strict=True):
        if side.ndim != 2:
            raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {side.shape}")
    lengths = [side.shape[0] for side in sides]
    if any(np.isnan(length) for side in sides for length in side.shape):
        raise ValueError("chunks must have known lengths, got unknown lengths; call compute_chunk_sizes() first")
    if len(set(lengths)) > 1:
        raise ValueError(f"{names[1]} must have as many rows as {names[0]} ({lengths[0]:,}), got {lengths[1]:,}")


def _align(sides: Sequence[Any]) -> list[Any]:
    """Rechunk all sides at the union of their chunk boundaries along the rows, and keep rows whole."""
    ends = sorted({int(end) for side in sides for end in np.cumsum(side.chunks[0])})
    rows = tuple(int(length) for length in np.diff(ends, prepend=0) if length)
    return [side.rechunk({0: rows, 1: -1}) for side in sides]


def _chunk_sums(sides: Sequence[Any], names: Sequence[str], pairs: Pairs, most: int) -> list[Any]:
    """Return, for every chunk, a delayed list of the sums over its parts.

    Dask fuses `blockwise` with the computation of the chunks, so that a single task computes and sums the corresponding
    chunks of all sides. In separate tasks, these chunks might be computed on different workers and would then have to
    be transferred.
    """
    da: Any = import_module("dask.array")
    lengths = sides[0].chunks[0]
    spans = np.column_stack([np.cumsum([0, *lengths[:-1]]), lengths])
    places = da.from_array(np.array([tuple(span) for span in spans], dtype="i8,i8"), chunks=1)
    operands = [operand for place, side in enumerate(sides) for operand in (side, (0, place + 1))]
    summed = da.blockwise(
        partial(
            _sum_chunk,
            names=tuple(names),
            pairs=tuple(pairs),
            n_parts=max(2, -(-most // (2 * len(lengths)))),
            widths=[int(side.shape[1]) for side in sides],
        ),
        # No index is contracted, because Dask fuses only operations without contraction.
        tuple(range(1 + len(sides))),
        places,
        (0,),
        *operands,
        concatenate=_concatenation(sides[0]),
        align_arrays=False,
        dtype=object,
        meta=np.empty((0,) * (1 + len(sides)), dtype=object),
    )
    return list(summed.to_delayed().ravel())


def _concatenation(side: Any) -> bool | None:
    """Return the `concatenate` flag of a side's last operation, because Dask fuses only equal ones."""
    flag = getattr(side.dask.layers.get(side.name), "concatenate", True)
    return flag if flag is None else bool(flag)


def _sum_chunk(
    place: Any, *sides: Any, names: Sequence[str], pairs: Pairs, n_parts: int, widths: Sequence[int]
) -> list[Sums]:
    """Sum one chunk in a single thread, because Dask already runs one task per thread."""
    first_row, n_rows = place[0].item()
    rows = check_batch(sides, names, None)
    for side, name, width in zip(rows, names, widths, strict=True):
        if side.shape != (n_rows, width):
            raise ValueError(
                f"{name} must have the chunk shape that Dask records, {(n_rows, width)} from row {first_row:,} on, "
                f"got {tuple(side.shape)}; correct the chunks where the array is created"
            )
    length = max(_FEWEST_ROWS, -(-n_rows // n_parts))
    try:
        with single_threaded_blas():
            return [
                _sum_rows([side[start : start + length] for side in rows], pairs) for start in range(0, n_rows, length)
            ]
    except ValueError:
        # Raise a clearer error, which names the rows that are not finite.
        require_finite(rows, names, first_row)
        raise


def _sum_rows(sides: Sequence[Any], pairs: Pairs) -> Sums:
    size = panel_rows([int(side.shape[1]) for side in sides])
    panels = (
        sum_panel([side[i : i + size] for side in stretch], pairs)
        for stretch in read_ahead(sides, range(0, int(sides[0].shape[0]), stretch_rows(sides)))
        for i in range(0, int(stretch[0].shape[0]), size)
    )
    return reduce(partial(merge, in_place=True), panels)


def _join(lists: list[list[Sums]], most: int = MOST_PARTS) -> list[Sums]:
    return compact_parts([part for parts in lists for part in parts], most)


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
