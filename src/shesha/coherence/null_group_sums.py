"""Sums over the shifts of null groups, and the scores that follow from these sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.controls import Pool
from shesha.coherence.scores import NO_DIRECTION
from shesha.support.types import Index, Matrix, Vector


@dataclass
class Tally:
    """Sums over the shifts of one group, accumulated over blocks."""

    units: Vector
    shifts: Vector
    n: int = 0
    directed: int = 0
    square: float = 0.0
    """Sum of the squared lengths of the shifts."""
    noise: float = 0.0
    """Expected contribution of the references' sampling error to the squared magnitude, times n squared."""

    @classmethod
    def empty(cls, n_features: int) -> Tally:
        """Return sums over no shifts."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def add(self, members: Matrix, squared: Vector, total: Vector, reference: Vector, noise: float) -> Vector:
        """Add rows whose shifts all start from one reference, given their squared lengths, sum, and noise.

        Return one over the length of each shift, or 0 for zero shifts.
        """
        squared = np.maximum(0.0, squared - 2 * (members @ reference) + reference @ reference)
        lengths = np.sqrt(squared)
        floor = NO_DIRECTION * lengths.max(initial=0.0)
        inverse = np.where(lengths > floor, 1 / np.maximum(lengths, 1e-300), 0.0)
        self.units += inverse @ members - inverse.sum() * reference
        self.shifts += total - len(members) * reference
        self.n += len(members)
        self.directed += int((inverse > 0).sum())
        self.square += float(squared.sum())
        self.noise += len(members) ** 2 * noise
        return inverse

    def add_shifts(self, shifts: Matrix) -> Vector:
        """Add shifts that each start from a reference of their own."""
        none = np.zeros(shifts.shape[1])
        return self.add(shifts, np.einsum("ij,ij->i", shifts, shifts), shifts.sum(axis=0), none, 0.0)

    def scores(self) -> Vector:
        """Return mean cosine, pairwise cosine, magnitude and magnitude / its noise; NaN if undefined."""
        numbers = (np.array([value]) for value in (self.directed, self.square, self.noise, self.n))
        return np.asarray(scores_of_sums(self.units[None], self.shifts[None], *numbers)[0])


def null_group_reference(
    mean: Matrix, others: Matrix, n: int | Index, n_excluded: int | Index, n_controls: int
) -> Matrix:
    """Return a null group's reference, corrected so that shifts vary as much as those of a real group.

    A null group leaves N - a of N controls, so its mean shift has variance 1/n + 1/(N - a) instead of 1/n + 1/N. The
    correction multiplies the mean shift by the square root of the ratio of these variances. It is exact for Gaussian
    noise, because deviations from a mean are independent of this mean.

    Parameters
    ----------
    mean, others : arrays of shape (d,) or (n_groups, d)
        Means of the null group and of the remaining controls.
    n, n_excluded : int, or arrays of shape (n_groups, 1)
        Number n of rows in the null group, and number a of rows that are excluded from its controls (all rows of its
        units).
    n_controls : int
        Number N of all controls.
    """
    step = np.sqrt((1 / n + 1 / n_controls) / (1 / n + 1 / (n_controls - n_excluded)))
    return np.asarray(mean - step * (mean - others))


def windows(pools: Sequence[Pool], sizes: Index, rng: np.random.Generator) -> NDArray[np.float64]:
    """Score one null group per size; the groups are consecutive stretches of the permuted controls.

    The stretches follow one another, so that null groups share rows only if there are too few controls for all of them.
    The shifts of a null group start from the mean of the controls outside it.

    Parameters
    ----------
    pools : sequence of Pool, one per block
    sizes : array of shape (n_groups, n_blocks)
        Number of rows of each group in each block, which must be smaller than the pool.
    rng : Generator

    Returns
    -------
    array of shape (n_groups, 4)
        Mean cosine, pairwise cosine, magnitude, and magnitude relative to its noise.
    """
    d = pools[0].rows.shape[1]
    units, shifts = np.zeros((2, len(sizes), d))
    directed, square, noise = np.zeros((3, len(sizes)))
    for pool, sizes_in_pool in zip(pools, sizes.T, strict=True):
        if sizes_in_pool.any():
            of_units, of_shifts, counted, squares = _window_sums(pool, sizes_in_pool, rng)
            units += of_units
            shifts += of_shifts
            directed += counted
            square += squares
            noise += sizes_in_pool**2 * pool.scatter / len(pool)
    return scores_of_sums(units, shifts, directed, square, noise, sizes.sum(axis=1))


def _window_sums(pool: Pool, sizes: Index, rng: np.random.Generator) -> tuple[Matrix, Matrix, Vector, Vector]:
    """Return sums over stretches of one pool: unit shifts, shifts, nonzero shifts, squared lengths."""
    order = rng.permutation(len(pool))
    order = np.append(order, order[: sizes.max()])
    rows = pool.rows[order]
    starts = (np.cumsum(sizes) - sizes) % len(pool)
    stretches = [rows[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    # A product with ones is several times faster than a sum along the first axis.
    totals = np.stack([np.ones(len(stretch)) @ stretch for stretch in stretches])
    used = np.flatnonzero(sizes)
    n = np.maximum(sizes, 1)[:, None]
    others = (pool.total - totals) / (len(pool) - sizes)[:, None]
    references = null_group_reference(totals / n, others, n, sizes[:, None], len(pool))
    # Only the products need a call per stretch. All other steps run over all stretches at once, because separate calls
    # would take as long as the sums themselves.
    ends = np.cumsum(sizes)
    projections = np.empty(int(ends[-1]))
    for g in used:
        np.dot(stretches[g], references[g], out=projections[ends[g] - sizes[g] : ends[g]])
    place = np.arange(len(projections)) + np.repeat(starts - (ends - sizes), sizes)
    squared = pool.squared[order[place]] + np.repeat((references**2).sum(axis=1), sizes) - 2 * projections
    lengths = np.sqrt(np.maximum(squared, 0.0, out=squared))
    inverse = np.where(lengths > NO_DIRECTION * lengths.max(), 1 / np.maximum(lengths, 1e-300), 0.0)
    units = np.zeros_like(totals)
    for g in used:
        np.dot(inverse[ends[g] - sizes[g] : ends[g]], stretches[g], out=units[g])
    bounds = np.append(0, ends)
    sums_of = [np.diff(np.append(0.0, np.cumsum(values))[bounds]) for values in (inverse, inverse > 0, squared)]
    return units - sums_of[0][:, None] * references, totals - sizes[:, None] * references, sums_of[1], sums_of[2]


def scores_of_sums(units: Matrix, shifts: Matrix, directed: Vector, square: Vector, noise: Vector, n: Index) -> Matrix:
    """Return mean cosine, pairwise cosine, magnitude and magnitude / its noise; NaN for zero shifts."""
    length = np.linalg.norm(shifts, axis=-1)
    known = np.where(directed > 1, directed, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(length > 0, (units * shifts).sum(axis=-1) / (length * known), np.nan)
        pairwise = np.where(length > 0, ((units**2).sum(axis=-1) - known) / (known * (known - 1)), np.nan)
    magnitude = length / np.maximum(n, 1)
    noise = (square / n - magnitude**2) / np.maximum(n - 1, 1) + noise / n**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([mean, pairwise, magnitude, magnitude / np.sqrt(noise)], axis=-1)


def members(
    pools: Sequence[Pool],
    chosen: Sequence[Index],
    excluded: Sequence[Index],
    *,
    corrected: bool = True,
) -> Vector:
    """Score one null group, given its rows in each pool and the rows excluded from its controls.

    Parameters
    ----------
    pools : sequence of Pool, one per block
    chosen : sequence of index arrays, one per block
        Indices of the rows of the null group.
    excluded : sequence of index arrays, one per block
        Indices of the chosen rows and of all other rows of their units; none of these serve as controls of the null
        group.
    corrected : bool
        Whether to correct the reference. Use True if the shifts of the real group start from the mean of all rows of
        the pools, and False if they start from the mean of the remaining rows only.
    """
    tally = Tally.empty(pools[0].rows.shape[1])
    for pool, indices, excluded_rows in zip(pools, chosen, excluded, strict=True):
        if len(indices):
            add_members(tally, pool, indices, excluded_rows, corrected=corrected)
    return tally.scores()


def add_members(tally: Tally, pool: Pool, chosen: Index, excluded: Index, *, corrected: bool) -> tuple[Vector, Vector]:
    """Add the rows of a null group in one pool; return their reference, and one over the lengths of their shifts."""
    rows = pool.rows[chosen]
    total, n_left = rows.sum(axis=0), len(pool) - len(excluded)
    reference = (pool.total - pool.rows[excluded].sum(axis=0)) / n_left
    if corrected:
        reference = null_group_reference(total / len(chosen), reference, len(chosen), len(excluded), len(pool))
    noise = pool.scatter / (len(pool) if corrected else n_left)
    return reference, tally.add(rows, pool.squared[chosen], total, reference, noise)
