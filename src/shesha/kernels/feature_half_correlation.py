"""One partition of the features into halves: ranks of all pairs in each half, and their correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.kernels import bootstrap_correlations, ranks
from shesha.kernels.feature_halves import Closeness
from shesha.kernels.fixed_point_argsort import Ordering, order_values
from shesha.support.types import Index, Mask, Vector


@dataclass(frozen=True)
class Partition:
    """The order of the pairs by distance in the first half, and by distance in the second half."""

    first: Ordering | None
    """Ordering of the first half's distances; None if a half has only equal distances or fewer than two pairs."""
    second: Ordering | None
    """Ranks of the second half's distances, listed in the order given by the first half."""
    n_pairs: int
    """Number of all pairs, including those whose distance is undefined."""
    kept: Index | None
    """Positions of the pairs whose distance is defined in both halves; None if all are defined."""
    directed: Mask | None
    """Rows that have a direction in both halves; None if all rows have one."""

    @classmethod
    def build(cls, closeness: Closeness, level: float) -> Partition:
        """Rank the pairs in both halves; the closeness values are overwritten."""
        first, second, defined = closeness.first, closeness.second, closeness.defined_pairs()
        n_pairs = len(first)
        kept = None if defined is None else np.flatnonzero(defined)
        if kept is not None:
            first, second = first[kept], second[kept]
        nothing = cls(None, None, n_pairs, kept, closeness.directed)
        if len(first) < 2:
            return nothing
        outer = order_values(first, level, closeness.scratch[: len(first)].view(np.uint64))
        if outer.variance == 0:
            return nothing
        arranged = np.take(second, outer.order)
        inner = order_values(arranged, level, second.view(np.uint64))
        if inner.variance == 0:
            return nothing
        return cls(outer, inner, n_pairs, kept, closeness.directed)

    @property
    def n_dropped(self) -> int:
        """Number of pairs whose distance is undefined in at least one half."""
        return 0 if self.kept is None else self.n_pairs - len(self.kept)

    @property
    def correlation(self) -> float:
        """Rank correlation between the two halves' distances; NaN if a half gives no ranking."""
        if self.first is None or self.second is None:
            return float("nan")
        return ranks.correlation(self.first, self.second)

    def cells(self, chosen: Index | None) -> bootstrap_correlations.Cells | None:
        """Cell of each pair in the bootstrap's rank table; None if there is no correlation."""
        if self.first is None or self.second is None:
            return None
        found = bootstrap_correlations.rank_cells(self.first, self.second)
        if self.kept is not None:
            every = np.full(self.n_pairs, bootstrap_correlations.UNDEFINED, dtype=np.int32)
            every[self.kept] = found
            found = every
        return found if chosen is None else found[chosen]

    def unit_ranks(self) -> tuple[Vector, Vector] | None:
        """Centred ranks in each half, scaled to unit length, so that their inner product is the correlation."""
        if self.first is None or self.second is None:
            return None
        places = self.first.order
        return _unit(self.first, places), _unit(self.second, places[self.second.order])


def _unit(ordering: Ordering, places: Index) -> Vector:
    """Assign to each pair the scaled, centred rank at its position."""
    n = len(places)
    ranked = np.arange(n, dtype=np.float64) if ordering.ranks is None else ordering.ranks + 0.0
    ranked -= (n - 1) / 2
    ranked *= 1 / np.sqrt(ordering.variance)
    out = np.empty(n)
    out[places] = ranked
    return out
