"""The target score, whose change is the effect of a doubt, with the data needed to recompute it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shesha.kernels.condensed_matrices import permutation_products
from shesha.kernels.distances import Metric
from shesha.kernels.feature_halves import Partition
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import RankedRdm, Representation, SplitHalves

_N_DRAWS = 8
"""Number of partitions; few suffice, because a score and its partial score use the same ones."""
_SPANNED = 1e-8
"""Squared singular value below which a direction spanned by unit-length functions is rounding error."""


@dataclass(frozen=True)
class Headline:
    """A mean rank correlation between distances: of two halves of the features, or of two representations."""

    name: str
    n_rows: int
    first: Matrix
    second: Matrix
    """Centred ranks of unit length, of shape (n_correlations, n_pairs); 0 for pairs without a distance."""

    @classmethod
    def from_halves(cls, rows: Matrix, metric: Metric, seed: int, *, rotated: bool = False) -> Headline:
        """Build the feature split of the given rows, or their basis-averaged split if `rotated`."""
        view = SplitHalves.build(Representation.build(rows), metric=metric, rotated=rotated)
        draw = view.sampler(seed)
        # Ranks are computed during each visit, because the next visit overwrites the partition.
        ranked = view.visit(
            [draw() for _ in range(_N_DRAWS)], lambda _, partition: _all_pair_ranks(partition, len(rows))
        )
        known = [pair for pair in ranked if pair is not None]
        if not known:
            raise NotEstimable("in every split, all distances within one half of the features are equal")
        name = "basis_averaged_split" if rotated else "feature_split"
        first, second = (np.stack(side) for side in zip(*known, strict=True))
        return cls(name, len(rows), first, second)

    @classmethod
    def from_pair(cls, X: Matrix, Y: Matrix, metric: Metric) -> Headline:
        """Build the rank correlation between the distances of two representations (RSA)."""
        views = [RankedRdm.build(Representation.build(side), metric=metric) for side in (X, Y)]
        first, second = (np.asarray(view.ranks)[None] for view in views)
        return cls("RSA", len(X), first, second)

    @cached_property
    def value(self) -> float:
        """The mean correlation."""
        return float(np.einsum("ij,ij->i", self.first, self.second).mean())

    def permuted_scores(self, orders: Sequence[Index]) -> Vector:
        """Return the score after each permutation of the rows of one side."""
        sides = zip(self.first, self.second, strict=True)
        products = [permutation_products(first, second, self.n_rows, orders) for first, second in sides]
        return np.asarray(np.mean(products, axis=0))

    def partial_score(self, explaining: Matrix) -> float:
        """Return the partial rank correlation, controlling for functions of row pairs, (functions, pairs)."""
        centred = explaining - explaining.mean(axis=1, keepdims=True)
        lengths = np.linalg.norm(centred, axis=1)
        used = lengths > 1e-9 * max(1.0, float(lengths.max(initial=0.0)))
        unit = centred[used] / lengths[used, None]
        # There are few functions and many pairs, so the span is computed from the small Gram matrix.
        sizes, turned = np.linalg.eigh(unit @ unit.T)
        spanned = sizes > _SPANNED
        basis = unit.T @ (turned[:, spanned] / np.sqrt(sizes[spanned]))
        rest = [side - (side @ basis) @ basis.T for side in (self.first, self.second)]
        length = np.sqrt(np.prod([np.einsum("ij,ij->i", side, side) for side in rest], axis=0))
        # If the functions explain the ranks completely, nothing remains to correlate, and the score is 0.
        cosines = np.where(length > 1e-9, np.einsum("ij,ij->i", *rest) / np.maximum(length, 1e-9), 0.0)
        return float(cosines.mean())


def _all_pair_ranks(partition: Partition, n: int) -> tuple[Vector, Vector] | None:
    """Return the ranks of the distances between all pairs of rows, with 0 for undefined distances."""
    ranked = partition.unit_ranks()
    if ranked is None:
        return None
    if partition.kept is None:
        return ranked
    full_ranks = np.zeros((2, n * (n - 1) // 2))
    full_ranks[:, partition.kept] = ranked
    return full_ranks[0], full_ranks[1]
