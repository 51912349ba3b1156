"""Both halves of the features, for one partition after another, from all pairs of rows or from random pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import feature_halves, sampled_feature_halves
from shesha.kernels.distances import METRICS, Metric, distance_rounding, find_undirected_rows
from shesha.kernels.feature_halves import Axes, Closeness, Frame, Partition, Rotations
from shesha.kernels.pairs import condensed_index
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, View
from shesha.views.row_source import Rows
from shesha.views.undirected_rows_error import UndirectedRowsError

Draw = Index | np.random.Generator
"""Random draw that defines a partition: a permutation of the features, or the generator of a random rotation."""
Found = TypeVar("Found")
Item = TypeVar("Item")

MIN_FEATURES = 4
"""Smallest number of features. Each half needs two, because the cosine of a single feature is only a sign."""
CONSTANT = "all distances are equal within a half of the features, in every draw"


@dataclass(frozen=True)
class SplitHalves(View):
    """Data shared by all partitions of the features; each partition is computed when it is visited.

    Each half contains half of the given features, or half of the features after a random rotation. One visit computes
    everything that is needed from a partition: its correlation, the cells for the bootstrap, and the ranks that a null
    permutes.
    """

    n_rows: int
    n_features: int
    rotated: bool
    level: float
    """Difference below which two distances count as equal."""
    kernel: feature_halves.DenseHalves | feature_halves.PanelHalves

    @classmethod
    def build(cls, source: Representation, *, metric: Metric = "cosine", rotated: bool = False) -> SplitHalves:
        """Convert the rows to standard form, and compute the inner products that all partitions share."""
        check.choice(metric, METRICS, "metric")
        n, d = source.rows.shape
        if d < MIN_FEATURES:
            raise NotEstimable(f"halves of the features need at least {MIN_FEATURES} features, got {d}")
        rows = _rotation_rows(source, metric) if rotated else source.standard(metric)
        with single_threaded_blas():
            frame: Frame = Rotations(rows) if rotated else Axes(rows)
            kernel = feature_halves.halves(rows, half_metric(metric, rotated), frame)
        return cls(n, d, rotated, distance_rounding(rows, metric), kernel)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for the distances in both halves."""
        return 24 * n * d, 24 * n * d + 8 * n * n * (7 if n <= feature_halves.DENSE_ROWS else 3)

    def sampler(self, seed: Seed) -> Callable[[], Draw]:
        """Return a function that draws partitions, in the same order as the documented functions."""
        return draw_sampler(self.n_features, self.rotated, generator(seed))

    def visit(self, draws: Sequence[Draw], use: Callable[[int, Partition], Found]) -> list[Found]:
        """Compute the partition of each draw once, and pass its number and the partition to `use`."""

        def one(index: int) -> Found:
            return self.kernel.visit(draws[index], lambda closeness: use(index, Partition.build(closeness, self.level)))

        return self._each(one, range(len(draws)))

    def _each(self, work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Process partitions in parallel, or large ones one at a time, each on all threads."""
        serial = isinstance(self.kernel, feature_halves.PanelHalves)
        return [work(item) for item in items] if serial else list(parallel(work, items))

    def correlations(self, draws: Sequence[Draw]) -> Vector:
        """Rank correlation between the halves for each partition; NaN if all distances in a half are equal."""

        def correlate(closeness: feature_halves.Closeness) -> float:
            return feature_halves.correlation(closeness, self.level, self.kernel.metric)

        return np.array(self._each(lambda draw: self.kernel.visit(draw, correlate), draws))

    def mean_correlation(self, n_draws: int, seed: Seed) -> float:
        """Mean correlation between the halves over random partitions."""
        draw = self.sampler(seed)
        correlations = self.correlations([draw() for _ in range(n_draws)])
        if np.isnan(correlations).all():
            raise NotEstimable(CONSTANT)
        return float(np.nanmean(correlations))


def _rotation_rows(source: Representation, metric: Metric) -> Matrix:
    """Rows in the form in which they are rotated."""
    rows = source.standard(metric)
    # In contrast to medians, the means of rotated rows are the rotated means.
    return rows - rows.mean(axis=0) if metric == "euclidean" else rows


def rotate_rows(source: Representation, metric: Metric, draws: Sequence[Draw]) -> Iterator[Matrix]:
    """Yield the rows after each rotation, with the columns of the first half in `SplitHalves` first."""
    with single_threaded_blas():
        frame = Rotations(_rotation_rows(source, metric))
    for draw in draws:
        yield np.ascontiguousarray(np.vstack(frame.halves(draw)).T)


def half_metric(metric: Metric, rotated: bool) -> Metric:
    """Metric within the halves: cosine for correlation after a rotation, as rows are already centred."""
    return "cosine" if rotated and metric == "correlation" else metric


def draw_sampler(n_features: int, rotated: bool, rng: np.random.Generator) -> Callable[[], Draw]:
    """Return a function that draws permutations of the features, or random streams for rotations."""
    if rotated:
        return lambda: rng.spawn(1)[0]
    return lambda: rng.permutation(n_features)


def restart_draw(draw: Draw) -> Draw:
    """Return a copy of a draw that yields the same partition again."""
    if not isinstance(draw, np.random.Generator):
        return draw
    kind = type(draw.bit_generator)
    return np.random.Generator(kind(cast("np.random.SeedSequence", draw.bit_generator.seed_seq)))


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
        return sampled_feature_halves.row_matching_correlations(
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
