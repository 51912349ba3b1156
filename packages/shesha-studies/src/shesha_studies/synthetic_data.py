"""Synthetic representations that several studies share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Matrix

N, LATENT, D = 200, 50, 256
"""Numbers of rows, latent factors and features of "Geometric Stability", section 7.1."""


def mixture(share: float, rng: np.random.Generator, scale: Callable[[Matrix], Any] = np.std) -> Matrix:
    """Draw a mixture of a low-rank signal with entries of unit variance and isotropic noise (7.1.1).

    The text of the paper divides the signal by its Frobenius norm, but noise would then dominate at every share below
    1. Unit variance gives the published scores.
    """
    signal = rng.standard_normal((N, LATENT)) @ rng.standard_normal((LATENT, D))
    return np.asarray(share * signal / scale(signal) + (1 - share) * rng.standard_normal((N, D)))


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw independent entries: "Gaussian", "Student's t" (3 degrees), "Laplace" or "mixture" (normal around -3 or
    3)."""
    if kind == "Gaussian":
        return rng.standard_normal(shape)
    if kind == "Laplace":
        return rng.laplace(size=shape)
    if kind == "mixture":
        return np.asarray(rng.choice([-3.0, 3.0], size=shape) + rng.standard_normal(shape))
    return np.asarray(rng.standard_t(3, size=shape))


def power_law(rng: np.random.Generator) -> Matrix:
    """Draw rows with singular values 100, 50, 33, ... and random axes (7.1.3)."""
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in (N, D))
    return np.asarray((left * (100 / np.arange(1, N + 1))) @ right[:, :N].T)


def remove_top_components(X: Matrix, k: int) -> Matrix:
    """Remove the top k principal components, but keep the mean row, as in the published numbers."""
    mean = X.mean(axis=0)
    left, sizes, right = np.linalg.svd(X - mean, full_matrices=False)
    sizes[:k] = 0
    return np.asarray(left * sizes @ right + mean)


def principal_component_scores(X: Matrix) -> Matrix:
    """Return the coordinates of the rows on their principal axes, sorted by decreasing variance."""
    vectors, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return np.asarray(vectors * sizes)


def shared(strength: float, d: int, n: int, rank: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Draw two representations with a common low-rank signal and independent noise of unit variance."""
    latent = rng.standard_normal((n, rank))
    pair = []
    for _ in range(2):
        turned = latent @ rng.standard_normal((rank, d)) / np.sqrt(rank)
        pair.append(strength * turned + rng.standard_normal((n, d)))
    return pair[0], pair[1]
