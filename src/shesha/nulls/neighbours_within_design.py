"""Detection of rows or groups that depend on their neighbours although a design permutes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.nulls.dependence import _N_ORDERS, _closer, _different, _ranks
from shesha.nulls.restricted_permutations import Exchange
from shesha.nulls.sampled_rows_for_checks import FEWEST_ROWS
from shesha.support.types import Matrix

_MOST_ROWS = 4096
"""Maximum number of rows whose neighbours are compared with permutations of a design."""


def p_value_within_design(design: Exchange, *representations: NDArray[Any]) -> float:
    """Test whether neighbouring rows are closer than in the permutations of a design; return the p-value.

    The rows that a design permutes must be exchangeable, which dependent neighbours in a block are not. As in
    `dependence`, all representations must show the effect, so the largest p-value is returned.

    Parameters
    ----------
    design : Exchange
        Design whose permutations are compared with the given order.
    *representations : arrays of shape (n_samples, n_features)
        Features of the same rows, in the order in which the rows were recorded.

    Examples
    --------
    >>> import numpy as np
    >>> from shesha.nulls import exchange
    >>> walk = np.random.default_rng(0).standard_normal((64, 8)).cumsum(axis=0)
    >>> p_value_within_design(exchange(64, blocks=np.arange(64) // 8), walk) < 0.002
    True
    """
    rows = np.arange(min(design.n_rows, _MOST_ROWS))
    if len(rows) < FEWEST_ROWS:
        return 1.0
    some, sides = design.take(rows), [_scaled(side[rows]) for side in representations]
    if some.group is not None and some.block_length is None and some.group.max() + 1 >= FEWEST_ROWS:
        some, sides = _groups_as_rows(some, sides)
    rng = np.random.default_rng(0)
    orders = np.array([np.arange(some.n_rows), *(some.draw(rng) for _ in range(_N_ORDERS))])
    first, second = _different(some.n_rows, rng)
    p_values = []
    for X in sides:
        ranked = np.sort(((X[first] - X[second]) ** 2).sum(axis=1))
        squared = np.array([(np.diff(X[order], axis=0) ** 2).sum(axis=1) for order in orders])
        p_values.append(_closer(_ranks(squared, ranked).mean(axis=1)))
    return max(p_values)


def _scaled(rows: NDArray[Any]) -> Matrix:
    X = np.asarray(rows, dtype=np.float64)
    return np.asarray(X / (np.abs(X).max(initial=0.0) or 1.0))


def _groups_as_rows(design: Exchange, sides: Sequence[Matrix]) -> tuple[Exchange, list[Matrix]]:
    """Means of the groups in the order of their first rows, which show more of a common unit than single rows do."""
    assert design.group is not None
    _, first, codes, sizes = np.unique(design.group, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    kinds = np.unique(np.stack([design.block[first], sizes]), axis=1, return_inverse=True)[1].ravel()
    starts = np.cumsum(sizes) - sizes
    sums = [np.add.reduceat(side[np.argsort(codes, kind="stable")], starts, axis=0) for side in sides]
    return Exchange(len(first), kinds[order]), [(total / sizes[:, None])[order] for total in sums]
