"""Pairs of rows from different sampling units, such as donors: their mean cosine, its standard error and its null."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.group_sums_by_block import Parts
from shesha.coherence.null_group_sums import scores_of_sums
from shesha.coherence.shift_summary import Shifts
from shesha.support.types import Index, Matrix, Vector

PAIR = 1
"""Column of the pairwise cosine in the arrays of scores."""


def between_units(total: Matrix, units: Matrix, counts: Matrix) -> Vector:
    """Return the mean cosine over pairs of rows from different units.

    Parameters
    ----------
    total : array of shape (..., n_features)
        Sum of the unit shifts of a group.
    units : array of shape (..., n_units)
        Squared length of the sum of the unit shifts of each sampling unit.
    counts : array of shape (..., n_units)
        Number of nonzero shifts of each sampling unit.
    """
    n = counts.sum(axis=-1)
    n_pairs = n**2 - (counts**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((total**2).sum(axis=-1) - units.sum(axis=-1)) / np.where(n_pairs > 0, n_pairs, np.nan))


@dataclass(frozen=True)
class UnitSums:
    """Sums over the rows of each sampling unit of a group."""

    group: Index
    """Group of each sampling unit."""
    row_unit: Index
    """Sampling unit of each row; -1 outside all groups."""
    directions: Matrix
    """Sum of the unit shifts of each sampling unit."""
    shifts: Matrix
    counts: Vector
    """Number of nonzero shifts."""

    @classmethod
    def build(cls, parts: Parts, inverse: Vector) -> UnitSums:
        """Add up the shifts of each unit, and their directions."""
        layout = parts.layout
        assert layout.unit is not None
        keys = np.stack([parts.group, layout.unit[parts.inside], layout.block[parts.inside]])
        cells, cell = np.unique(keys, axis=1, return_inverse=True)
        pairs, unit_of_cell = np.unique(cells[:2], axis=1, return_inverse=True)
        codes = np.full(len(layout.group), -1)
        codes[parts.inside] = cell.ravel()
        weights = np.stack([np.where(codes >= 0, inverse, 0.0), (codes >= 0).astype(np.float64)])
        sums = parts.rows.sums(codes, cells.shape[1], weights)
        added = np.stack([np.bincount(cell.ravel(), row[parts.inside], cells.shape[1]) for row in weights])
        sums -= added[:, :, None] * parts.references[cells[2]]
        per_unit = np.zeros((2, pairs.shape[1], sums.shape[2]))
        for k in range(2):
            np.add.at(per_unit[k], unit_of_cell.ravel(), sums[k])
        row_unit = np.full(len(layout.group), -1)
        row_unit[parts.inside] = unit_of_cell.ravel()[cell.ravel()]
        counts = np.bincount(row_unit[parts.inside], inverse[parts.inside] > 0, pairs.shape[1]).astype(np.float64)
        return cls(pairs[0], row_unit, per_unit[0], per_unit[1], counts)

    def of_group(self, g: int) -> Index:
        """Return the units of a group."""
        return np.flatnonzero(self.group == g)

    def mean_cosines(self, n_groups: int) -> Vector:
        """Return the mean cosine over pairs from different units, for each group."""
        return np.array([self._mean_cosine(self.of_group(g)) for g in range(n_groups)])

    def _mean_cosine(self, units: Index) -> float:
        vectors = self.directions[units]
        return float(between_units(vectors.sum(axis=0), (vectors**2).sum(axis=1), self.counts[units]))

    def jackknife_variances(self, n_groups: int) -> Vector:
        """Return the variance of each group's mean cosine, from leaving out one unit at a time."""
        variances = np.full(n_groups, np.nan)
        for g in range(n_groups):
            units = self.of_group(g)
            if len(units) > 2:
                values = np.array([self._mean_cosine(np.delete(units, k)) for k in range(len(units))])
                variances[g] = (len(units) - 1) * values.var()
        return variances

    def slopes(self, parts: Parts, shifts: Shifts) -> NDArray[np.float64]:
        """Return the derivatives of the mean cosine with respect to the reference of each block."""
        others = shifts.units[self.group] - self.directions
        (projections,) = parts_products(parts, self.row_unit, others)
        turned = parts.row_sums((projections * shifts.inverse**3)[None])[0]
        n_blocks = parts.shape[1]
        place = self.row_unit[parts.inside] * n_blocks + parts.layout.block[parts.inside]
        added = np.bincount(place, shifts.inverse[parts.inside], len(self.group) * n_blocks).reshape(-1, n_blocks)
        totals = np.zeros_like(turned)
        np.add.at(totals, self.group, added[:, :, None] * others[:, None])
        counts = [self.counts[self.of_group(g)] for g in range(parts.shape[0])]
        n_pairs = np.array([one.sum() ** 2 - (one**2).sum() for one in counts], dtype=np.float64)
        return np.asarray(2 * (turned - totals) / np.where(n_pairs > 0, n_pairs, np.nan)[:, None, None])

    def sign_flips(self, g: int, squares: float, n: int, n_draws: int, seed: int) -> Matrix:
        """Return the scores of a group under random signs of its units: (n_draws, 4).

        Parameters
        ----------
        g : int
            Code of the group.
        squares : float
            Sum of the squared lengths of its shifts.
        n : int
            Number of its rows.
        n_draws, seed : int
            If there are at most `n_draws` different choices of signs, each is used once.
        """
        units = self.of_group(g)
        signs = unit_signs(len(units), n_draws, np.random.default_rng([seed, g]))
        if not len(signs):
            return np.empty((0, 4))
        directions, shifts, counts = self.directions[units], self.shifts[units], self.counts[units]
        turned = signs @ directions
        scores = scores_of_sums(
            turned, signs @ shifts, counts.sum(keepdims=True), np.array([squares]), np.zeros(1), np.array([n])
        )
        scores[:, PAIR] = between_units(turned, (directions**2).sum(axis=1)[None], counts[None])
        return scores


def parts_products(parts: Parts, codes: Index, vectors: Matrix) -> Matrix:
    """Return the inner product of each row, minus its reference, with the vector of its code: (1, n)."""
    products = parts.rows.products(codes, vectors[:, None])[:, 0]
    references = np.einsum("ij,ij->i", parts.references[parts.layout.block[parts.inside]], vectors[codes[parts.inside]])
    products[parts.inside] -= references
    return np.asarray(products[None])


def unit_signs(n_units: int, n_draws: int, rng: np.random.Generator) -> Matrix:
    """Return signs of the units: all choices except the observed one and its opposite, or random draws."""
    if n_units <= 1 + np.log2(n_draws + 1):
        # Scores do not change if all units change sign, so the first unit keeps its sign.
        choices = [(1.0, *rest) for rest in product((1.0, -1.0), repeat=max(0, n_units - 1))][1:]
        return np.array(choices, dtype=np.float64).reshape(len(choices), n_units)
    return rng.choice([-1.0, 1.0], size=(n_draws, n_units))
