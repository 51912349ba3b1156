"""The transformations of "Geometric Stability", Table 14, and how many a base of d features has."""

from __future__ import annotations

import numpy as np

from shesha.kernels.standardisation import is_constant
from shesha.support.types import Matrix

COMPONENTS = (5, 10, 20, 30, 50, 75, 100, 125, 150, 200, 250, 300)
"""Twelve numbers of components between the published limits, because 948 configurations are 12 for each of 79 bases."""
PROJECTED = (16, 32, 64, 128, 256)
TOP = (50, 100, 200, 400, 800)
CHOSEN = (50, 100, 200)
NOISE = (0.05, 0.1, 0.2, 0.5, 1.0)
KINDS = (
    "PCA",
    "random projection",
    "top variance",
    "random features",
    "noise",
    "normalisation",
    "original",
)


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
    if transformation_kind(variant) != "PCA":
        return False
    k, cap = int(variant.split()[-1]), min(n, d) - 1
    return k > cap and any(cap <= other < k for other in COMPONENTS)


def is_drawn(variant: str) -> bool:
    """Whether a transformation is random."""
    return transformation_kind(variant) in ("random projection", "random features", "noise")


def transformed(X: Matrix, variant: str, rng: np.random.Generator) -> Matrix:
    """Apply a transformation."""
    kind, what = transformation_kind(variant), variant.split()[-1]
    if kind == "original":
        return X
    if kind == "PCA":
        return components(X, int(what))
    if kind == "noise":
        return np.asarray(X + float(what) * X.std() * rng.standard_normal(X.shape))
    if kind == "normalisation":
        return standardised(X) if what == "z-score" else directions(X)
    return _narrowed(X, kind, int(what), rng)


def _narrowed(X: Matrix, kind: str, k: int, rng: np.random.Generator) -> Matrix:
    if kind == "random projection":
        return np.asarray(X @ rng.standard_normal((X.shape[1], k)) / np.sqrt(k))
    if kind == "top variance":
        return np.asarray(X[:, np.argsort(-X.var(axis=0), kind="stable")[:k]])
    return np.asarray(X[:, rng.choice(X.shape[1], k, replace=False)])


def components(X: Matrix, k: int) -> Matrix:
    """Return the scores of the leading principal components, at most min(n, d) - 1."""
    k = min(k, min(X.shape) - 1)
    vectors, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return np.asarray(vectors[:, :k] * lengths[:k])


def standardised(X: Matrix) -> Matrix:
    """Standardise columns to mean 0 and variance 1; constant columns become 0."""
    return np.asarray((X - X.mean(axis=0)) / np.where(is_constant(X), np.inf, X.std(axis=0)))


def directions(X: Matrix) -> Matrix:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
