"""Independent data, dependent data and data with a shared part, for rates of false positives and power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.nulls import equal_groups
from shesha.support.types import Index, Matrix

Rng = np.random.Generator
Arguments = dict[str, Any]
"""Arguments of `calibrate`: X, Y, and the rows that may be permuted."""
CLUSTERS, WIDTH, WIDE, RANK = 8, 8, 300, 4


def two_clusters(rng: Rng, n: int, d: int) -> Matrix:
    """Draw rows in two clusters; the membership of a row is independent in X and Y."""
    return np.asarray(rng.standard_normal((n, d)) + 2 * rng.integers(0, 2, (n, 1)) * np.ones(d) / np.sqrt(d) * 3)


CLOUDS: dict[str, Callable[[Rng, int, int], Matrix]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "Student's t": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "two clusters": two_clusters,
}


def clouds(rng: Rng, n: int, d: int, data: str, design: str, shared: bool) -> Arguments:
    """Draw independent rows, rows with a shared part of rank 4 and the variance of the noise, or clusters of rows.

    Rows of a cluster share an offset in X and another offset in Y, so X and Y are related only through the clusters.
    """
    if data == "clusters of rows":
        cluster = np.arange(n) % CLUSTERS
        X, Y = (rng.standard_normal((CLUSTERS, d))[cluster] * 2 + rng.standard_normal((n, d)) for _ in range(2))
        return {"X": X, "Y": Y} | ({"blocks": cluster} if design == "blocks" else {})
    latent = rng.standard_normal((n, RANK)) if shared else np.zeros((n, RANK))
    return {side: latent @ rng.standard_normal((RANK, d)) / np.sqrt(RANK) + CLOUDS[data](rng, n, d) for side in "XY"}


def features(rng: Rng, n: int, kind: str, shared: bool) -> Matrix:
    """Draw independent features, with or without a part of rank 3."""
    low = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 32)) * (0.7 if shared else 0.0)
    if kind == "Gaussian":
        return np.asarray(rng.standard_normal((n, 32)) + low)
    if kind == "unequal scales":
        return np.asarray((rng.standard_normal((n, 32)) + low) * rng.lognormal(0, 1, 32))
    if kind == "heavy tails":
        return np.asarray(rng.standard_t(2.5, (n, 32)) + 1.5 * low)
    if kind == "sparse, 10 %":
        return _fill_design(rng.standard_normal((n, 64)) + np.hstack([low, low]) > 1.28)
    return _fill_design(rng.poisson(0.06 * np.exp(np.hstack([low] * 4))))


def scaled(rng: Rng, n: int, shared: bool) -> Matrix:
    """Draw rows of different scales around an offset."""
    low = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 32)) * (0.7 if shared else 0.0)
    return np.asarray(rng.standard_normal(32) + rng.lognormal(0, 0.5, (n, 1)) * (rng.standard_normal((n, 32)) + low))


def count_hits(rng: Rng, n: int, shared: bool) -> Matrix:
    """Draw counts with rows of different depth, scaled to one depth; the rows are of one kind or of four."""
    rates = rng.gamma(0.5, 1, 200) * np.exp((0.8 if shared else 0.0) * rng.standard_normal((4, 200)))
    counts = _fill_design(rng.poisson(0.5 * rng.lognormal(0, 0.5, (n, 1)) * rates[rng.integers(4, size=n)]))
    return np.asarray(np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True)))


def _fill_design(counts: ArrayLike) -> Matrix:
    """Omit rows without any count."""
    matrix = np.asarray(counts, dtype=np.float64)
    return matrix[matrix.any(axis=1)]


def one_matrix(rng: Rng, n: int, data: str, shared: bool) -> Matrix:
    """Return a representation whose features share only a scale of the rows, or also a common part."""
    if data == "row scale about an offset":
        return scaled(rng, n, shared)
    return count_hits(rng, n, shared) if data == "depth of counts" else features(rng, n, data, shared)


def series(rng: Rng, n: int, phi: float) -> Matrix:
    """Return an autoregressive series in its stationary state."""
    rows = rng.standard_normal((n + 200, WIDTH))
    for t in range(1, n + 200):
        rows[t] += phi * rows[t - 1]
    return rows[200:]


def _series(rng: Rng, n: int, phi: float, design: str, shared: bool) -> Arguments:
    both = series(rng, n, phi) * shared
    return {"X": series(rng, n, phi) + both, "Y": series(rng, n, phi) + both} | _exchange_design(design, np.arange(n))


def _sessions(rng: Rng, n: int, phi: float, design: str, shared: bool) -> Arguments:
    """Draw eight sessions of n rows, each with its own offset."""
    both = [series(rng, n, phi) * shared for _ in range(8)]
    X, Y = (
        np.concatenate([series(rng, n, phi) + rng.standard_normal(WIDTH) + signal for signal in both]) for _ in "XY"
    )
    return {"X": X, "Y": Y, "blocks": np.repeat(np.arange(8), n), "shift": "shift" in design}


def _subjects(rng: Rng, sizes: list[int], design: str, shared: bool) -> Arguments:
    """Draw twenty groups whose rows share an offset; any part that X and Y share varies by row."""
    group = np.repeat(np.arange(20), sizes)
    both = rng.standard_normal((len(group), WIDTH)) * shared
    X, Y = (rng.standard_normal((20, WIDTH))[group] + rng.standard_normal((len(group), WIDTH)) + both for _ in range(2))
    if design == "equal_groups":
        rows = equal_groups(group, seed=rng)
        return {"X": X[rows], "Y": Y[rows], "groups": group[rows]}
    return {"X": X, "Y": Y} | ({"groups": group} if design == "groups" else {})


def _number(rng: Rng, n: int, effect: float, design: str, shared: bool) -> Arguments:
    """Draw data in which one number per row affects all features of X and Y."""
    z, both = rng.standard_normal(n), rng.standard_normal((n, WIDTH)) * shared
    X, Y = (rng.standard_normal((n, WIDTH)) + effect * z[:, None] * rng.standard_normal(WIDTH) + both for _ in range(2))
    return {"X": X, "Y": Y} | ({"within": z} if design == "within" else {})


def _known_covariates(rng: Rng, n: int, data: str, shared: bool) -> Arguments:
    """Draw X and Y that depend on batches or numbers, which are passed as covariates."""
    covariates, effect = _EFFECTS[data](rng, n)
    hidden, width = rng.standard_normal((n, 3)) * (0.7 if shared else 0.0), WIDE if "features" in data else WIDTH
    X, Y = (
        1.5 * effect @ rng.standard_normal((effect.shape[1], width))
        + hidden @ rng.standard_normal((3, width))
        + rng.standard_normal((n, width))
        for _ in "XY"
    )
    return {"X": X, "Y": Y, "covariates": covariates}


def _batch(rng: Rng, n: int) -> tuple[Any, Matrix]:
    batch = rng.integers(4, size=n)
    return batch.astype(str), np.eye(4)[batch]


def _number_and_batch(rng: Rng, n: int) -> tuple[Any, Matrix]:
    number, (batch, effect) = rng.standard_normal(n), _batch(rng, n)
    return {"number": number, "batch": batch}, np.column_stack([number, effect])


def _numbers(count: int, curve: Callable[[Matrix], Matrix]) -> Callable[[Rng, int], tuple[Any, Matrix]]:
    """Return a number for each row, and the curve that the features follow."""

    def draw(rng: Rng, n: int) -> tuple[Any, Matrix]:
        numbers = rng.standard_normal((n, count))
        return (numbers[:, 0] if count == 1 else {f"number {k}": numbers[:, k] for k in range(count)}), curve(numbers)

    return draw


_EFFECTS: dict[str, Callable[[Rng, int], tuple[Any, Matrix]]] = {
    "a known batch": _batch,
    "a known number": _numbers(1, lambda z: z),
    "a known number, quadratic": _numbers(1, lambda z: z**2),
    "a known number, one wave": _numbers(1, lambda z: np.asarray(np.sin(np.pi * z / 2) * np.sqrt(2))),
    "a known number, a jump": _numbers(1, lambda z: np.sign(z - 0.3)),
    "two known numbers": _numbers(2, lambda z: z),
    "two known numbers, 300 features": _numbers(2, lambda z: z),
    "two known numbers, quadratic": _numbers(2, lambda z: z**2),
    "a known number and a batch": _number_and_batch,
}
KNOWN = tuple(_EFFECTS)
PERIOD = 24.3


def _periodic(rng: Rng, n: int, design: str, shared: bool) -> Arguments:
    """Draw two series with a common period that does not divide their length; phases of features are independent."""
    angle = 2 * np.pi * np.arange(n)[:, None] / PERIOD
    both = rng.standard_normal((n, WIDTH)) * shared
    X, Y = (np.sin(angle + rng.uniform(0, 2 * np.pi, WIDTH)) + rng.standard_normal((n, WIDTH)) + both for _ in range(2))
    if design == "phase covariates":
        return {"X": X, "Y": Y, "covariates": {"sine": np.sin(angle[:, 0]), "cosine": np.cos(angle[:, 0])}}
    return {"X": X, "Y": Y} | _exchange_design(design, np.arange(n))


def _exchange_design(design: str, place: Index) -> Arguments:
    """Turn "blocks of 8", "stretches of 25", "shift" or "free" into arguments."""
    word, _, length = design.partition(" of ")
    if word == "blocks":
        return {"blocks": place // int(length)}
    return {"block_length": int(length)} if word == "stretches" else {"shift": True} if word == "shift" else {}


def designed(rng: Rng, n: int, data: str, design: str, shared: bool) -> Arguments:
    """Draw rows with the dependence of `data`, and the permutation arguments of `design`."""
    kind, _, strength = data.partition(": ")
    if kind == "series":
        return _series(rng, n, float(strength), design, shared)
    if kind == "8 sessions":
        return _sessions(rng, n, float(strength), design, shared)
    if kind == "20 groups":
        sizes = {"equal": [n // 20] * 20, "of four sizes": [5, 8, 12, 20] * 5, "all different": list(range(5, 25))}
        return _subjects(rng, sizes[strength], design, shared)
    if kind == "a number":
        return _number(rng, n, float(strength), design, shared)
    return _periodic(rng, n, design, shared) if kind == "a period" else _known_covariates(rng, n, data, shared)
