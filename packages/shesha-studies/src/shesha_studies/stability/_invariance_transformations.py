"""Changes of a representation under which a score may be invariant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from shesha.support.types import Matrix, Vector
from shesha_studies.synthetic_data import principal_component_scores

NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)


def _rotation(X: Matrix, rng: np.random.Generator) -> Matrix:
    d = X.shape[1]
    return np.asarray(X @ np.linalg.qr(rng.standard_normal((d, d)))[0])


def _monotone(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return rows whose Euclidean distances are the square roots of the given ones."""
    n = len(X)
    centre = np.eye(n) - 1 / n
    values, axes = np.linalg.eigh(-0.5 * centre @ squareform(pdist(X)) @ centre)
    keep = min(X.shape[1], n - 1)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :keep])


def _principal(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return the scores of the leading quarter of the principal components."""
    return principal_component_scores(X)[:, : X.shape[1] // 4]


def _onto_principal(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return all rows rotated onto the principal axes, which keeps every distance."""
    return np.asarray(X @ np.linalg.svd(X - X.mean(axis=0))[2].T)


def _noisy(level: float) -> Callable[[Matrix, np.random.Generator], Matrix]:
    return lambda X, rng: np.asarray(X + level * X.std() * rng.standard_normal(X.shape))


CHANGES: dict[str, Callable[[Matrix, np.random.Generator], Matrix]] = {
    "rotation": _rotation,
    "scaling": lambda X, rng: np.asarray(7.3 * X),
    "scaling of each feature": lambda X, rng: np.asarray(X * rng.uniform(0.1, 10, X.shape[1])),
    "feature permutation": lambda X, rng: np.asarray(X[:, rng.permutation(X.shape[1])]),
    "monotonic distance": _monotone,
    "shift by a number": lambda X, rng: np.asarray(X + X.std()),
    "shift by a vector": lambda X, rng: np.asarray(X + X.std() * rng.standard_normal(X.shape[1])),
    "principal components": _principal,
    **{f"noise {level:g}": _noisy(level) for level in NOISES},
    "onto principal components": _onto_principal,
}


def printed_example() -> dict[str, float]:
    """Return the agreement of each split into two pairs, for the counterexample of the journal version (A.2).

    Columns 3 and 4 are rotated by 45 degrees into columns 1 and 2. Rows are compared by cosine distance within a half.
    If a half has a row of zeros, its split has no agreement. `before` and `after` are means of the splits that have an
    agreement both before and after.
    """
    X = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    rotation = np.kron([[1.0, -1.0], [1.0, 1.0]], np.eye(2)) / np.sqrt(2)
    before, after = (_agreements(rows.round(12)) for rows in (X, X @ rotation))
    both = np.isfinite(before) & np.isfinite(after)
    return {
        "before": float(before[both].mean()),
        "lowest": float(before.min()),
        "splits_before": float(len(before)),
        "splits_after": float(both.sum()),
        "after": float(after[both].mean()),
    }


def _agreements(X: Matrix) -> Vector:
    """Rank correlation of the distances of both halves, for each of three splits; NaN if a row is zero in a half."""
    halves = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    distances = ([pdist(X[:, half], "cosine").round(9) for half in split] for split in halves)
    return np.array([spearmanr(one, two).statistic for one, two in distances])
