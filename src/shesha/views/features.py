"""The features themselves: as given, centred, standardised for a distance, or projected onto random directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

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
from shesha.kernels.orthogonal_maps import triangular_factor
from shesha.kernels.rounding_and_scaling import ROUNDING, length_unit
from shesha.support.device_arrays import column_medians, is_numpy, namespace, norm, singular_values, take_rows
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.views.representation import Representation, View
from shesha.views.undirected_rows_error import UndirectedRowsError


@dataclass(frozen=True)
class Plain(View):
    """Rows as they were given, in their original units."""

    rows: Matrix

    @classmethod
    def build(cls, source: Representation) -> Plain:
        """Store the rows unchanged."""
        return cls(source.rows)

    def permute(self, order: Index) -> Plain:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return Plain(self.rows[order])


_MEDIAN_ROWS = 100


@dataclass(frozen=True)
class Features(View):
    """Rows divided by a power of two near the largest entry, so that squares do not overflow."""

    rows: Matrix
    unit: float
    precision: float

    @classmethod
    def build(cls, source: Representation) -> Features:
        """Store the rows, divided by the power of two."""
        rows = source.rows
        unit = length_unit(rows)
        return cls(rows / unit, unit, source.precision)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @cached_property
    def centred(self) -> Matrix:
        """Rows minus their column means; columns with equal entries become exactly zero."""
        return _centre(self.rows, copy=True)

    @cached_property
    def centred_norm(self) -> float:
        """Frobenius norm of the centred rows; 0 if all rows are equal up to rounding."""
        length = norm(self.centred)
        return length if length > self.precision * norm(self.rows) else 0.0

    @cached_property
    def compact(self) -> Matrix:
        """Centred rows in at most n coordinates, by an orthogonal map that preserves inner products."""
        n, d = self.centred.shape
        return self.centred if d <= n else _triangular_factor(self.centred)

    @cached_property
    def unit_columns(self) -> tuple[Matrix, Index]:
        """Centred columns scaled to unit length, and the indices of constant columns."""
        largest = np.abs(self.centred).max(axis=0)
        constant = np.flatnonzero(largest <= 4 * np.finfo(float).eps * np.abs(self.rows).max(axis=0))
        scaled = self.centred / np.where(largest > 0, largest, 1.0)
        scaled[:, constant] = 0.0
        length = np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
        return scaled / np.where(length > 0, length, 1.0), constant

    @property
    def constant_columns(self) -> Index:
        """Indices of the columns whose entries are all equal."""
        return self.unit_columns[1]

    def correlations(self, other: Features) -> Matrix:
        """Correlate every column of one side with every column of the other; 0 for constant columns."""
        return cast(Matrix, np.clip(self.unit_columns[0].T @ other.unit_columns[0], -1.0, 1.0))

    def nuclear_norm(self, other: Features) -> float:
        """Sum of the singular values of the cross-product between the centred rows of both sides."""
        return self.cache_for_pair(
            other, "nuclear norm", lambda: float(singular_values(self.compact.T @ other.compact).sum())
        )

    def permute(self, order: Index) -> Features:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return _Relabelled(take_rows(self.rows, order), self.unit, self.precision, self, order)


@dataclass(frozen=True)
class _Relabelled(Features):
    """Features with reordered rows, whose results are rearranged from those of the original."""

    original: Features
    order: Index

    @cached_property
    def centred(self) -> Matrix:
        """Centred rows of the original, in the new order."""
        return cast(Matrix, take_rows(self.original.centred, self.order))

    @cached_property
    def centred_norm(self) -> float:
        """Norm of the original, which does not depend on the order of the rows."""
        return self.original.centred_norm

    @cached_property
    def compact(self) -> Matrix:
        """Compact rows of the original, in the new order."""
        return cast(Matrix, take_rows(self.original.compact, self.order))

    @cached_property
    def unit_columns(self) -> tuple[Matrix, Index]:
        """Unit columns of the original, with rows in the new order."""
        columns, constant = self.original.unit_columns
        return columns[self.order], constant

    def permute(self, order: Index) -> Features:  # type: ignore[override]
        """Reorder the rows of the original again."""
        return self.original.permute(self.order[order])


def _centre(rows: Matrix, *, copy: bool) -> Matrix:
    """Subtract column means, from a copy or in place."""
    # Medians (of some rows) are subtracted first: they equal constants exactly, and outlying rows hardly change them.
    medians = column_medians(rows[:: max(1, int(rows.shape[0]) // _MEDIAN_ROWS), :])
    if copy:
        rows = rows - medians
    else:
        rows -= medians
    rows -= namespace(rows).mean(rows, axis=0)
    return rows


def centred_rows(source: Representation) -> tuple[Matrix, float]:
    """Return `Features.centred` and `Features.centred_norm` from a single copy of the rows."""
    rows = source.rows / length_unit(source.rows)
    size = norm(rows)
    rows = _centre(rows, copy=False)
    length = norm(rows)
    return rows, length if length > source.precision * size else 0.0


def compact_rows(centred: Matrix) -> Matrix:
    """Return centred rows in at most n coordinates; the argument is overwritten."""
    n, d = centred.shape
    return centred if d <= n else triangular_factor(centred) if is_numpy(centred) else _triangular_factor(centred)


def _triangular_factor(rows: Matrix) -> Matrix:
    """Return rows with the same inner products in as many coordinates as there are rows."""
    if is_numpy(rows):
        return triangular_factor(rows.copy())
    _, factor = namespace(rows).linalg.qr(rows.T)
    return cast(Matrix, factor.T)


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


@dataclass(frozen=True)
class Projections(View):
    """The rows projected onto random unit directions, with each projection sorted."""

    values: Matrix
    """Sorted projections, with one line per direction."""
    n_features: int

    @classmethod
    def build(cls, source: Representation, *, n_projections: int = 100, seed: Seed = None) -> Projections:
        """Draw the directions from the seed and the number of features, so that they are the same for all."""
        count = check.count(n_projections, "n_projections")
        features = source.view(Features)
        d = features.rows.shape[1]
        directions = generator(seed).standard_normal((d, count))
        directions /= np.linalg.norm(directions, axis=0)
        values = (features.rows @ directions).T * features.unit
        return cls(np.sort(values, axis=1), d)

    def permute(self, order: Index) -> Projections:
        """Return this view, because the order of the rows does not matter."""
        return self
