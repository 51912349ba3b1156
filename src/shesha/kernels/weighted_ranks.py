"""Ranks of many vectors under changing weights, without sorting again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.support.types import Index, Matrix, Vector


@dataclass(frozen=True)
class SortedVectors:
    """Vectors with the order of their entries, so that ranks under any weights need no sorting."""

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
            ordered = vector[places]
            first[line] = np.searchsorted(ordered, vector, side="left")
            behind[line] = np.searchsorted(ordered, vector, side="right")
        return cls(values, order, first, behind)

    def ranks(self, weights: Vector) -> Matrix:
        """Mean rank of each entry if entry p occurs weights[p] times."""
        counts = np.zeros((len(self.values), self.values.shape[1] + 1))
        np.cumsum(weights[self.order], axis=1, out=counts[:, 1:])
        below = np.take_along_axis(counts, self.first, axis=1)
        below += np.take_along_axis(counts, self.behind, axis=1)
        below += 1
        below /= 2
        return below


def weighted_correlations(values: Matrix, weights: Vector) -> Matrix:
    """Correlations of all pairs of lines if entry p occurs weights[p] times; NaN for constant lines."""
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
