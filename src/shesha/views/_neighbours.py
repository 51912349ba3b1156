"""The nearest rows of each row, and the graph that they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check
from shesha._warnings import NotEstimable
from shesha.kernels import neighbours as kernel
from shesha.kernels.distances import PANEL
from shesha.views._features import Features
from shesha.views._representation import Representation, Standard, View

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Neighbours(View):
    """Row i of `nearest` lists the k nearest rows of row i, nearest first; itself is left out by its number."""

    nearest: Index
    rows: Matrix | None
    """Rows whose inner products make the metric; None if only distances were given."""
    distances: Vector | None = None
    """Condensed distances, if only they were given."""

    @classmethod
    def of(
        cls,
        source: Representation,
        *,
        k: int = 10,
        metric: Standard = "cosine",
        center: bool = False,
        include_self: bool = False,
    ) -> Neighbours:
        """Search among all rows; with `center` after removing column means."""
        k = check.count(k, "k")
        if k >= source.n_rows:
            raise NotEstimable(f"{k} nearest neighbours need more than {k} rows, got {source.n_rows}")
        if source.given_distances:
            distances, _ = source.condensed("euclidean")
            return cls(kernel.nearest_of_distances(distances, source.n_rows, k), None, distances)
        if metric == "dot":
            features = source.view(Features)
            rows = features.centred if center else features.rows
            return cls(kernel.nearest_by_product(rows, k, include_self=include_self), rows)
        rows = source.standard(metric)
        return cls(kernel.nearest_by_distance(rows, k), rows)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """Distances suffice."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Rows and neighbours, and panels of distances."""
        return 24 * n * d + 8 * n * options["k"], 24 * n * d + 64 * n * (options["k"] + 10) + 32 * PANEL * n

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return len(self.nearest)

    @property
    def k(self) -> int:
        """Number of neighbours of each row."""
        return int(self.nearest.shape[1])

    @cached_property
    def links(self) -> Index:
        """Each (row, neighbour) as one number, row * n + neighbour, sorted."""
        codes = np.arange(self.n_rows)[:, None] * self.n_rows + self.nearest
        codes.sort(axis=1)
        return codes.ravel()

    def distance_to(self, others: Index) -> Matrix:
        """Cosine (or given) distance of each row to the rows that its line of `others` names."""
        out = np.empty(others.shape)
        step = max(1, (1 << 21) // max(1, others.shape[1] * (1 if self.rows is None else self.rows.shape[1])))
        for start in range(0, len(others), step):
            stretch = slice(start, start + step)
            out[stretch] = self._distances(np.arange(start, min(start + step, len(others))), others[stretch])
        return out

    def _distances(self, own: Index, others: Index) -> Matrix:
        if self.rows is not None:
            # Half the squared distance of unit rows keeps its digits where rows are close.
            difference = self.rows[others] - self.rows[own][:, None, :]
            return np.asarray(0.5 * np.einsum("ijk,ijk->ij", difference, difference))
        assert self.distances is not None
        from shesha.kernels.permuted import condensed_index

        i = np.broadcast_to(own[:, None], others.shape)
        itself = i == others
        at = condensed_index(np.where(itself, 0, i), np.where(itself, 1, others), self.n_rows)
        return np.where(itself, 0.0, self.distances[at])

    def permuted(self, order: Index) -> Neighbours:
        """Relabel: row i of the result is row order[i] of this."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        rows = None if self.rows is None else self.rows[order]
        distances = self.distances
        if distances is not None:
            from shesha.kernels.permuted import condensed_index

            i, j = np.triu_indices(self.n_rows, k=1)
            distances = distances[condensed_index(order[i], order[j], self.n_rows)]
        return Neighbours(place[self.nearest[order]], rows, distances)


@dataclass(frozen=True)
class HeatTrace(View):
    """How heat leaves the rows of the graph of k nearest neighbours (Euclidean): one number for each time."""

    trace: Vector

    @classmethod
    def of(cls, source: Representation, *, k: int = 5) -> HeatTrace:
        """Build the graph and compute its heat trace."""
        from shesha.kernels.heat_trace import heat_trace

        return cls(heat_trace(source.view(Neighbours, k=k, metric="euclidean").nearest))

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """Distances suffice."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """The neighbours, and the powers of the graph."""
        kept, working = Neighbours.memory(n, d, **options)
        return kept, working + min(8 * 3 * n * n, 2**30)

    def permuted(self, order: Index) -> HeatTrace:
        """The order of the rows does not matter."""
        return self
