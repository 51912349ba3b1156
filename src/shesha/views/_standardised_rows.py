"""Rows whose inner products determine a distance, or distances if only those are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import (
    METRICS,
    PANEL,
    Metric,
    condensed_distances,
    distance_rounding,
    find_undirected_rows,
    pair_distances,
    panel,
    standard_rows,
)
from shesha.kernels.rounding_and_scaling import ROUNDING, length_unit
from shesha.support.types import Index, Matrix, Vector
from shesha.views.representation import Representation, View
from shesha.views.undirected_rows_error import UndirectedRowsError


@dataclass(frozen=True)
class Standard(View):
    """Rows in standard form for a metric, optionally after subtracting column means."""

    metric: Metric
    rows: Matrix | None
    given: Matrix | None
    """Square matrix of distances, if only distances are known."""

    @classmethod
    def build(cls, source: Representation, *, metric: Metric = "cosine", centred: bool = False) -> Standard:
        """Convert the rows to standard form; given distances are not changed."""
        check.choice(metric, METRICS, "metric")
        if source.has_distances_only:
            return cls(metric, None, square(source.distances.condensed, source.n_rows))
        if not centred:
            return cls(metric, source.standard(metric), None)
        shifted = source.rows / length_unit(source.rows)
        # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
        shifted -= shifted[0].copy()
        shifted -= shifted.mean(axis=0)
        bad = find_undirected_rows(shifted, metric)
        if len(bad):
            raise UndirectedRowsError(bad, metric, "X minus its column means")
        return cls(metric, standard_rows(shifted, metric), None)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows if self.rows is not None else self._square)

    @property
    def _square(self) -> Matrix:
        assert self.given is not None
        return self.given

    @property
    def squares(self) -> bool:
        """Whether `squared` and `squared_distances_between` return squared distances."""
        return self.rows is None or self.metric == "euclidean"

    @property
    def level(self) -> float:
        """Difference below which two squared distances count as equal."""
        if self.rows is None:
            return ROUNDING * float(self._square.max(initial=0.0)) ** 2
        return distance_rounding(self.rows, self.metric)

    def permute(self, order: Index) -> Standard:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        if self.rows is None:
            return Standard(self.metric, None, self._square[np.ix_(order, order)])
        return Standard(self.metric, self.rows[order], None)

    def squared(self) -> Vector:
        """Distances between all pairs, in condensed order, squared if `squares` is true."""
        if self.rows is None:
            return np.asarray(self._square[np.triu_indices(self.n_rows, k=1)] ** 2)
        return condensed_distances(self.rows, self.metric, squared=True)

    def squared_distances_between(self, i: Index, j: Index) -> Vector:
        """Distances between the given pairs, squared if `squares` is true."""
        if self.rows is None:
            return np.asarray(self._square[i, j] ** 2)
        return pair_distances(self.rows, i, j, self.metric, squared=True)

    def panel(self, start: int) -> Matrix:
        """Distances from the panel's rows to themselves and to all later rows."""
        if self.rows is None:
            return self._square[start : start + PANEL, start:].copy()
        distances = panel(self.rows, self.metric, start)
        if self.metric == "euclidean":
            # Rounding can make the squared distance between a row and itself negative.
            np.sqrt(np.maximum(distances, 0.0, out=distances), out=distances)
        return distances
