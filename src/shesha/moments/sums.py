"""Counts, means and products of the rows of several representations, which add up exactly over batches.

Each row is looked at as z = (x - m, |x - m|^2), with m the mean row: products of z hold everything that linear
measures need, those of the squared lengths for the unbiased estimators. Two batches are merged by the pairwise update
(Chan, Golub and LeVeque 1983), never by adding raw sums, so that an offset costs no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from shesha.support.types import Matrix, Vector


@dataclass(frozen=True)
class SideSums:
    """What is known of one representation: its mean row, and the products of its centred rows.

    The mean row is origin + unit * offset. The origin is near the data, so that the offset has digits where the
    features are far from zero.
    """

    origin: Vector
    offset: Vector
    unit: float
    """Power of two in which offset and products are counted: 1 unless squares would leave the range of doubles."""
    products: Matrix
    """(d + 1) x (d + 1), of the centred features and the centred squared length, in this order."""

    @property
    def n_features(self) -> int:
        """Number of columns of the representation."""
        return len(self.origin)

    @property
    def features(self) -> Matrix:
        """Products of the centred features: n times their covariance."""
        return self.products[:-1, :-1]

    @property
    def squared_norm(self) -> float:
        """Sum of the squared lengths of the centred rows."""
        return float(np.trace(self.features))

    @property
    def mean(self) -> Vector:
        """The mean row."""
        return self.origin + self.unit * self.offset

    def in_unit(self, unit: float) -> SideSums:
        """The same numbers, counted in another unit."""
        ratio = self.unit / unit
        scale = _side_scale(self.n_features, ratio)
        return replace(
            self, offset=self.offset * ratio, unit=unit, products=self.products * scale * scale[:, np.newaxis]
        )


@dataclass(frozen=True)
class Sums:
    """Sums over n rows of several representations of the same inputs."""

    n_rows: int
    sides: tuple[SideSums, ...]
    cross: dict[tuple[int, int], Matrix]
    """Products of z of one side (rows) with z of another, for each pair that will be compared."""

    @property
    def n_bytes(self) -> int:
        """Memory of the products."""
        return sum(side.products.nbytes for side in self.sides) + sum(block.nbytes for block in self.cross.values())

    def cross_products(self, first: int, second: int) -> Matrix:
        """Products of z of two sides, in either order; of a side with itself, its own."""
        if first == second:
            return self.sides[first].products
        found = self.cross.get((first, second))
        return self.cross[second, first].T if found is None else found

    def take(self, first: int, second: int) -> Sums:
        """The sums of two sides alone, as sides 0 and 1."""
        return Sums(self.n_rows, (self.sides[first], self.sides[second]), {(0, 1): self.cross_products(first, second)})

    def with_cross(self, block: Matrix) -> Sums:
        """Two sides with other products of one with the other."""
        return replace(self, cross={(0, 1): block})


def merge(first: Sums, second: Sums) -> Sums:
    """Sums over the rows of both."""
    pairs = [_in_one_unit(a, b) for a, b in zip(first.sides, second.sides, strict=True)]
    ratios = [
        [_side_scale(own.n_features, own.unit / both.unit) for own, both in zip(sums.sides, sides, strict=True)]
        for sums, sides in zip((first, second), zip(*pairs, strict=True), strict=True)
    ]
    n = first.n_rows + second.n_rows
    gaps = [(b.origin - a.origin) / a.unit + (b.offset - a.offset) for a, b in pairs]
    # From each mean to the common one.
    moves = [[-gap * (second.n_rows / n) for gap in gaps], [gap * (first.n_rows / n) for gap in gaps]]
    steps = [
        _mean_step(a, b, first.n_rows, second.n_rows, gap, own, other)
        for (a, b), gap, own, other in zip(pairs, gaps, *moves, strict=True)
    ]
    weight = first.n_rows * (second.n_rows / n)

    def add(blocks: tuple[Matrix, Matrix], i: int, j: int) -> Matrix:
        found = shift_means(blocks[0], moves[0][i], moves[0][j])
        found += shift_means(blocks[1], moves[1][i], moves[1][j])
        found += (weight * steps[i])[:, np.newaxis] * steps[j]
        return found

    sides = tuple(
        SideSums(a.origin, a.offset - own, a.unit, add((a.products, b.products), i, i))
        for i, ((a, b), own) in enumerate(zip(pairs, moves[0], strict=True))
    )
    cross = {
        (i, j): add(
            (
                block * ratios[0][i][:, np.newaxis] * ratios[0][j],
                second.cross[i, j] * ratios[1][i][:, np.newaxis] * ratios[1][j],
            ),
            i,
            j,
        )
        for (i, j), block in first.cross.items()
    }
    return Sums(n, sides, cross)


def merge_all(parts: Sequence[Sums]) -> Sums:
    """Sums over the rows of all parts."""
    return reduce(merge, parts)


def _in_one_unit(a: SideSums, b: SideSums) -> tuple[SideSums, SideSums]:
    if a.unit == b.unit:
        return a, b
    unit = max(a.unit, b.unit)
    return a.in_unit(unit), b.in_unit(unit)


def _side_scale(n_features: int, ratio: float) -> Vector:
    """What a change of unit does to z: its last entry is a square."""
    scale = np.full(n_features + 1, ratio)
    scale[-1] = ratio * ratio
    return scale


def _mean_step(a: SideSums, b: SideSums, n_a: int, n_b: int, gap: Vector, own: Vector, other: Vector) -> Vector:
    """Difference of the two means of z, about the common mean row."""
    lengths = b.squared_norm / n_b + float(other @ other) - a.squared_norm / n_a - float(own @ own)
    return np.append(gap, lengths)


def shift_means(block: Matrix, first: Vector, second: Vector) -> Matrix:
    """Products of centred z about another mean row: |x + s|^2 is |x|^2 + 2 s'x and a constant, which centring takes."""
    found = block.copy()
    found[-1] += 2 * (first @ found[:-1])
    found[:, -1] += 2 * (found[:, :-1] @ second)
    return found
