"""Pairs of rows in resamples of whole groups, where a group that is drawn twice counts as two groups.

If two groups are drawn c_i and c_j times, each pair (i, j) of their rows counts c_i c_j times. A pair of rows within a
group that is drawn c times counts c times rather than c**2 times: the other c**2 - c pairs would link the group with a
copy of itself, just as a row would be paired with itself.
"""

from __future__ import annotations

import numpy as np

from shesha.nulls.restricted_permutations import Exchange
from shesha.support.types import Index, Matrix

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
