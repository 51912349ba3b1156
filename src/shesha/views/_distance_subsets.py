"""Distances within random subsets of the rows, which are the same in every representation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import condensed_distances, standard_rows
from shesha.kernels.permutation_products import take_condensed
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views._features import Features
from shesha.views.representation import Representation, View

_QUANTILE = 0.9


@dataclass(frozen=True)
class DistanceSubsets(View):
    """Euclidean distances within subsets of the rows, divided by the subset's 0.9 quantile."""

    subsets: tuple[Index, ...]
    rows: Matrix | None
    distances: Vector | None
    n_rows: int
    order: Index | None = None

    @classmethod
    def build(
        cls, source: Representation, *, n_subsets: int = 10, subset_size: int = 500, seed: Seed = None
    ) -> DistanceSubsets:
        """Draw the subsets from the seed and the number of rows; if there are few rows, one subset has all."""
        n, count = source.n_rows, check.count(n_subsets, "n_subsets")
        size = check.count(subset_size, "subset_size", minimum=3)
        rng = generator(seed)
        subsets = (
            (np.arange(n),) if n <= size else tuple(np.sort(rng.choice(n, size, replace=False)) for _ in range(count))
        )
        if source.has_distances_only:
            return cls(subsets, None, source.condensed_distances("euclidean")[0], n)
        return cls(subsets, standard_rows(source.view(Features).rows, "euclidean"), None, n)

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the rows, and for the matrices of one subset."""
        return 32 * n * d, 1000 * min(n, options["subset_size"]) ** 2

    def normalised_distances(self, subset: int) -> Matrix:
        """Square matrix of the distances within a subset, divided by the 0.9 quantile of its entries."""
        chosen = self.subsets[subset] if self.order is None else self.order[self.subsets[subset]]
        if self.rows is not None:
            triangle = condensed_distances(np.ascontiguousarray(self.rows[chosen]), "euclidean")
        else:
            assert self.distances is not None
            triangle = take_condensed(self.distances, chosen, self.n_rows)
        whole = square(triangle, len(chosen))
        scale = float(np.quantile(whole, _QUANTILE))
        if not scale > 0:
            raise NotEstimable("90 % of the distances within a subset of rows are zero")
        whole /= scale
        return whole

    def permute(self, order: Index) -> DistanceSubsets:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return replace(self, order=order if self.order is None else self.order[order])
