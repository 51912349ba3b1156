"""Sums over Dask arrays: workers sum chunks, and only sums are transferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.moments.accumulator import MOST_PARTS, Accumulator, compact_parts
from shesha.moments.panels import Pairs
from shesha.moments.sums import Sums, merge_all
from shesha.support.optional import require

_TOGETHER = 8
"""Number of lists of parts that are joined at once."""


def sum_dask(sides: Sequence[Any], pairs: Pairs) -> list[Sums]:
    """Return the parts of all rows in order, computed on the user's scheduler.

    Raises
    ------
    ValueError
        If the sides have different numbers of rows, or numbers that Dask does not know.
    """
    dask = require("dask", "dask", "dask must be installed to sum over Dask arrays")
    lengths = [side.shape[0] for side in sides]
    if any(np.isnan(length) for length in lengths):
        raise ValueError("chunks must have known lengths, got unknown ones: call compute_chunk_sizes() first")
    if len(set(lengths)) > 1:
        raise ValueError(f"y must have as many rows as x ({lengths[0]}), got {lengths[1]}")
    aligned = _align(sides)
    blocks = [[block[0] for block in side.to_delayed()] for side in aligned]
    count, join = dask.delayed(_sum_block), dask.delayed(_join)
    level = [count(list(block), tuple(pairs)) for block in zip(*blocks, strict=True)]
    while len(level) > 1:
        level = [join(level[i : i + _TOGETHER]) for i in range(0, len(level), _TOGETHER)]
    (found,) = dask.compute(level[0])
    return list(found)


def _align(sides: Sequence[Any]) -> list[Any]:
    """Divide all sides at every chunk boundary of any side; a row stays in one chunk."""
    ends = sorted({int(end) for side in sides for end in np.cumsum(side.chunks[0])})
    rows = tuple(int(length) for length in np.diff(ends, prepend=0) if length)
    return [side.rechunk({0: rows, 1: -1}) for side in sides]


def _sum_block(sides: list[Any], pairs: tuple[tuple[int, int], ...]) -> list[Sums]:
    state = Accumulator(tuple(side.shape[1] for side in sides), list(pairs))
    state.add([np.asarray(side) for side in sides])
    # A few parts of each chunk are enough for intervals, and little to send.
    return [merge_all(part) for part in _halves(state.flushed_parts())]


def _halves(parts: list[Sums]) -> list[list[Sums]]:
    middle = len(parts) // 2
    return [half for half in (parts[:middle], parts[middle:]) if half]


def _join(lists: list[list[Sums]]) -> list[Sums]:
    return compact_parts([part for parts in lists for part in parts], MOST_PARTS)
