"""Ranks of all other rows by their distance from each row, with fractional ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import Metric, n_pairs
from shesha.support.types import Index, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, View

_PANEL = 256


@dataclass(frozen=True)
class RowRanks(View):
    """For each row, the ranks of all other rows by distance, with mean ranks for ties; and its k nearest.

    Rows that tie for the last places among the k nearest get equal shares of these places. If row numbers decided ties
    instead, two representations with ties would agree for that reason alone.
    """

    ranks: NDArray[np.float32]
    """Matrix whose row i contains the rank of every other row, counted from 1; the diagonal is 0."""
    own: Index
    """Row numbers: each entry of `nearest` is one of the k nearest rows of the row listed here, with the share in
    `shares`."""
    nearest: Index
    shares: Vector
    order: Index | None = None

    @classmethod
    def build(cls, source: Representation, *, k: int = 1, metric: Metric = "euclidean") -> RowRanks:
        """Rank the distances from each row to all others."""
        n = source.n_rows
        if check.count(k, "k") >= n:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {n}")
        condensed, tolerance = source.condensed_distances(metric, squared=not source.has_distances_only)
        if np.ptp(condensed) <= tolerance:
            raise NotEstimable("all distances between rows are equal, so nearest neighbours are undefined")
        distances = square(condensed, n)
        ranks = np.zeros((n, n), dtype=np.float32)
        places = [_rank_panel(distances, start, k, tolerance, ranks) for start in range(0, n, _PANEL)]
        rows, nearest, shares = (np.concatenate(part) for part in zip(*places, strict=True))
        return cls(ranks, rows, nearest, shares)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the ranks, and for the distances while they are ranked."""
        return 4 * n * n + 24 * n * options["k"], 24 * n * d + 16 * n_pairs(n) + 8 * n * n

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return len(self.ranks)

    def mean_rank_of_nearest(self, other: RowRanks) -> float:
        """Mean rank, in the other representation, of the rows that are nearest in this one."""
        own_ranks, nearest = self.own, self.nearest
        if self.order is not None:
            place = np.empty_like(self.order)
            place[self.order] = np.arange(len(place))
            own_ranks, nearest = place[own_ranks], place[nearest]
        if other.order is not None:
            own_ranks, nearest = other.order[own_ranks], other.order[nearest]
        return float(other.ranks[own_ranks, nearest] @ self.shares / self.shares.sum())

    def permute(self, order: Index) -> RowRanks:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return replace(self, order=order if self.order is None else self.order[order])


def _rank_panel(
    distances: NDArray[np.float64], start: int, k: int, tolerance: float, out: NDArray[np.float32]
) -> tuple[Index, Index, Vector]:
    """Rank all other rows for a panel of rows; return the k nearest, with fractional ties."""
    block = distances[start : start + _PANEL].copy()
    m, n = block.shape
    rows = np.arange(m)
    block[rows, start + rows] = -np.inf
    order = np.argsort(block, axis=1, kind="stable")
    ordered = np.take_along_axis(block, order, axis=1)
    new = np.ones((m, n), dtype=bool)
    # The row itself comes first and does not tie with any other row.
    new[:, 2:] = np.diff(ordered[:, 1:], axis=1) > tolerance
    places = np.broadcast_to(np.arange(n), (m, n))
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.ones((m, n), dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, places, n)[:, ::-1], axis=1)[:, ::-1]
    np.put_along_axis(out[start : start + m], order, ((first + last) / 2).astype(np.float32), axis=1)
    share = np.clip((k + 1 - first) / (last - first + 1), 0.0, 1.0)
    share[:, 0] = 0.0
    i, j = np.nonzero(share)
    return start + i, order[i, j], share[i, j]
