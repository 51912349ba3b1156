"""Sums over Dask arrays: workers sum their chunks, and only the sums are transferred."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from importlib import import_module
from typing import Any

import numpy as np

from shesha.kernels.threads import single_threaded_blas
from shesha.moments.batch_checks import check_batch, require_finite
from shesha.moments.jackknife_accumulator import MOST_PARTS, Accumulator, compact_parts
from shesha.moments.read_ahead import read_ahead, stretch_rows
from shesha.moments.row_panel_sums import Pairs, panel_rows, sum_panel
from shesha.moments.sums import Sums, merge
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
