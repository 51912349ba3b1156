"""Optimal transport between two sets of equally weighted units, for all or part of their mass."""

from __future__ import annotations

from math import ceil, floor, lcm
from typing import Any

import numpy as np

from shesha.support.types import Matrix

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
