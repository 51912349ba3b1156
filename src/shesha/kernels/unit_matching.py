"""Matching of units: best-correlated partners, one-to-one matching, and optimal transport."""

from __future__ import annotations

from math import ceil, floor, lcm
from typing import Any

import numpy as np

from shesha.support.types import Index, Matrix, Vector

_ENTRIES = 1 << 22
"""Largest number of correlations held in memory."""
_NONE = 1e-9
"""Value of leaving a unit unmatched, which is below the value of any partner."""

Edges = tuple[Index, Index, Vector]
"""Numbers of the units on the first and on the second side, and the correlation of each pair."""


def column_spreads(X: Any) -> tuple[Vector, Vector]:
    """Mean of each column (sparse or dense) and its length after centring; the length is 0 if constant."""
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = X.multiply(X).sum(axis=0) if hasattr(X, "tocsr") else np.einsum("ij,ij->j", X, X)
    squares = np.asarray(squares).ravel()
    centred_squares = squares - n * mean**2
    return mean, np.sqrt(np.where(centred_squares > 1e-12 * squares, centred_squares, 0.0))


def best_partners(X: Any, Y: Any, k: int) -> Edges:
    """For each column of X, find the k columns of Y with the highest positive correlation.

    Sparse columns that are never active together are skipped, because their correlation is not positive.
    """
    n, sparse = X.shape[0], hasattr(X, "tocsr")
    (mean_x, spread_x), (mean_y, spread_y) = column_spreads(X), column_spreads(Y)
    columns = X.T.tocsr() if sparse else np.ascontiguousarray(X.T)
    step = max(1, _ENTRIES // Y.shape[1])
    parts = []
    for start in range(0, X.shape[1], step):
        block = columns[start : start + step] @ Y
        i, j, products = (
            _entries(block) if sparse else _largest(block, n * mean_x[start : start + step], mean_y, spread_y, k)
        )
        i = i + start
        lengths = spread_x[i] * spread_y[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = np.where(lengths > 0, (products - n * mean_x[i] * mean_y[j]) / lengths, 0.0)
        parts.append(_first_of_each(i, j, np.minimum(correlations, 1.0), k))
    i, j, correlations = (np.concatenate(part) for part in zip(*parts, strict=True))
    return i, j, correlations


def _entries(block: Any) -> tuple[Index, Index, Vector]:
    block = block.tocsr().tocoo()
    return block.row.astype(np.intp), block.col.astype(np.intp), block.data


def _largest(block: Any, mean: Vector, others: Vector, spread: Vector, k: int) -> tuple[Index, Index, Vector]:
    """For each row, the k entries with the largest correlation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.where(spread > 0, (block - np.outer(mean, others)) / spread, -np.inf)
    width = min(k, block.shape[1])
    j = np.argpartition(order, -width, axis=1)[:, -width:]
    i = np.broadcast_to(np.arange(len(block))[:, None], j.shape)
    return i.ravel(), j.ravel(), np.take_along_axis(block, j, axis=1).ravel()


def _first_of_each(i: Index, j: Index, values: Vector, k: int) -> Edges:
    """The k largest positive values for each index i; entries with the same i must be adjacent."""
    rest, parts = values.copy(), []
    starts = np.flatnonzero(np.diff(i, prepend=-1))
    counts = np.diff(starts, append=len(i))
    for _ in range(k if len(i) else 0):
        best = np.maximum.reduceat(rest, starts)
        picks = np.flatnonzero((rest == np.repeat(best, counts)) & (rest > 0))
        # Among equal values, only the first is taken.
        picks = picks[np.flatnonzero(np.diff(i[picks], prepend=-1))]
        if not len(picks):
            break
        parts.append(picks)
        rest[picks] = -1.0
    chosen = np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.intp)
    return i[chosen], j[chosen], values[chosen]


def _scale(X: Any) -> Any:
    """Scale columns to largest entry 1 to keep squares in range; centre dense columns, zero constant ones."""
    if hasattr(X, "tocsr"):
        largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
        return (X @ _diagonal(1 / np.where(largest > 0, largest, 1.0))).tocsr()
    largest = np.abs(X).max(axis=0)
    scaled = X / np.where(largest > 0, largest, 1.0)
    scaled -= np.median(scaled, axis=0)
    scaled -= scaled.mean(axis=0)
    scaled[:, np.abs(scaled).max(axis=0) <= 4 * np.finfo(float).eps] = 0.0
    return scaled


def _diagonal(values: Vector) -> Any:
    from scipy.sparse import diags_array

    return diags_array(values, format="csr")


def match_candidates(X: Any, Y: Any, k: int) -> Edges:
    """Match columns one to one, among each unit's k best partners, to maximise the sum of correlations."""
    X, Y = _scale(X), _scale(Y)
    i, j, correlations = best_partners(X, Y, k)
    back_j, back_i, back = best_partners(Y, X, k)
    return _match(np.concatenate([i, back_i]), np.concatenate([j, back_j]), np.concatenate([correlations, back]), X, Y)


def _match(i: Index, j: Index, values: Vector, X: Any, Y: Any) -> Edges:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    p, q = X.shape[1], Y.shape[1]
    code, first = np.unique(i * q + j, return_index=True)
    i, j, values = code // q, code % q, values[first]
    # Each unit also gets a dummy partner that no other unit can have, in case it stays unmatched.
    alone = np.arange(p)
    cost = np.concatenate([1 + 2 * _NONE - values, np.full(p, 1 + _NONE)])
    graph = coo_array((cost, (np.concatenate([i, alone]), np.concatenate([j, q + alone]))), shape=(p, q + p))
    rows, columns = min_weight_full_bipartite_matching(graph.tocsr())
    real = columns < q
    rows, columns = rows[real].astype(np.intp), columns[real].astype(np.intp)
    return rows, columns, values[np.searchsorted(code, rows * q + columns)]


_MOST_COPIES = 2048
"""Largest number of copies of the units for which a transport is solved as an assignment between copies."""
MOST_PAIRS = 250_000
"""Largest number of pairs of units for which a linear program, which takes seconds, is solved."""


def is_feasible(p: int, q: int) -> bool:
    """Return whether the transport between these numbers of units can be solved in reasonable time."""
    return p == q or lcm(p, q) <= _MOST_COPIES or p * q <= MOST_PAIRS


def best_transport(gain: Matrix, mass: float = 1.0) -> Matrix:
    """Plan of this mass with the largest total gain; rows sum to at most 1/p, columns to at most 1/q."""
    p, q = gain.shape
    copies = p if p == q else lcm(p, q)
    if p != q and copies > _MOST_COPIES:
        return _linear_program(gain, mass)
    wide = np.repeat(np.repeat(gain, copies // p, axis=0), copies // q, axis=1)
    # As a function of the mass, the largest gain is concave, and linear between whole numbers of copies.
    low, high = floor(mass * copies + 1e-9), ceil(mass * copies - 1e-9)
    share = mass * copies - low if high > low else 0.0
    plan = _assignment(wide, high) * (share if high > low else 1.0)
    if high > low:
        plan += (1 - share) * _assignment(wide, low)
    return np.asarray(plan.reshape(p, copies // p, q, copies // q).sum(axis=(1, 3)) / copies)


def _assignment(gain: Matrix, n_pairs: int) -> Matrix:
    """Best matching of exactly n_pairs pairs, marked by ones; all other units get dummy partners."""
    from scipy.optimize import linear_sum_assignment

    n, spare = len(gain), len(gain) - n_pairs
    padded = np.zeros((n + spare, n + spare))
    padded[:n, :n] = gain
    # A large penalty keeps dummy partners from being matched to each other.
    padded[n:, n:] = -4.0 * (n + spare) * (1.0 + np.abs(gain).max(initial=0.0))
    rows, columns = linear_sum_assignment(padded, maximize=True)
    real = (rows < n) & (columns < n)
    plan = np.zeros((n, n))
    plan[rows[real], columns[real]] = 1.0
    return plan


def _linear_program(gain: Matrix, mass: float) -> Matrix:
    from scipy import sparse
    from scipy.optimize import linprog

    p, q = gain.shape
    sums: Any = sparse.vstack(
        [sparse.kron(sparse.eye(p), np.ones((1, q))), sparse.kron(np.ones((1, p)), sparse.eye(q))]
    )
    most = np.concatenate([np.full(p, 1 / p), np.full(q, 1 / q)])
    solution = linprog(
        -gain.ravel(), A_ub=sums.tocsr(), b_ub=most, A_eq=np.ones((1, p * q)), b_eq=[min(mass, 1.0)], method="highs"
    )
    if solution.x is None:
        raise RuntimeError(f"the transport between {p} and {q} units was not solved: {solution.message}")
    return np.asarray(solution.x.reshape(p, q))
