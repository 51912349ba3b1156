"""Data that should or should not raise a warning, and groups without an effect among their controls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.coherence import coherence_by_group
from shesha.doubting import doubts
from shesha.support.types import Matrix

Rng = np.random.Generator
ROWS = 200


def _low_rank(rng: Rng, rank: int, d: int) -> Matrix:
    return np.asarray(rng.standard_normal((ROWS, rank)) @ rng.standard_normal((rank, d)))


def _signal(rng: Rng) -> Matrix:
    return np.asarray(_low_rank(rng, 4, 64) + rng.standard_normal((ROWS, 64)))


def _rare_cluster(rng: Rng) -> Matrix:
    rows = rng.standard_normal((ROWS, 32))
    rows[:12] += 2 * rng.standard_normal(32)
    return rng.permutation(rows)


def _rogue(rng: Rng, count: int) -> Matrix:
    rows = _signal(rng)
    rows[:, :count] += 30 * rng.standard_normal((ROWS, count))
    return rows


def _noisy_copies(rng: Rng) -> Matrix:
    rows = _signal(rng)
    rows[:, 32:] = rows[:, :32] + 0.25 * rows[:, :32].std(axis=0) * rng.standard_normal((ROWS, 32))
    return rows


def _alternating(rng: Rng) -> Matrix:
    step = (-1.0) ** np.arange(ROWS)
    return np.asarray(rng.standard_normal((ROWS, 32)) + step[:, None] * rng.standard_normal(32))


WITHOUT_CAUSE: dict[str, tuple[tuple[str, ...], Callable[[Rng], Matrix]]] = {
    "Student's t, 3 degrees": (("few rows", "row scale"), lambda rng: rng.standard_t(3, (ROWS, 32))),
    "exact rank 3 of 50 features": (("copied features",), lambda rng: _low_rank(rng, 3, 50)),
    "sparse ReLU features": (("ties",), lambda rng: np.maximum(_signal(rng) - 1, 0)),
    "a cluster of 6 % of the rows": (("few rows", "row scale"), _rare_cluster),
}
"""Data by name, with the warnings that would be wrong about them."""
WITH_CAUSE: dict[str, tuple[tuple[str, ...], Callable[[Rng], Matrix]]] = {
    "two rogue features of 64": (("few coordinates",), lambda rng: _rogue(rng, 2)),
    "three rogue features of 64": (("few coordinates",), lambda rng: _rogue(rng, 3)),
    "noisy copies, r = 0.97": (("copied features",), _noisy_copies),
    "alternating order": (("alternating order",), _alternating),
}
"""Data by name, with the warning that should be raised about them."""


def is_doubted(rng: Rng, data: str) -> bool:
    """Whether any of the doubts that are listed for the data is raised."""
    names, make = (WITHOUT_CAUSE | WITH_CAUSE)[data]
    return any(name in doubts(make(rng), seed=0) for name in names)


CONTROLS = 936
"""Number of rows of the controls and the group together, for five kinds of data."""


def group_p_value(rng: Rng, size: int) -> float:
    """p-value of the coherence of a group that is drawn at random from controls of several kinds."""
    kinds = 2 * rng.standard_normal((5, 10))
    rows = kinds[rng.integers(5, size=CONTROLS)] + rng.standard_normal((CONTROLS, 10))
    labels = np.where(np.arange(CONTROLS) < size, "group", "control")
    return coherence_by_group(rows, labels, "control", n_draws=99, seed=int(rng.integers(2**31))).groups[0].p_value
