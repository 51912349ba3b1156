"""Matching on several covariates: rows are permuted within small groups that have similar covariates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.nulls.design_builder import cross_with_blocks, rows_of_a_stratum
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.types import Index, Matrix


def match_by_distance(distances: Matrix, name: str, blocks: ArrayLike | None = None) -> Exchange:
    """Design in which each row is permuted only among rows with similar covariates.

    Rows are processed by their total distance to all rows, largest first. Each row that is not in a group yet forms one
    with its nearest rows, so that even outlying rows are grouped with their nearest rows. Rows with equal covariates
    stay in one group.

    Parameters
    ----------
    distances : array of shape (n, n)
        Distances between rows, computed from their covariates.
    name : str
        Name of the covariates in the description of the design.
    blocks : array of shape (n,), optional
        Labels of blocks, within which rows are permuted as well. Default: no blocks.

    Returns
    -------
    Exchange

    Examples
    --------
    >>> position = np.array([0.0, 9.0, 0.1, 9.1, 0.2, 9.2])
    >>> found = match_by_distance(abs(position[:, None] - position), "place")
    >>> found.text, found.block.tolist()
    ('rows of similar place', [1, 0, 1, 0, 1, 0])
    """
    n = len(distances)
    size = rows_of_a_stratum(n)
    codes = np.full(n, -1)
    code = 0
    for row in np.argsort(-distances.sum(axis=1), kind="stable"):
        if codes[row] >= 0:
            continue
        free = np.flatnonzero(codes < 0)
        codes[_group(distances[row, free], free, size)] = code
        code += 1
    named = (f"rows of similar {name}", *(["within blocks"] if blocks is not None else []))
    return Exchange(n, cross_with_blocks(codes, blocks), named=named)


def _group(near: Matrix, free: Index, size: int) -> Index:
    """Choose the nearest rows with ties; a remainder too small for another group is included."""
    if len(free) < 2 * size:
        return free[near <= 0] if (near <= 0).sum() >= size else free
    limit = np.partition(near, size - 1)[size - 1]
    # Identical rows must share a group; rows at an equal but nonzero distance need not.
    return free[near <= limit] if limit <= 0 else free[np.argsort(near, kind="stable")[:size]]
