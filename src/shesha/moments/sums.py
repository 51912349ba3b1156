"""Counts, means and products over the rows of several representations, which can be merged.

Each row x is represented by z = (x - m, |x - m|^2), where m is the mean row. The products of z contain everything that
linear measures need; unbiased estimators use the products with squared lengths. Batches are merged by the pairwise
update (Chan, Golub and LeVeque 1983) rather than by adding raw sums, so that offsets cost no precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from shesha.support.types import Matrix, Vector

_ENTRIES_AT_ONCE = 1 << 13
"""Number of entries of an outer product per step; few enough to stay in the cache and to reuse one buffer."""


@dataclass(frozen=True)
class SideSums:
    """Sums over one representation: its mean row, and the products of its centred rows.

    The mean row is origin + unit * offset. The origin is near the data, so that the offset is precise even for features
    far from zero.
    """

    origin: Vector
    offset: Vector
    unit: float
    """Unit of `offset` and `products`: a power of two, or 1 unless squares would leave the range of doubles."""
    products: Matrix
    """Products of the d centred features and, last, the centred squared length: (d + 1) x (d + 1)."""

    @property
    def n_features(self) -> int:
        """Number of columns of the representation."""
        return len(self.origin)

    @property
    def features(self) -> Matrix:
        """Products of the centred features, which are n times their covariance."""
        return self.products[:-1, :-1]

    @property
    def squared_norm(self) -> float:
        """Sum of the squared lengths of the centred rows."""
        return float(np.trace(self.features))

    @property
    def mean(self) -> Vector:
        """The mean row."""
        return self.origin + self.unit * self.offset


@dataclass(frozen=True)
class Sums:
    """Sums over n rows of several representations of the same inputs."""

    n_rows: int
    sides: tuple[SideSums, ...]
    cross: dict[tuple[int, int], Matrix]
    """For each pair of sides to be compared, the products of the columns of z of both sides."""

    @property
    def n_bytes(self) -> int:
        """Memory in bytes that the products occupy."""
        return sum(side.products.nbytes for side in self.sides) + sum(block.nbytes for block in self.cross.values())

    def cross_products(self, first: int, second: int) -> Matrix:
        """Products of z between two sides, in either order, or of one side with itself."""
        if first == second:
            return self.sides[first].products
        block = self.cross.get((first, second))
        return self.cross[second, first].T if block is None else block

    def copy(self) -> Sums:
        """Return an independent copy of the sums."""
        sides = tuple(replace(side, products=side.products.copy()) for side in self.sides)
        return Sums(self.n_rows, sides, {pair: block.copy() for pair, block in self.cross.items()})

    def take(self, first: int, second: int) -> Sums:
        """Return the sums for two sides only, as sides 0 and 1."""
        return Sums(self.n_rows, (self.sides[first], self.sides[second]), {(0, 1): self.cross_products(first, second)})

    def replace_cross(self, block: Matrix) -> Sums:
        """Return the same sums for two sides with other cross-products."""
        return replace(self, cross={(0, 1): block})


def merge(first: Sums, second: Sums, *, in_place: bool = False) -> Sums:
    """Return the sums over the rows of both arguments; `in_place` overwrites both."""
    meetings = [
        Meeting.build(a, b, first.n_rows, second.n_rows) for a, b in zip(first.sides, second.sides, strict=True)
    ]
    sides = tuple(
        meeting.join_sides(a, b, in_place=in_place)
        for meeting, a, b in zip(meetings, first.sides, second.sides, strict=True)
    )
    cross = {
        (i, j): join_blocks(block, second.cross[i, j], meetings[i], meetings[j], in_place=in_place)
        for (i, j), block in first.cross.items()
    }
    return Sums(first.n_rows + second.n_rows, sides, cross)


@dataclass(frozen=True)
class Meeting:
    """The shifts and scales that combine one side's sums over two sets of rows."""

    weight: float
    unit: float
    ratios: tuple[float, float]
    """Units of the two sets of rows, each divided by the common unit."""
    moves: tuple[Vector, Vector]
    """Vectors from the common mean row to the mean row of each set."""
    step: Vector
    """Difference between the two means of z, relative to the common mean row."""

    @classmethod
    def build(cls, a: SideSums, b: SideSums, n_a: int, n_b: int) -> Meeting:
        """Compute the shifts and scales for one side over two sets of rows."""
        unit = max(a.unit, b.unit)
        ratios = a.unit / unit, b.unit / unit
        gap = (b.origin - a.origin) / unit + (b.offset * ratios[1] - a.offset * ratios[0])
        n = n_a + n_b
        moves = -gap * (n_b / n), gap * (n_a / n)
        lengths = [
            side.squared_norm * ratio**2 / rows + float(move @ move)
            for side, ratio, rows, move in zip((a, b), ratios, (n_a, n_b), moves, strict=True)
        ]
        return cls(n_a * (n_b / n), unit, ratios, moves, np.append(gap, lengths[1] - lengths[0]))

    def join_sides(self, a: SideSums, b: SideSums, *, in_place: bool = False) -> SideSums:
        """Combine one side's sums over both sets of rows."""
        products = join_blocks(a.products, b.products, self, self, in_place=in_place)
        return SideSums(a.origin, a.offset * self.ratios[0] - self.moves[0], self.unit, products)


def join_blocks(first: Matrix, second: Matrix, row: Meeting, column: Meeting, *, in_place: bool = False) -> Matrix:
    """Combine products of two sides over both sets of rows; `in_place` overwrites both, returns the first."""
    total, other = (first, second) if in_place else (first.copy(), second.copy())
    for place, block in enumerate((total, other)):
        _rescale(block, row.ratios[place], column.ratios[place])
        shift_means(block, row.moves[place], column.moves[place])
    total += other
    add_outer_product(total, row.weight * row.step, column.step)
    return total


def add_outer_product(block: Matrix, column: Vector, row: Vector) -> None:
    """Add the outer product of two vectors to a block, in place."""
    n_rows = min(len(column), max(16, _ENTRIES_AT_ONCE // len(row)))
    # One buffer serves all steps: Dask workers return freed memory to the system, and allocating it again takes time.
    room = np.empty((n_rows, len(row)))
    for start in range(0, len(column), n_rows):
        some = column[start : start + n_rows, np.newaxis]
        block[start : start + n_rows] += np.multiply(some, row, out=room[: len(some)])


def merge_all(parts: Sequence[Sums]) -> Sums:
    """Return the sums over the rows of all parts."""
    return reduce(merge, parts)


def _rescale(block: Matrix, row: float, column: float) -> None:
    """Change the unit of z in place; its last entry is a square and scales accordingly."""
    if row == 1 and column == 1:
        return
    block *= row * column
    block[-1] *= row
    block[:, -1] *= column


def shift_means(block: Matrix, first: Vector, second: Vector) -> None:
    """Shift both mean rows in place; |x + s|^2 is |x|^2 + 2 s'x plus a constant that centring removes."""
    block[-1] += 2 * (first @ block[:-1])
    block[:, -1] += 2 * (block[:, :-1] @ second)
