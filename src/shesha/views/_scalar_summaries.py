"""Views that consist of a single number, which measures compare between representations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import feature_halves
from shesha.kernels.distances import PANEL, Metric, panel, standard_rows
from shesha.kernels.feature_halves import Axes
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel
from shesha.support.seeds import generator
from shesha.support.types import Index, Seed
from shesha.support.warnings import NotEstimable
from shesha.views.features import Features, SplitHalves
from shesha.views.representation import Representation, Unordered


@dataclass(frozen=True)
class Scalar(Unordered):
    """A number that does not depend on the order of the rows."""

    value: float


class Magnitude(Scalar):
    """Length of the mean row."""

    @classmethod
    def build(cls, source: Representation) -> Magnitude:
        """Compute the mean row and its length."""
        features = source.view(Features)
        return cls(float(np.linalg.norm(features.rows.mean(axis=0))) * features.unit)


class Concentricity(Scalar):
    """Mean cosine between the rows and their mean row."""

    @classmethod
    def build(cls, source: Representation) -> Concentricity:
        """Average the rows, then their cosines with the mean row."""
        rows = source.view(Features).rows
        mean = rows.mean(axis=0)
        length = float(np.linalg.norm(mean))
        if length <= np.finfo(float).eps * float(np.abs(rows).max()):
            raise NotEstimable("the mean row is zero, so cosines with the mean row are undefined")
        return cls(float((source.standard("cosine") @ (mean / length)).mean()))


@dataclass(frozen=True)
class Uniformity(Scalar):
    """Logarithm of the mean of exp(-2 squared distance) over all n^2 pairs of rows."""

    beyond: float
    """Contribution to the value from pairs of different rows; pairs of a row with itself contribute -log n."""
    n_rows: int

    def difference(self, other: Uniformity) -> float:
        """Absolute difference between two values, computed so that a large common term costs no precision."""
        return abs(self.beyond - other.beyond - math.log(self.n_rows / other.n_rows))

    @classmethod
    def build(cls, source: Representation) -> Uniformity:
        """Sum over all pairs of rows, panel by panel."""
        features = source.view(Features)
        rows = standard_rows(features.rows, "euclidean")
        # An infinite unit would give NaN for equal rows.
        n, unit = len(rows), min(features.unit * length_unit(features.rows), np.finfo(np.float64).max)

        def sum_upper_triangle(start: int) -> float:
            block = panel(rows, "euclidean", start)
            np.maximum(block, 0.0, out=block)
            np.sqrt(block, out=block)
            with np.errstate(over="ignore"):
                block *= unit
                block *= block
                block *= -2.0
            np.exp(block, out=block)
            return float(np.triu(block, k=1).sum())

        total = sum(parallel(sum_upper_triangle, range(0, n, PANEL)))
        # The result is log((n + 2 total) / n^2), written so that it is precise if the total is small.
        excess = math.log1p(2 * total / n)
        return cls(excess - math.log(n), excess, n)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for panels of distances."""
        return 24 * n * d, 24 * n * d + 64 * PANEL * n


class SplitStability(Scalar):
    """Feature-split stability: mean rank correlation between distances in two random feature halves."""

    @classmethod
    def build(
        cls, source: Representation, *, metric: Metric = "cosine", n_splits: int = 30, seed: Seed = None
    ) -> SplitStability:
        """Average over random halves, drawn in the same way as by `shesha.feature_split`."""
        count = check.count(n_splits, "n_splits")
        return cls(SplitHalves.build(source, metric=metric).mean_correlation(count, seed))

    @classmethod
    def build_subsets(
        cls,
        source: Representation,
        subsets: Sequence[Index],
        *,
        metric: Metric = "cosine",
        n_splits: int = 30,
        seed: Seed = None,
        **options: Any,
    ) -> list[SplitStability] | None:
        """Sort the distances between all rows once, and use the order for all subsets."""
        rows = source.standard(metric)
        rng = generator(seed)
        draws = [rng.permutation(rows.shape[1]) for _ in range(n_splits)]
        try:
            scores = feature_halves.scores(rows, metric, Axes(rows), draws, subsets)
        except feature_halves.UndirectedHalfError:
            return None
        return None if np.isnan(scores).all(axis=0).any() else [cls(float(mean)) for mean in np.nanmean(scores, axis=0)]

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for the distances in both halves."""
        return SplitHalves.memory(n, d)
