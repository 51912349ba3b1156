"""Distances to neighbours of several ranks, from which a dimension is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.kernels.neighbour_distances import distinct_rows, neighbour_distances
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, View

MOST_RANKS = 64
"""Largest rank of a neighbour; neighbourhoods of higher ranks depend more on one another."""


@dataclass(frozen=True)
class NeighbourDistances(View):
    """Euclidean distances to the neighbours of ranks 1, 2, 4, ..., 64, without repeated rows."""

    rows: Matrix
    """The distinct rows, in units of `unit`."""
    unit: float
    n_repeated: int
    distances: Matrix
    """Distances of shape (n_distinct_rows, n_ranks), in the same unit as the rows."""

    @classmethod
    def build(cls, source: Representation) -> NeighbourDistances:
        """Compute the distances between all pairs of rows, in panels."""
        rows = source.to_numpy.standard("euclidean")
        if not rows.any():
            raise NotEstimable("all rows are equal")
        distinct = distinct_rows(rows)
        if len(distinct) < 3:
            raise NotEstimable(
                "all rows are equal"
                if len(distinct) == 1
                else f"at least 3 distinct rows are needed, got {len(distinct)}"
            )
        kept = rows[distinct]
        distances = neighbour_distances(kept, cls.powers_of_two_up_to(len(kept) - 1))[0]
        return cls(kept, length_unit(source.to_numpy.rows), len(rows) - len(kept), distances)

    @staticmethod
    def powers_of_two_up_to(n_others: int) -> Index:
        """Powers of two up to the number of other rows, but at most the largest rank."""
        return np.asarray(2 ** np.arange(int(np.log2(min(n_others, MOST_RANKS))) + 1), dtype=np.intp)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the rows, and for panels of distances."""
        return 16 * n * d + 56 * n, 8 * n * d + 64 * 256 * n

    def permute(self, order: Index) -> NeighbourDistances:
        """Return this view, because the order of the rows does not matter."""
        return self
