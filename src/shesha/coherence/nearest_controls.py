"""Shifts of rows from their nearest controls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.coherence.controls import Pool
from shesha.coherence.null_group_sums import Tally
from shesha.kernels.threads import parallel
from shesha.support.device_arrays import smallest
from shesha.support.types import Index, Matrix

_PANEL = 1 << 22
"""Maximum number of distances that are computed at a time."""


def nearest_controls(rows: Matrix, controls: Matrix, k: int) -> Index:
    """Return the indices of the k controls nearest to each row, nearest first: (n, k)."""
    squared = np.einsum("ij,ij->i", controls, controls)
    step = max(1, _PANEL // len(controls))

    def search_panel(start: int) -> Index:
        near = (rows[start : start + step] * -2.0) @ controls.T
        near += squared
        nearest: Index = smallest(near, k) if k < len(controls) else np.tile(np.arange(k), (len(near), 1))
        order = np.argsort(np.take_along_axis(near, nearest, axis=1), axis=1, kind="stable")
        return np.take_along_axis(nearest, order, axis=1)

    return np.concatenate(list(parallel(search_panel, range(0, len(rows), step))))


def nearest_control_shifts(rows: Matrix, controls: Matrix, k: int) -> Matrix:
    """Return each row minus the mean of its k nearest controls."""
    near = nearest_controls(rows, controls, min(k, len(controls)))
    return rows - _means(controls, near)


def _means(controls: Matrix, near: Index) -> Matrix:
    out = np.empty((len(near), controls.shape[1]))
    step = max(1, _PANEL // (near.shape[1] * controls.shape[1]))
    for start in range(0, len(near), step):
        out[start : start + step] = controls[near[start : start + step]].mean(axis=1)
    return out


@dataclass(frozen=True)
class MatchedPool:
    """Controls with their nearest other controls, enough that k remain when a null group is removed."""

    pool: Pool
    near: Index
    """Indices of the nearest other controls, nearest first: (n, more than k)."""
    k: int
    means: Matrix
    """For each control, the mean of its k nearest other controls."""

    @classmethod
    def build(cls, pool: Pool, k: int, largest: int) -> MatchedPool:
        """Find the neighbours, assuming that null groups of up to `largest` rows will be removed."""
        n, k = len(pool), min(k, len(pool) - 1)
        share = min(0.95, largest / n)
        # The number of neighbours outside a random group is binomial; a margin of six standard deviations ensures that
        # k remain.
        width = (k + 6 * np.sqrt(k * share)) / (1 - share) + 6
        near = nearest_controls(pool.rows, pool.rows, min(n, int(width) + 1))
        # A control must not be its own neighbour. It is found as the nearest one, unless other controls are copies of
        # it.
        place = np.argmax(near == np.arange(n)[:, None], axis=1)
        there = near[np.arange(n), place] == np.arange(n)
        keep = np.ones(near.shape, dtype=bool)
        keep[np.arange(n), np.where(there, place, near.shape[1] - 1)] = False
        near = near[keep].reshape(n, -1)
        return cls(pool, near, k, _means(pool.rows, near[:, :k]))

    def shifts(self, chosen: Index, excluded: Index) -> Matrix:
        """Return the shifts of the chosen rows from their nearest controls outside `excluded`."""
        out = np.zeros(len(self.pool), dtype=bool)
        out[excluded] = True
        near = self.near[chosen]
        free = ~out[near]
        is_nearest = free & (np.cumsum(free, axis=1) <= self.k)
        count = is_nearest.sum(axis=1)
        shifts = self.pool.rows[chosen] - self.means[chosen]
        # Only those few neighbours that change are added to the sum or subtracted from it.
        first = np.zeros_like(is_nearest)
        first[:, : self.k] = True
        change = is_nearest.astype(np.int8) - first.astype(np.int8)
        row, place = np.nonzero(change)
        if len(row):
            from scipy.sparse import csr_array

            moves = csr_array((change[row, place].astype(float), (row, near[row, place])), (len(chosen), len(out)))
            changed = np.unique(row)
            sums = self.means[chosen[changed]] * self.k + (moves @ self.pool.rows)[changed]
            shifts[changed] = self.pool.rows[chosen[changed]] - sums / np.maximum(count[changed], 1)[:, None]
        return shifts


def score_null_group(pools: list[MatchedPool], chosen: list[Index], excluded: list[Index]) -> Matrix:
    """Score one null group by its shifts from nearest controls; the arguments are those of `members`."""
    tally = Tally.empty(pools[0].pool.rows.shape[1])
    for pool, members, excluded_rows in zip(pools, chosen, excluded, strict=True):
        if len(members):
            tally.add_shifts(pool.shifts(members, excluded_rows))
    return tally.scores()
