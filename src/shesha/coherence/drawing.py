"""Scores of groups that are drawn from the controls: what no effect at all gives a group of that size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha._types import Index, Matrix, Vector
from shesha.coherence.pool import Pool
from shesha.coherence.scores import NO_DIRECTION


@dataclass
class Tally:
    """Sums over the shifts of one group, block after block."""

    units: Vector
    shifts: Vector
    n: int = 0
    directed: int = 0

    @classmethod
    def empty(cls, n_features: int) -> Tally:
        """Return one without rows."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def add(self, members: Matrix, squared: Vector, total: Vector, reference: Vector) -> None:
        """Count rows, their squared lengths and their sum, whose shifts start from one reference."""
        lengths = np.sqrt(np.maximum(0.0, squared - 2 * (members @ reference) + reference @ reference))
        floor = NO_DIRECTION * lengths.max(initial=0.0)
        inverse = np.where(lengths > floor, 1 / np.maximum(lengths, 1e-300), 0.0)
        self.units += inverse @ members - inverse.sum() * reference
        self.shifts += total - len(members) * reference
        self.n += len(members)
        self.directed += int((inverse > 0).sum())

    def add_shifts(self, shifts: Matrix) -> None:
        """Count shifts that each have their own reference."""
        none = np.zeros(shifts.shape[1])
        self.add(shifts, np.einsum("ij,ij->i", shifts, shifts), shifts.sum(axis=0), none)

    def scores(self) -> Vector:
        """Mean cosine, pairwise cosine, magnitude; NaN where a direction is missing."""
        length, n = float(np.linalg.norm(self.shifts)), self.directed
        if n < 2 or length == 0:
            return np.array([np.nan, np.nan, length / max(1, self.n)])
        pairwise = (self.units @ self.units - n) / (n * (n - 1))
        return np.array([self.units @ self.shifts / (length * n), pairwise, length / self.n])


def fake_reference(mean: Vector, others: Vector, share: float) -> Vector:
    """Where the shifts of a fake group start, so that they vary as those of a group beside all controls.

    A fake leaves fewer controls, whose mean is noisier: its mean shift has variance 1/n + 1/(N - n) instead of
    1/n + 1/N. Moving the reference towards the fake's mean by the root of their ratio, sqrt(1 - (n/N)^2), makes up
    for it, exactly where the noise is Gaussian: deviations from a mean do not depend on it.

    Parameters
    ----------
    mean, others : arrays of shape (d,)
        Means of the fake group, and of the controls left.
    share : float
        Of the controls that were taken out.
    """
    return np.asarray(mean - np.sqrt(1 - share**2) * (mean - others))


def windows(pools: Sequence[Pool], sizes: Index, rng: np.random.Generator) -> NDArray[np.float64]:
    """Score one fake group for each size: consecutive stretches of the controls in random order.

    Stretches follow one another, so that fakes share rows only where the controls do not suffice for all. The
    controls outside a fake group are its controls.

    Parameters
    ----------
    pools : one per block
    sizes : array of shape (n_groups, n_blocks)
        Smaller than the pools.
    rng : Generator

    Returns
    -------
    array of shape (n_groups, 3)
        Mean cosine, pairwise cosine, magnitude.
    """
    tallies = [Tally.empty(pools[0].rows.shape[1]) for _ in sizes]
    for block, pool in enumerate(pools):
        own = sizes[:, block]
        if not own.any():
            continue
        order = rng.permutation(len(pool))
        order = np.append(order, order[: own.max()])
        rows, squared = pool.rows[order], pool.squared[order]
        sums = np.cumsum(np.vstack([np.zeros((1, rows.shape[1])), rows]), axis=0)
        starts = (np.cumsum(own) - own) % len(pool)
        for tally, start, n in zip(tallies, starts, own, strict=True):
            if n:
                stretch, total = slice(start, start + n), sums[start + n] - sums[start]
                others = (pool.total - total) / (len(pool) - n)
                tally.add(rows[stretch], squared[stretch], total, fake_reference(total / n, others, n / len(pool)))
    return np.stack([tally.scores() for tally in tallies])


def members(
    pools: Sequence[Pool], chosen: Sequence[Index], apart: Sequence[Index], *, beside_all: bool = True
) -> Vector:
    """Score one fake group, given by its places in each pool and by the places that are not its controls.

    Parameters
    ----------
    pools : one per block
    chosen : one array of places per block
    apart : one array of places per block
        The chosen ones, and those that belong with them (the rest of their unit).
    beside_all : bool
        Whether the real group stands beside all rows of the pools, not beside those that are left.
    """
    tally = Tally.empty(pools[0].rows.shape[1])
    for pool, own, left in zip(pools, chosen, apart, strict=True):
        if len(own):
            rows = pool.rows[own]
            total, n_left = rows.sum(axis=0), len(pool) - len(left)
            reference = (pool.total - pool.rows[left].sum(axis=0)) / n_left
            if beside_all:
                reference = fake_reference(total / len(own), reference, len(left) / len(pool))
            tally.add(rows, pool.squared[own], total, reference)
    return tally.scores()
