"""Sums over a panel of rows: few enough to stay near the processor, many enough for fast products."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from shesha.kernels.precision import length_unit
from shesha.moments.sums import SideSums, Sums, shift_means
from shesha.support.arrays import doubles, is_numpy, like_array, namespace, squared_lengths, stays, to_host
from shesha.support.types import Array, Matrix, Vector

_ENTRIES = 1 << 21
"""Numbers of a panel: 16 MB in double precision."""
_PILOT_ROWS = 32
"""Rows whose mean a panel is moved to before its products: near enough to its own mean to cost no digits."""
_SAFE = 2.0**400
"""Squared lengths beyond this, or below its inverse, are counted in another unit."""
Pairs = Collection[tuple[int, int]]


def panel_rows(widths: Sequence[int]) -> int:
    """How many rows a panel has: a power of two, and enough of them to outweigh the sums that they are added to."""
    width = sum(widths) + len(widths)
    rows = max(_ENTRIES // width, width // 2, 64)
    return 1 << (int(rows).bit_length() - 1)


def all_pairs(n_sides: int) -> list[tuple[int, int]]:
    """Every side with every later one."""
    return list(combinations(range(n_sides), 2))


def sum_panel(sides: Sequence[Any], pairs: Pairs) -> Sums:
    """Sums over some rows: matrices of equal length, of NumPy, sparse, or on a device, where products are made.

    Raises
    ------
    ValueError
        If an entry is NaN or infinite.
    """
    looks = [_centre(_as_array(side)) for side in sides]
    own = [to_host(look.z.T @ look.z) for look in looks]
    cross = {(i, j): to_host(looks[i].z.T @ looks[j].z) for i, j in pairs}
    n = int(sides[0].shape[0])
    means = [look.mean for look in looks]

    def finish(block: Matrix, i: int, j: int) -> Matrix:
        centred = block - (n * means[i])[:, np.newaxis] * means[j]
        # From the pilot to the mean of the panel.
        return shift_means(centred, -means[i][:-1], -means[j][:-1])

    found = tuple(
        SideSums(look.pilot, look.mean[:-1], look.unit, finish(block, i, i))
        for i, (look, block) in enumerate(zip(looks, own, strict=True))
    )
    return Sums(n, found, {(i, j): finish(block, i, j) for (i, j), block in cross.items()})


class _Look:
    """Rows about a pilot row, with their squared lengths as a last column, both about their means or nearly so."""

    def __init__(self, z: Any, pilot: Vector, unit: float) -> None:
        self.z, self.pilot, self.unit = z, pilot, unit
        ones = like_array(np.ones(z.shape[0]), z)
        self.mean: Vector = to_host(ones @ z) / z.shape[0]


def _as_array(side: Any) -> Any:
    if hasattr(side, "toarray"):
        return side.toarray()
    return side if stays(side) else to_host(side)


def _centre(rows: Any) -> _Look:
    if not is_numpy(rows):
        return _centre_on_device(doubles(rows))
    pilot = _pilot_row(rows)
    z = np.empty((rows.shape[0], rows.shape[1] + 1))
    moved = z[:, :-1]
    # Integers and single precision become doubles here, before anything is subtracted.
    np.subtract(rows, pilot, out=moved, dtype=np.float64)
    lengths = np.einsum("ij,ij->i", moved, moved)
    unit = 1.0
    if not _is_safe(lengths):
        _require_finite(rows)
        unit = length_unit(moved)
        moved /= unit
        lengths = np.einsum("ij,ij->i", moved, moved)
    z[:, -1] = lengths - lengths.mean()
    return _Look(z, pilot, unit)


def _centre_on_device(rows: Any) -> _Look:
    xp = namespace(rows)
    pilot = _pilot_row(to_host(rows[:: max(1, rows.shape[0] // _PILOT_ROWS), :]))
    moved = rows - like_array(pilot, rows)
    lengths = squared_lengths(moved)
    unit = 1.0
    if not _is_safe(to_host(lengths)):
        _require_finite(to_host(rows))
        unit = length_unit(moved)
        moved = moved / unit
        lengths = squared_lengths(moved)
    lengths = lengths - xp.mean(lengths)
    return _Look(xp.concat([moved, xp.reshape(lengths, (-1, 1))], axis=1), pilot, unit)


def _pilot_row(rows: Array) -> Vector:
    chosen = rows[:: max(1, rows.shape[0] // _PILOT_ROWS)].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        # Moved to the first row before they are added, equal rows have exactly their value as mean.
        return np.asarray(chosen[0] + (chosen - chosen[0]).mean(axis=0))


def _is_safe(lengths: Vector) -> bool:
    """Whether squares of the squared lengths stay within the range of doubles."""
    top = float(lengths.max())
    return top == 0 or 1 / _SAFE < top < _SAFE


def _require_finite(rows: Array) -> None:
    if not np.isfinite(rows).all():
        raise ValueError("rows must be finite, got NaN or infinity")
