"""Sums over panels of rows, whose size is adapted to the processor's cache."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.moments.sums import SideSums, Sums, add_outer_product, shift_means
from shesha.support.device_arrays import convert_like, doubles, is_numpy, namespace, squared_lengths, stays, to_host
from shesha.support.memory import memory_budget
from shesha.support.types import Array, Matrix, Vector

_ENTRIES = 1 << 20
"""Number of values in a block of rows; 8 MB in double precision."""
_BLOCKS = 4
"""Number of blocks per panel. The blocks of a panel are summed before the result is added to the totals."""
_MOST_TOGETHER = 2048
"""Largest total number of features for which a single product covers all sides."""
_PILOT_ROWS = 32
"""Number of rows whose mean is subtracted before products are computed. It is close enough to the panel's mean to
preserve all digits."""
_SAFE = 2.0**400
"""Largest squared length that is used without a change of unit; its inverse is the smallest."""
Pairs = Collection[tuple[int, int]]


def panel_rows(widths: Sequence[int]) -> int:
    """Number of rows in a panel: a power of two, so large that adding to the totals takes little time."""
    return _block_rows(widths) * (_BLOCKS if sum(widths) <= _MOST_TOGETHER else 1)


def _block_rows(widths: Sequence[int]) -> int:
    width = sum(widths) + len(widths)
    rows = max(_ENTRIES // width, width // 2, 64)
    return int(1 << (int(rows).bit_length() - 1))


def all_pairs(n_sides: int) -> list[tuple[int, int]]:
    """All pairs of different sides; the products of a side with itself are in its `SideSums`."""
    return list(combinations(range(n_sides), 2))


def sum_panel(sides: Sequence[Any], pairs: Pairs) -> Sums:
    """Sum over some rows of equally long matrices, which may be NumPy arrays, sparse, or on a device.

    Raises
    ------
    ValueError
        If an entry is NaN or infinite.
    """
    arrays = [_as_array(side) for side in sides]
    if all(map(is_numpy, arrays)) and len(pairs) == len(all_pairs(len(arrays))):
        together = _sum_together(arrays, pairs)
        if together is not None:
            return together
    panels = [Panel.build(side) for side in arrays]
    cross = {(i, j): panels[i].products(panels[j]) for i, j in pairs}
    sums = Sums(int(sides[0].shape[0]), tuple(panel.sums() for panel in panels), cross)
    for panel in panels:
        _recycle(panel.z)
    return sums


def _sum_together(arrays: Sequence[Array], pairs: Pairs) -> Sums | None:
    """Compute the sums for all pairs of sides from one symmetric product of their joined columns.

    Returns None if there are too many columns, or if squares would overflow or underflow.
    """
    n, widths = int(arrays[0].shape[0]), [int(side.shape[1]) for side in arrays]
    if sum(widths) > _MOST_TOGETHER:
        return None
    ends = np.cumsum([width + 1 for width in widths]).tolist()
    columns = [slice(end - width - 1, end) for end, width in zip(ends, widths, strict=True)]
    pilots = [_pilot_row(side) for side in arrays]
    size, width = min(n, _block_rows(widths)), ends[-1]
    room = _allocate_panel((size + 2 * width, width))
    block, product, products = np.split(room, [size, size + width])
    total = _add_blocks(arrays, pilots, columns, block, product, products)
    sums = None
    if total is not None:
        means = [total[span] / n for span in columns]

        def about_means(i: int, j: int) -> Matrix:
            return _about_means(products[columns[i], columns[j]].copy(), n, means[i], means[j])

        sides = [SideSums(pilots[i], means[i][:-1], 1.0, about_means(i, i)) for i in range(len(arrays))]
        sums = Sums(n, tuple(sides), {(i, j): about_means(i, j) for i, j in pairs})
    _recycle(room)
    return sums


def _add_blocks(
    arrays: Sequence[Array],
    pilots: Sequence[Vector],
    columns: Sequence[slice],
    block: Matrix,
    product: Matrix,
    products: Matrix,
) -> Vector | None:
    """Add the products of all columns of z to `products`, and return the sum of z; None on overflow."""
    products[:] = 0
    total, ones = np.zeros(len(products)), np.ones(len(block))
    lengths = [span.stop - 1 for span in columns]
    for start in range(0, len(arrays[0]), len(block)):
        z = block[: len(arrays[0]) - start]
        for side, pilot, span in zip(arrays, pilots, columns, strict=True):
            squares = _subtract(side[start : start + len(block)], pilot, z[:, span])
            if not _is_safe(squares):
                return None
            z[:, span.stop - 1] = squares
        if start == 0:
            # Lengths lose no digits if they are taken relative to the mean of the first block.
            middles = z[:, lengths].mean(axis=0)
        z[:, lengths] -= middles
        products += np.matmul(z.T, z, out=product)
        total += ones[: len(z)] @ z
    return total


@dataclass(frozen=True)
class Panel:
    """Rows minus a pilot row, and their squared lengths as a last column, both approximately centred."""

    z: Any
    pilot: Vector
    unit: float
    mean: Vector
    """Mean row of z."""

    @classmethod
    def build(cls, side: Any) -> Panel:
        """Prepare a panel of rows from one representation."""
        rows = _as_array(side)
        z, pilot, unit = _centre(rows) if is_numpy(rows) else _centre_on_device(doubles(rows))
        ones = convert_like(np.ones(z.shape[0]), z)
        return cls(z, pilot, unit, to_host(ones @ z) / z.shape[0])

    def products(self, other: Panel) -> Matrix:
        """Products of this side's z with another side's z, both centred on their means in the panel."""
        return _about_means(to_host(self.z.T @ other.z), self.z.shape[0], self.mean, other.mean)

    def sums(self) -> SideSums:
        """Sums over the panel for this side alone."""
        return SideSums(self.pilot, self.mean[:-1], self.unit, self.products(self))


def _about_means(products: Matrix, n_rows: int, first: Vector, second: Vector) -> Matrix:
    """Convert products about pilot rows to products about mean rows, in place; the vectors are means of z."""
    add_outer_product(products, -(n_rows * first), second)
    shift_means(products, -first[:-1], -second[:-1])
    return products


_spare: list[Array] = []
"""Memory of finished panels, for reuse. Allocating new memory takes as long as the products of narrow matrices."""


def _allocate_panel(shape: tuple[int, int]) -> Matrix:
    size = shape[0] * shape[1]
    try:
        spare = _spare.pop()
    except IndexError:
        spare = np.empty(0)
    if spare.size < size:
        spare = np.empty(size)
    return spare[:size].reshape(shape)


def _recycle(z: Any) -> None:
    """Keep the memory of a panel for later panels, within a small share of the memory budget."""
    if is_numpy(z) and (len(_spare) + 1) * z.base.nbytes <= memory_budget() // 32:
        _spare.append(z.base)


def _as_array(side: Any) -> Any:
    if hasattr(side, "toarray"):
        return side.toarray()
    return side if stays(side) else to_host(side)


def _centre(rows: Array) -> tuple[Matrix, Vector, float]:
    pilot = _pilot_row(rows)
    z = _allocate_panel((rows.shape[0], rows.shape[1] + 1))
    moved = z[:, :-1]
    lengths = _subtract(rows, pilot, z)
    unit = 1.0
    if not _is_safe(lengths):
        _require_finite(rows)
        unit = length_unit(moved)
        moved /= unit
        lengths = np.einsum("ij,ij->i", moved, moved)
    z[:, -1] = lengths - lengths.mean()
    return z, pilot, unit


def _subtract(rows: Array, pilot: Vector, z: Matrix) -> Vector:
    """Write rows minus the pilot row into all but the last column of z, and return their squared lengths."""
    moved = z[:, :-1]
    # `dtype` makes NumPy convert integers and single precision before the subtraction.
    with np.errstate(invalid="ignore", over="ignore"):
        # Infinity raises an error later.
        np.subtract(rows, pilot, out=moved, dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->i", moved, moved))


def _centre_on_device(rows: Any) -> tuple[Any, Vector, float]:
    xp = namespace(rows)
    pilot = _pilot_row(to_host(rows[:: max(1, rows.shape[0] // _PILOT_ROWS), :]))
    moved = rows - convert_like(pilot, rows)
    lengths = squared_lengths(moved)
    unit = 1.0
    if not _is_safe(to_host(lengths)):
        _require_finite(to_host(rows))
        unit = length_unit(moved)
        moved = moved / unit
        lengths = squared_lengths(moved)
    lengths = lengths - xp.mean(lengths)
    return xp.concat([moved, xp.reshape(lengths, (-1, 1))], axis=1), pilot, unit


def _pilot_row(rows: Array) -> Vector:
    chosen = rows[:: max(1, rows.shape[0] // _PILOT_ROWS)].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        # The mean is taken relative to the first row, so that the mean of equal rows is exact.
        return np.asarray(chosen[0] + (chosen - chosen[0]).mean(axis=0))


def _is_safe(lengths: Vector) -> bool:
    """Return whether the squares of the squared lengths stay within the range of doubles."""
    top = float(lengths.max())
    return top == 0 or 1 / _SAFE < top < _SAFE


def _require_finite(rows: Array) -> None:
    if not np.isfinite(rows).all():
        raise ValueError("rows must be finite, got NaN or infinity")
