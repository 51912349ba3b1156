"""Both halves of the features, for random pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import row_matching_correlations, sampled_feature_halves
from shesha.kernels.condensed_pairs import condensed_index
from shesha.kernels.distances import Metric, find_undirected_rows
from shesha.kernels.feature_halves import Closeness
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.views._lazy_rows import Rows
from shesha.views.feature_halves import Draw, SplitHalves, draw_sampler, half_metric
from shesha.views.representation import Representation
from shesha.views.undirected_rows_error import UndirectedRowsError

FEWEST_PAIRS = 1000
"""Smallest number of pairs per partition; with fewer pairs, the rank correlation is biased."""
_CELLS_PER_PAIR = 32
"""If there are at most this many pairs of distinct rows per requested pair, matrix products are faster than single
pairs."""
_FIRST_ROWS = 256
_SMALLEST, _LARGEST = 1e-200, 1e200
"""Range of squared lengths within which products do not overflow or underflow."""


@dataclass(frozen=True)
class SampledHalves:
    """Like `SplitHalves`, but for random pairs of rows that are read when needed."""

    rows: Rows
    metric: Metric
    rotated: bool

    @property
    def _half_metric(self) -> Metric:
        return half_metric(self.metric, self.rotated)

    def sampler(self, seed: Seed) -> Callable[[], Draw]:
        """Return a function that draws partitions, in the same order as the documented functions."""
        return draw_sampler(self.rows.shape[1], self.rotated, generator(seed))

    def score(self, draw: Draw, pairs: tuple[Index, Index]) -> sampled_feature_halves.SampledScore:
        """Correlate the halves of one partition over the given pairs of rows."""
        if self.rows.shape[1] > WIDE_FEATURES:
            rows, places = np.unique(np.concatenate(pairs), return_inverse=True)
            if len(rows) ** 2 <= _CELLS_PER_PAIR * len(pairs[0]):
                return self._score_of_few(draw, rows, places.reshape(2, -1), pairs)
        return sampled_feature_halves.score(
            self.reader(), self.rows.shape[1], pairs, self._half_metric, self._plan(draw)
        )

    def _score_of_few(
        self, draw: Draw, rows: Index, places: Index, pairs: tuple[Index, Index]
    ) -> sampled_feature_halves.SampledScore:
        """Compute all distances between a few rows with matrix products, and select the given pairs."""
        few = Representation(self.reader()(rows), np.finfo(float).eps)
        halves = SplitHalves.build(few, metric=self.metric, rotated=self.rotated)
        cells = condensed_index(places[0], places[1], len(rows))

        def select(closeness: Closeness) -> sampled_feature_halves.SampledScore:
            defined = closeness.defined_pairs()
            kept = slice(None) if defined is None else defined[cells]
            first, second = closeness.first[cells[kept]], closeness.second[cells[kept]]
            return sampled_feature_halves.correlate_pairs(
                pairs[0][kept], pairs[1][kept], first, second, (halves.level,) * 2
            )

        return halves.kernel.visit(draw, select)

    def row_matching_correlations(
        self, chosen: Matrix, draw: Draw, partners: Sequence[Index], n_pairs: int, rng: np.random.Generator
    ) -> Vector:
        """Correlate the first half, for random pairs of rows, with the second half of their partners."""
        return row_matching_correlations.row_matching_correlations(
            chosen, n_pairs, self._half_metric, self._plan(draw), partners, rng
        )

    def _plan(self, draw: Draw) -> sampled_feature_halves.Masks | sampled_feature_halves.Planes:
        if isinstance(draw, np.random.Generator):
            return sampled_feature_halves.Planes.build(self.rows.shape[1], [draw])
        return sampled_feature_halves.Masks.build([draw])

    def reader(self) -> sampled_feature_halves.Rows:
        """Return a function that reads rows and checks them."""
        centre = self.metric == "correlation" and self.rotated
        unit = self._unit() if self.metric == "euclidean" else 1.0

        def read(ids: Index) -> Matrix:
            rows = self.rows.read(ids)
            if unit != 1.0:
                rows = rows / unit
            # One pass suffices: a sum is finite only if all its terms are, and rows of length zero are checked below.
            with np.errstate(over="ignore"):
                lengths = np.einsum("ij,ij->i", rows, rows)
            if not np.isfinite(lengths).all():
                self._require_finite(rows, ids)
            self._require_directions(rows, lengths, ids)
            extreme = ~((lengths > _SMALLEST) & (lengths < _LARGEST))
            if self.metric != "euclidean" and extreme.any():
                # Directions do not depend on the scale, but the squares of these numbers would overflow or underflow.
                rows[extreme] /= np.abs(rows[extreme]).max(axis=1, keepdims=True)
            if centre:
                rows -= rows.mean(axis=1, keepdims=True)
            return rows

        return read

    def _unit(self) -> float:
        """Return a unit, determined from the first rows, in which squared distances do not overflow."""
        first = self.rows.read(slice(0, _FIRST_ROWS))
        return length_unit(first) if np.isfinite(first).all() else 1.0

    def _require_finite(self, rows: Matrix, ids: Index) -> None:
        bad = ids[~np.isfinite(rows).all(axis=1)]
        if len(bad):
            name = self.rows.name
            raise ValueError(f"{name} must be finite, got NaN or infinity in rows {check.join_items(np.unique(bad))}")

    def _require_directions(self, rows: Matrix, lengths: NDArray[np.float64], ids: Index) -> None:
        suspect = np.flatnonzero(lengths == 0) if self.metric == "cosine" else np.arange(len(rows))
        undirected = suspect[find_undirected_rows(rows[suspect], self.metric)] if len(suspect) else suspect
        if len(undirected):
            raise UndirectedRowsError(np.unique(ids[undirected]), self.metric)
