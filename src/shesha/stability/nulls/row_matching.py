"""The row-matching null of a split score, which pairs the rows of both halves at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shesha.kernels.feature_half_correlation import Partition
from shesha.kernels.permutation_products import permutation_products
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.request import DIRECTED, Request
from shesha.support.seeds import spawn
from shesha.support.types import Index, Mask, Vector

Use = Callable[[int, Partition], Vector | None]


def partitions_per_matching(n_features: int, n_draws: int) -> int:
    """Return the number of partitions for which the null varies at least as much as the score does.

    Two halves correlate through pairs of features, one in each half. A given pair is divided in this way with
    probability p, so that the scores of two partitions of independent features have correlation p. If rows are
    permuted, the pair (a, b) differs from (b, a), so that the correlation is p / 2. The returned number m, rounded
    down, makes the variances of both means equal: p + (1 - p) / n_draws = p / 2 + (1 - p / 2) / m.
    """
    half = n_features // 2
    p = half * (n_features - half) / (n_features * (n_features - 1) / 2)
    return max(1, int((1 - p / 2) / (p / 2 + (1 - p) / n_draws) + 1e-9))


@dataclass(frozen=True)
class Matchings:
    """Random matchings of the rows, each assigned to some of the partitions in turn."""

    orders: Sequence[Index]
    design: Exchange
    seeds: Index
    """For each partition, the seed for permuting the rows that are nonzero in both halves."""
    together: int
    """Number of partitions for which each matching is scored."""
    n_draws: int

    @classmethod
    def build(cls, request: Request, n_features: int) -> Matchings:
        """Draw the matchings for a request."""
        n_draws = request.options["n_draws"]
        together = partitions_per_matching(n_features, n_draws)
        seeds = (
            np.arange(n_draws)
            if request.design is None
            else spawn(request.seed, DIRECTED).integers(2**62, size=n_draws)
        )
        return cls(request.orders(), request.exchange, seeds, together, n_draws)

    @property
    def empty_null(self) -> Vector:
        """The null if the score is undefined for every partition."""
        return np.full(len(self.orders), np.nan)

    @property
    def _n_turns(self) -> int:
        return -(-self.n_draws // self.together)

    def _turn_numbers(self, turn: int) -> range:
        return range(turn, len(self.orders), self._n_turns)

    def products(self, at: int, found: Partition) -> Vector | None:
        """Return the correlations of a partition under its matchings; None if it has no matchings."""
        if at >= self.n_draws or not self.orders:
            return None
        return self._products(at, found, self._turn_numbers(at // self.together))

    def _products(self, index: int, partition: Partition, numbers: Sequence[int]) -> Vector | None:
        ranks = partition.unit_ranks()
        if ranks is None:
            return None
        orders = self._match_directed_rows(index, partition.directed, numbers)
        n = len(self.orders[0]) if partition.directed is None else int(partition.directed.sum())
        return permutation_products(*ranks, n, orders) if orders else np.empty(0)

    def _match_directed_rows(self, index: int, directed: Mask | None, numbers: Sequence[int]) -> list[Index]:
        """Return the matchings, restricted to the rows that are nonzero in both halves."""
        if directed is None:
            return [self.orders[k] for k in numbers]
        if self.design.named:
            rest = self.design.take(np.flatnonzero(directed))
            rng = np.random.default_rng(self.seeds[index])
            return [rest.draw(rng) for _ in numbers]
        places = np.cumsum(directed) - 1
        return [places[order[directed[order]]] for order in (self.orders[k] for k in numbers)]

    def null(self, products: Sequence[Vector | None], visit: Callable[[int, Use], Vector | None]) -> Vector:
        """Average each matching over its partitions; `visit` computes a partition again.

        If no partition of a turn has a score, its matchings go to the next turn that has one, or else to the last such
        turn.
        """
        out = self.empty_null
        if not self.orders:
            return out
        usable: dict[int, list[int]] = {}
        for index, product in enumerate(products[: self.n_draws]):
            if product is not None:
                usable.setdefault(index // self.together, []).append(index)
        for turn in range(self._n_turns):
            numbers = self._turn_numbers(turn)
            if turn in usable:
                out[numbers] = np.mean(
                    [product for index in usable[turn] if (product := products[index]) is not None], axis=0
                )
            elif usable and len(numbers):
                instead = min((other for other in usable if other > turn), default=max(usable))
                again = [visit(index, self._partition_matchings(index, numbers)) for index in usable[instead]]
                out[numbers] = np.mean([vector for vector in again if vector is not None], axis=0)
        return out

    def _partition_matchings(self, index: int, numbers: Sequence[int]) -> Use:
        return lambda _, partition: self._products(index, partition, numbers)
