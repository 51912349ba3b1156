"""The features: as given, centred, standardised, projected onto random directions, and divided into halves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import feature_halves, sampled_feature_halves
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
)
from shesha.kernels.feature_halves import Axes, Closeness, Frame, Partition, Rotations
from shesha.kernels.pairs import condensed_index
from shesha.kernels.rounding_and_scaling import ROUNDING, length_unit
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES
from shesha.kernels.shapes import triangular_factor
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.device_arrays import column_medians, is_numpy, namespace, norm, singular_values, take_rows
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, Rows, UndirectedRowsError, Unordered, View, standardise

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

    distances_suffice = True

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
        return cls(metric, standardise(shifted, metric, "X minus its column means"), None)

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
class Projections(Unordered):
    """The rows projected onto random unit directions, with each projection sorted."""

    values: Matrix
    """Sorted projections, with one line per direction, divided by the unit of `Features`."""
    unit: float
    n_features: int

    @classmethod
    def build(cls, source: Representation, *, n_projections: int = 100, seed: Seed = None) -> Projections:
        """Draw the directions from the seed and the number of features, so that they are the same for all."""
        count = check.count(n_projections, "n_projections")
        features = source.view(Features)
        d = features.rows.shape[1]
        directions = generator(seed).standard_normal((d, count))
        directions /= np.linalg.norm(directions, axis=0)
        return cls(np.sort((features.rows @ directions).T, axis=1), features.unit, d)
