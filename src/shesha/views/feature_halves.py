"""Both halves of the features, for one partition after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import feature_halves
from shesha.kernels.distances import METRICS, Metric, distance_rounding
from shesha.kernels.feature_half_correlation import Partition
from shesha.kernels.feature_split_frames import Axes, Frame, Rotations
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Representation, View

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
