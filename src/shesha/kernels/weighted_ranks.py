"""Ranks of many vectors under varying weights, without sorting again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.support.types import Index, Matrix, Vector


@dataclass(frozen=True)
class SortedVectors:
    """Vectors with the sorting order of their entries, so that ranks under any weights need no sorting."""

    values: Matrix
    order: Index
    first: Index
    """For each entry, the position of the first equal entry in the sorted order."""
    behind: Index
    """For each entry, the position after the last entry equal to it."""

    @classmethod
    def build(cls, values: Matrix) -> SortedVectors:
        """Sort the entries of each line once."""
        order = np.argsort(values, axis=1, kind="stable")
        first, behind = np.empty_like(order), np.empty_like(order)
        for line, (vector, places) in enumerate(zip(values, order, strict=True)):
            first[line, places], behind[line, places] = _runs(vector[places])
        return cls(values, order, first, behind)

    def take(self, lines: list[int]) -> SortedVectors:
        """Return some of the vectors."""
        return SortedVectors(self.values[lines], self.order[lines], self.first[lines], self.behind[lines])

    def ranks(self, weights: Vector) -> Matrix:
        """Mean rank of each entry if entry p occurs weights[p] times."""
        below, counts = np.empty(self.values.shape), np.zeros(self.values.shape[1] + 1)
        # Lines are processed one at a time, so that each stays in the cache.
        for line, ranks in enumerate(below):
            np.cumsum(weights[self.order[line]], out=counts[1:])
            np.take(counts, self.first[line], out=ranks, mode="clip")
            ranks += counts[self.behind[line]]
        below += 1
        below /= 2
        return below


def _runs(ordered: Vector) -> tuple[Index, Index]:
    """For each sorted position, the first position with an equal entry and the position after the last."""
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.empty(0, np.intp)
    lengths = np.diff(np.append(starts, len(ordered)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)


def weighted_correlations(values: Matrix, weights: Vector) -> Matrix:
    """Correlations between all pairs of lines if entry p occurs weights[p] times; NaN for constant lines."""
    total = weights.sum()
    if not total > 0:
        return np.full((len(values), len(values)), np.nan)
    centred = values - (values @ weights / total)[:, None]
    products = (centred * weights) @ centred.T
    lengths = np.sqrt(np.diagonal(products))
    largest = np.abs(values).max(axis=1) * np.sqrt(total)
    lengths = np.where(lengths > 1e-10 * largest, lengths, np.nan)
    correlations: Matrix = np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    return correlations
