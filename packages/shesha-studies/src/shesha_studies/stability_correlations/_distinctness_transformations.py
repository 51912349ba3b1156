"""The transformations of "Geometric Stability", Table 14, and how many a base of d features has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.kernels.standardisation import is_constant
from shesha.support.types import Matrix
from shesha_studies.synthetic_data import principal_component_scores

COMPONENTS = (5, 10, 20, 30, 50, 75, 100, 125, 150, 200, 250, 300)
"""Twelve numbers of components between the published limits, because 948 configurations are 12 for each of 79 bases."""
PROJECTED = (16, 32, 64, 128, 256)
TOP = (50, 100, 200, 400, 800)
CHOSEN = (50, 100, 200)
NOISE = (0.05, 0.1, 0.2, 0.5, 1.0)
KINDS = ("PCA", "random projection", "top variance", "random features", "noise", "normalisation", "original")


def variants(d: int) -> list[str]:
    """Return the names of the transformations for d features.

    Examples
    --------
    >>> [sum(len(variants(d)) for d in widths) for widths in ([384, 768, 768, 768], [768, 768, 768, 2048])]
    [127, 129]
    """
    return [
        *(f"PCA {k}" for k in COMPONENTS),
        *(f"random projection {k}" for k in PROJECTED),
        *(f"top variance {k}" for k in TOP if k < d),
        *(f"random features {k}" for k in CHOSEN if k < d),
        *(f"noise {share}" for share in NOISE),
        "normalisation z-score",
        "normalisation L2",
        "original",
    ]


def transformation_kind(variant: str) -> str:
    """Return the row of the table to which a transformation belongs."""
    return next(kind for kind in KINDS if variant.startswith(kind))


def is_repeat(variant: str, n: int, d: int) -> bool:
    """Whether a PCA equals one with fewer components, because of the cap min(n, d) - 1."""
    if not variant.startswith("PCA"):
        return False
    k, cap = int(variant.split()[-1]), min(n, d) - 1
    return any(cap <= other < k for other in COMPONENTS)


def is_drawn(variant: str) -> bool:
    """Whether a transformation is random."""
    return variant.startswith(("random projection", "random features", "noise"))


def transformed(X: Matrix, variant: str, rng: np.random.Generator) -> Matrix:
    """Apply a transformation."""
    kind, what = transformation_kind(variant), variant.split()[-1]
    return X if kind == "original" else _TRANSFORMATIONS[kind](X, what, rng)


def _random_projection(X: Matrix, k: str, rng: np.random.Generator) -> Matrix:
    return np.asarray(X @ rng.standard_normal((X.shape[1], int(k))) / np.sqrt(int(k)))


def _top_variance(X: Matrix, k: str, rng: np.random.Generator) -> Matrix:
    return np.asarray(X[:, np.argsort(-X.var(axis=0), kind="stable")[: int(k)]])


def components(X: Matrix, k: int) -> Matrix:
    """Return the scores of the leading principal components, at most min(n, d) - 1."""
    return principal_component_scores(X)[:, : min(k, min(X.shape) - 1)]


def standardised(X: Matrix) -> Matrix:
    """Standardise columns to mean 0 and variance 1; constant columns become 0."""
    return np.asarray((X - X.mean(axis=0)) / np.where(is_constant(X), np.inf, X.std(axis=0)))


def _directions(X: Matrix) -> Matrix:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))


_TRANSFORMATIONS: dict[str, Callable[[Matrix, str, np.random.Generator], Matrix]] = {
    "PCA": lambda X, k, rng: components(X, int(k)),
    "random projection": _random_projection,
    "top variance": _top_variance,
    "random features": lambda X, k, rng: np.asarray(X[:, rng.choice(X.shape[1], int(k), replace=False)]),
    "noise": lambda X, share, rng: np.asarray(X + float(share) * X.std() * rng.standard_normal(X.shape)),
    "normalisation": lambda X, how, rng: standardised(X) if how == "z-score" else _directions(X),
}
