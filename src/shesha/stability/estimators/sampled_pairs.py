"""Which random pairs of rows stand for all, and which of them each partition is scored on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import sampled_halves
from shesha.kernels.distances import n_pairs
from shesha.stability.estimators.group_pairs import Pairs
from shesha.support import memory
from shesha.support.types import Index
from shesha.views.sampled_halves import FEWEST_PAIRS

PairCount = int | Literal["all"] | None
"""How many random pairs of rows to use: a number, all there are, or as many as make a small error."""
DEFAULT_PAIRS = 1_000_000
"""Pairs sampled where there are more: an error of at most 0.002, whatever the number of rows."""
_ALL = 2**31 - 1
_BYTES = 96
"""Rows, distances, ranks and influence of a sampled pair, and the copies in which pairs are sorted."""
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
    if asked is not None:
        memory.require(_BYTES * total, f"{total:,} pairs of rows", "ask for fewer pairs, or leave out pairs=")
    i, j = sampled_halves.distinct_pairs(n, total, rng)
    n_sets = _n_sets(total, n_draws)
    sets = [_sort_pairs(i[at::n_sets], j[at::n_sets]) for at in range(n_sets)]
    taken = 0

    def draw_pairs(count: int) -> list[Callable[[], Pairs]]:
        nonlocal taken
        taken += count
        return [partial(sets.__getitem__, at % n_sets) for at in range(taken - count, taken)]

    return Sample(draw_pairs, total, -(-total // n_sets) / n_pairs(n))


def check_pairs(pairs: PairCount, name: str = "pairs") -> int | None:
    """Return a number of pairs, or None for the default."""
    return _ALL if pairs == "all" else check.optional_count(pairs, name, minimum=100)


def uses_all_pairs(n: int, asked: int | None) -> bool:
    """Whether nothing is sampled among n rows, as far as memory allows."""
    return n_pairs(n) <= (DEFAULT_PAIRS if asked is None else asked)


def pairs_of_partition(total: int, n_draws: int) -> int:
    """Number of pairs that a partition is scored on, where so many were asked for."""
    return total // _n_sets(total, n_draws)


def _n_sets(total: int, n_draws: int) -> int:
    return min(n_draws, max(1, total // FEWEST_PAIRS))


def _sort_pairs(i: Index, j: Index) -> Pairs:
    """Pairs in the order in which their rows are read fastest."""
    order = np.argsort(i, kind="stable")
    return i[order], j[order]
