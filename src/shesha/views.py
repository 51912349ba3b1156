"""Views: the part of a comparison that needs one representation only, computed once and reused.

Every view can be permuted: relabelling the rows is gathering, so null distributions never rebuild one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import ranks
from shesha.kernels.distances import Metric, condensed, rounding_level
from shesha.kernels.permuted import condensed_index

Vector = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class RankedRdm:
    """Centred ranks of the distances between rows, scaled to unit length.

    The inner product of two is the rank correlation of the distances. Undefined distances have the
    mean rank, so they agree with nothing.
    """

    n_rows: int
    ranks: Vector
    """One entry per pair i < j in condensed order; all NaN if the distances are equal."""

    @classmethod
    def of_rows(cls, rows: NDArray[np.float64], metric: Metric) -> RankedRdm:
        """Rank the distances between standard rows."""
        return cls.of_distances(condensed(rows, metric, squared=True), len(rows), rounding_level(rows, metric))

    @classmethod
    def of_distances(
        cls, distances: Vector, n_rows: int, tolerance: float = 0.0, defined: NDArray[np.bool_] | None = None
    ) -> RankedRdm:
        """Rank condensed distances; those closer than the tolerance tie."""
        kept = distances if defined is None else distances[defined]
        values, variance = ranks.midranks(kept, tolerance) if len(kept) > 1 else (np.zeros(len(kept)), 0.0)
        values -= (len(kept) - 1) / 2
        values *= 1 / np.sqrt(variance) if variance > 0 else np.nan
        if defined is None:
            return cls(n_rows, values)
        filled = np.zeros(len(distances)) if variance > 0 else np.full(len(distances), np.nan)
        filled[defined] = values
        return cls(n_rows, filled)

    def permuted(self, order: Index) -> RankedRdm:
        """Relabel: row i of the result is row order[i] of this."""
        i, j = np.triu_indices(self.n_rows, k=1)
        return RankedRdm(self.n_rows, self.ranks[condensed_index(order[i], order[j], self.n_rows)])

    def inner(self, other: RankedRdm) -> float:
        """Rank correlation with another view of the same rows."""
        return float((self.ranks * other.ranks).sum())
