"""Choose random pairs of rows, and decide which of them each partition is scored on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import pairs as random_pairs
from shesha.kernels.distances import n_pairs
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES
from shesha.nulls.restricted_permutations import Exchange
from shesha.support import memory
from shesha.support.types import Index, Matrix
from shesha.views.feature_halves import FEWEST_PAIRS

Pairs = tuple[Index, Index]


def group_codes(design: Exchange | None) -> Index | None:
    """Return the group of each row if resamples draw whole groups, otherwise None."""
    if design is None or design.group is None or design.shift or design.block_length:
        return None
    return design.group


def count_group_pairs_once(design: Exchange | None, pairs: Pairs, counts: Matrix) -> tuple[Pairs, Matrix]:
    """Count pairs within a group once per draw of it, by replacing their second row with a constant one."""
    group = group_codes(design)
    if group is None:
        return pairs, counts
    i, j = pairs
    once = len(counts)
    return (i, np.where(group[i] == group[j], once, j)), np.vstack([counts, np.ones((1, counts.shape[1]))])


def group_pairs(group: Index) -> Pairs:
    """Return all pairs of rows that are in the same group."""
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    pairs = [rows[np.array(np.triu_indices(len(rows), k=1))] for rows in groups]
    i, j = np.concatenate(pairs, axis=1)
    return i, j


PairCount = int | Literal["all"] | None
"""Number of random pairs of rows: an integer, 'all', or None for the default number."""
DEFAULT_PAIRS = 1_000_000
"""Default number of sampled pairs; its error is at most 0.002 for any number of rows.

If the memory budget is below 137 MiB, fewer pairs are used.
"""
_ALL = 2**31 - 1
_BYTES = 144
"""Bytes of memory that a sampled pair needs for rows, distances, ranks and influence, and for copies while sorting."""
_WIDE_ROWS = 1024
"""Number of rows that each partition uses if the number of features is slightly above the limit."""
_FEWEST_ROWS = 256
_ROTATED_VALUES = 1 << 24
"""Most values that one partition rotates."""
_SPARSE = 0.5
"""The default number of pairs is drawn with replacement if it is at most this share of all pairs."""


@dataclass(frozen=True)
class Sample:
    """Random pairs of rows for successive partitions."""

    drawn: Callable[[int], list[Callable[[], Pairs]]]
    """Function that, given a number of partitions, returns functions that draw the pairs for the next ones."""
    distinct: int
    """Total number of distinct pairs; 0 if new pairs are drawn for every partition."""
    share: float
    """Share of all pairs that each partition uses; 0 if pairs are drawn with replacement."""


def plan_sample(n: int, asked: int | None, n_draws: int, n_chosen: int, rng: np.random.Generator) -> Sample:
    """Divide the pairs among the partitions, since the error is smallest if no two use the same pairs.

    If each partition would then have too few pairs for a rank correlation, several partitions use the same pairs. By
    default, the pairs of each partition are drawn among `n_chosen` rows, which are chosen anew for each partition.
    """
    if asked is None and (n_chosen < n or _SPARSE * n_pairs(n) >= DEFAULT_PAIRS):
        size = max(FEWEST_PAIRS, -(-_default_pairs() // n_draws))
        return Sample(
            lambda count: [partial(_pairs_of_few, n, n_chosen, size, gen) for gen in rng.spawn(count)], 0, 0.0
        )
    total = min(_default_pairs() if asked is None else asked, n_pairs(n))
    if asked is not None:
        memory.require(_BYTES * total, f"{total:,} pairs of rows", "request fewer pairs, or leave out pairs=")
    i, j = random_pairs.distinct_pairs(n, total, rng)
    n_sets = _n_sets(total, n_draws)
    sets = [sort_pairs(i[start::n_sets], j[start::n_sets]) for start in range(n_sets)]
    taken = 0

    def draw_pairs(count: int) -> list[Callable[[], Pairs]]:
        nonlocal taken
        taken += count
        return [partial(sets.__getitem__, index % n_sets) for index in range(taken - count, taken)]

    return Sample(draw_pairs, total, -(-total // n_sets) / n_pairs(n))


def rows_per_partition(n: int, n_features: int, rotated: bool) -> int:
    """Return the number of rows among which each partition draws its pairs by default.

    A rotation computes new features for each row, and wide rows take long to read for each pair. With fewer rows, each
    row is processed only once per partition. The interval includes the additional error.
    """
    if n_features > WIDE_FEATURES:
        return min(n, max(_FEWEST_ROWS, int(_WIDE_ROWS * np.sqrt(WIDE_FEATURES / n_features))))
    return min(n, _ROTATED_VALUES // n_features) if rotated else n


def _pairs_of_few(n: int, n_chosen: int, size: int, rng: np.random.Generator) -> Pairs:
    """Draw independent random pairs among some random rows, or among all rows."""
    if n_chosen == n:
        return random_pairs.draw_pairs(n, size, rng)
    rows = np.sort(rng.choice(n, n_chosen, replace=False, shuffle=False))
    i, j = random_pairs.draw_pairs(n_chosen, size, rng)
    return rows[i], rows[j]


def _default_pairs() -> int:
    return min(DEFAULT_PAIRS, memory.memory_budget() // _BYTES)


def check_pairs(pairs: PairCount) -> int | None:
    """Return the number of pairs that was requested, or None for the default."""
    return _ALL if isinstance(pairs, str) and pairs == "all" else check.optional_count(pairs, "pairs", minimum=100)


def uses_all_pairs(n: int, asked: int | None) -> bool:
    """Return whether all pairs of n rows are used, provided that memory allows it."""
    return n_pairs(n) <= (DEFAULT_PAIRS if asked is None else asked)


def pairs_of_partition(total: int, n_draws: int) -> int:
    """Return the number of pairs for each partition, given the requested total."""
    return total // _n_sets(total, n_draws)


def _n_sets(total: int, n_draws: int) -> int:
    return min(n_draws, max(1, total // FEWEST_PAIRS))


def sort_pairs(i: Index, j: Index) -> Pairs:
    """Sort pairs into the order in which their rows are read fastest."""
    order = np.argsort(i, kind="stable")
    return i[order], j[order]
