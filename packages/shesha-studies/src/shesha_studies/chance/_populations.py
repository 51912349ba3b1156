"""Populations whose samples have a mean score that is known from many other samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.support.types import Labels, Matrix

Rng = np.random.Generator
Noise = Callable[..., Matrix]
RANK, CLUSTERS, CLASSES = 4, 8, 4
STRENGTHS = {"independent": 0.0, "weak": 0.5, "strong": 2.0, "weak, t(3)": 0.5, "strong, t(3)": 2.0}


def pair(data: str, n: int, d: int, rng: Rng) -> list[Matrix]:
    """Draw n rows of two representations with a fixed mixture of the shared part, or fixed clusters."""
    fixed = np.random.default_rng([n, d])
    mixing = fixed.standard_normal((2, RANK, d)) / np.sqrt(RANK)
    centres = 1.5 * fixed.standard_normal((2, CLUSTERS, d))
    if data == "clusters":
        cluster = rng.integers(0, CLUSTERS, n)
        return [where[cluster] + rng.standard_normal((n, d)) for where in centres]
    noise = _noise(rng, "t(3)" in data)
    shared = STRENGTHS[data] * noise((n, RANK))
    return [shared @ matrix + noise((n, d)) for matrix in mixing]


def _noise(rng: Rng, heavy: bool) -> Noise:
    return lambda size: np.asarray(rng.standard_t(3, size) if heavy else rng.standard_normal(size))


def _latent(n: int, d: int, noise: Noise) -> Matrix:
    mixing = np.random.default_rng(d).standard_normal((RANK, d))
    return np.asarray(noise(size=(n, RANK)) @ mixing + noise(size=(n, d)))


def _donors(n: int, d: int, n_donors: int, rng: Rng) -> tuple[Matrix, Labels]:
    mixing = np.random.default_rng(d).standard_normal((RANK, d))
    donor = np.arange(n) * n_donors // n
    shared = rng.standard_normal((n_donors, RANK))[donor] + 0.7 * rng.standard_normal((n, RANK))
    return shared @ mixing + rng.standard_normal((n, d)), donor


def _classes(n: int, d: int, fixed: bool, rng: Rng) -> tuple[Matrix, Labels]:
    shares = np.arange(1, CLASSES + 1) / np.arange(1, CLASSES + 1).sum()
    y = np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n if fixed else rng.random(n))
    centres = 0.7 * np.random.default_rng(d).standard_normal((CLASSES, d))
    return centres[y] + rng.standard_normal((n, d)), y


def one(data: str, n: int, d: int, rng: Rng) -> tuple[Matrix, Labels]:
    """Draw n rows of a representation, with their labels or groups."""
    if data.endswith("classes"):
        return _classes(n, d, data == "fixed classes", rng)
    if data.endswith("donors"):
        return _donors(n, d, int(data.split()[0]), rng)
    if data == "each row twice":
        return np.repeat(_latent(n // 2, d, rng.standard_normal), 2, axis=0), np.repeat(np.arange(n // 2), 2)
    if data == "clusters":
        centres = 1.5 * np.random.default_rng(d).standard_normal((CLUSTERS, d))
        cluster = rng.integers(CLUSTERS, size=n)
        return centres[cluster] + rng.standard_normal((n, d)), np.arange(n)
    noise = _noise(rng, data == "t(3)")
    scales = np.geomspace(1, 10, d) if data == "unequal scales" else 1.0
    return np.asarray(_latent(n, d, noise) * scales), np.arange(n)
