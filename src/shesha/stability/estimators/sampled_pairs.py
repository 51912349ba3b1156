"""Which random pairs of rows stand for all, and which of them each partition is scored on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shesha.kernels import sampled_halves
from shesha.kernels.distances import n_pairs
from shesha.stability.estimators.group_pairs import Pairs
from shesha.support.types import Index
from shesha.views.sampled_halves import FEWEST_PAIRS

DEFAULT_PAIRS = 1_000_000
"""Pairs sampled when all do not fit the memory budget: an error of at most 0.002, whatever the number of rows."""
_SPARSE = 0.5
"""Share of all pairs up to which pairs that nobody numbered are drawn one by one: the same may come twice."""


@dataclass(frozen=True)
class Sample:
    """Pairs for one partition after another."""

    drawn: Callable[[int], list[Callable[[], Pairs]]]
    """What gives the pairs of each of the next so many partitions."""
    distinct: int
    """Pairs in all, none twice; 0 if every partition has fresh ones."""
    share: float
    """Of all pairs, those that a partition is scored on; 0 if they were drawn one by one."""


def plan_sample(n: int, asked: int | None, n_draws: int, rng: np.random.Generator) -> Sample:
    """Share the pairs out among the partitions: pairs of its own for each are the best use of a number of them.

    Where these were too few for a rank correlation, partitions share them.
    """
    if asked is None and _SPARSE * n_pairs(n) >= DEFAULT_PAIRS:
        size = max(FEWEST_PAIRS, -(-DEFAULT_PAIRS // n_draws))
        return Sample(
            lambda count: [partial(sampled_halves.draw_pairs, n, size, one) for one in rng.spawn(count)], 0, 0.0
        )
    total = min(DEFAULT_PAIRS if asked is None else asked, n_pairs(n))
    i, j = sampled_halves.distinct_pairs(n, total, rng)
    n_sets = _n_sets(total, n_draws)
    sets = [_sort_pairs(i[at::n_sets], j[at::n_sets]) for at in range(n_sets)]
    taken = 0

    def draw_pairs(count: int) -> list[Callable[[], Pairs]]:
        nonlocal taken
        taken += count
        return [partial(sets.__getitem__, at % n_sets) for at in range(taken - count, taken)]

    return Sample(draw_pairs, total, -(-total // n_sets) / n_pairs(n))


def pairs_of_partition(total: int, n_draws: int) -> int:
    """Number of pairs that a partition is scored on, where so many were asked for."""
    return total // _n_sets(total, n_draws)


def _n_sets(total: int, n_draws: int) -> int:
    return min(n_draws, max(1, total // FEWEST_PAIRS))


def _sort_pairs(i: Index, j: Index) -> Pairs:
    """Pairs in the order in which their rows are read fastest."""
    order = np.argsort(i, kind="stable")
    return i[order], j[order]
