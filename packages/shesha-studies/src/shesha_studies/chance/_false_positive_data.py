"""Independent data, dependent data and data with a shared part, for rates of false positives and power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.coherence import coherence_by_group
from shesha.doubting import doubts
from shesha.nulls import equal_groups
from shesha.support.types import Matrix

Rng = np.random.Generator
Arguments = dict[str, Any]
"""Arguments of `calibrate`: X, Y, and the rows that may be permuted."""
CLUSTERS, WIDTH, WIDE, RANK = 8, 8, 300, 4


CLOUDS: dict[str, Callable[[Rng, int, int], Matrix]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "Student's t": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    # The membership of a row is independent in X and Y.
    "two clusters": lambda rng, n, d: rng.standard_normal((n, d)) + 2 * rng.integers(0, 2, (n, 1)) / np.sqrt(d) * 3,
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


FEATURES: dict[str, Callable[[Rng, Matrix], Any]] = {
    "Gaussian": lambda rng, low: rng.standard_normal(low.shape) + low,
    "unequal scales": lambda rng, low: (rng.standard_normal(low.shape) + low) * rng.lognormal(0, 1, 32),
    "heavy tails": lambda rng, low: rng.standard_t(2.5, low.shape) + 1.5 * low,
    "sparse, 10 %": lambda rng, low: _rows_with_counts(
        rng.standard_normal((len(low), 64)) + np.hstack([low, low]) > 1.28
    ),
    "spike counts, mean 0.06": lambda rng, low: _rows_with_counts(rng.poisson(0.06 * np.exp(np.hstack([low] * 4)))),
    "row scale about an offset": lambda rng, low: (
        rng.standard_normal(32) + rng.lognormal(0, 0.5, (len(low), 1)) * (rng.standard_normal(low.shape) + low)
    ),
}
"""Features that add independent noise to a part of rank 3."""


def one_matrix(rng: Rng, n: int, data: str, shared: bool) -> Matrix:
    """Return a representation whose features share only a scale of the rows, or also a common part."""
    if data == "depth of counts":
        return _counts(rng, n, shared)
    low = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 32)) * (0.7 if shared else 0.0)
    return np.asarray(FEATURES[data](rng, low))


def _counts(rng: Rng, n: int, shared: bool) -> Matrix:
    """Draw counts with rows of different depth, scaled to one depth; the rows are of one kind or of four."""
    rates = rng.gamma(0.5, 1, 200) * np.exp((0.8 if shared else 0.0) * rng.standard_normal((4, 200)))
    counts = _rows_with_counts(rng.poisson(0.5 * rng.lognormal(0, 0.5, (n, 1)) * rates[rng.integers(4, size=n)]))
    return np.asarray(np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True)))


def _rows_with_counts(counts: ArrayLike) -> Matrix:
    matrix = np.asarray(counts, dtype=np.float64)
    return matrix[matrix.any(axis=1)]


def _autoregression(rng: Rng, n: int, phi: float) -> Matrix:
    """Return an autoregressive series in its stationary state."""
    rows = rng.standard_normal((n + 200, WIDTH))
    for t in range(1, n + 200):
        rows[t] += phi * rows[t - 1]
    return rows[200:]


def _series(rng: Rng, n: int, phi: float, design: str, shared: bool) -> Arguments:
    both = _autoregression(rng, n, phi) * shared
    return {side: _autoregression(rng, n, phi) + both for side in "XY"} | _series_design(design, n)


def _sessions(rng: Rng, n: int, phi: float, design: str, shared: bool) -> Arguments:
    """Draw eight sessions of n rows, each with its own offset."""
    both = [_autoregression(rng, n, phi) * shared for _ in range(8)]
    X, Y = (
        np.concatenate([_autoregression(rng, n, phi) + rng.standard_normal(WIDTH) + signal for signal in both])
        for _ in "XY"
    )
    return {"X": X, "Y": Y, "blocks": np.repeat(np.arange(8), n), "shift": "shift" in design}


def _subjects(rng: Rng, n: int, sizes: str, design: str, shared: bool) -> Arguments:
    """Draw twenty groups whose rows share an offset; any part that X and Y share varies by row."""
    group_sizes = {"equal": [n // 20] * 20, "of four sizes": [5, 8, 12, 20] * 5, "all different": range(5, 25)}
    group = np.repeat(np.arange(20), group_sizes[sizes])
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


CURVES: dict[str, Callable[[Matrix], Matrix]] = {
    "quadratic": lambda z: z**2,
    "one wave": lambda z: np.asarray(np.sin(np.pi * z / 2) * np.sqrt(2)),
    "a jump": lambda z: np.sign(z - 0.3),
}
KNOWN = (
    "a known batch",
    *("a known number", *(f"a known number, {curve}" for curve in CURVES)),
    *("two known numbers", "two known numbers, 300 features", "two known numbers, quadratic"),
    "a known number and a batch",
)


def _known_covariates(rng: Rng, n: int, data: str, shared: bool) -> Arguments:
    """Draw X and Y that depend on numbers, linearly or along a curve, and on batches; both are known covariates."""
    kind, _, curve = data.partition(", ")
    numbers = rng.standard_normal((n, {"a known batch": 0, "two known numbers": 2}.get(kind, 1)))
    covariates = {f"number {place}": column for place, column in enumerate(numbers.T)}
    effect = CURVES[curve](numbers) if curve in CURVES else numbers
    if "batch" in kind:
        batch = rng.integers(4, size=n)
        covariates, effect = covariates | {"batch": batch.astype(str)}, np.column_stack([effect, np.eye(4)[batch]])
    hidden, width = rng.standard_normal((n, 3)) * (0.7 if shared else 0.0), WIDE if "features" in data else WIDTH
    X, Y = (
        1.5 * effect @ rng.standard_normal((effect.shape[1], width))
        + hidden @ rng.standard_normal((3, width))
        + rng.standard_normal((n, width))
        for _ in "XY"
    )
    return {"X": X, "Y": Y, "covariates": covariates}


def _periodic(rng: Rng, n: int, design: str, shared: bool) -> Arguments:
    """Draw two series with a common period that does not divide their length; phases of features are independent."""
    angle = 2 * np.pi * np.arange(n)[:, None] / 24.3
    both = rng.standard_normal((n, WIDTH)) * shared
    X, Y = (np.sin(angle + rng.uniform(0, 2 * np.pi, WIDTH)) + rng.standard_normal((n, WIDTH)) + both for _ in range(2))
    if design == "phase covariates":
        return {"X": X, "Y": Y, "covariates": {"sine": np.sin(angle[:, 0]), "cosine": np.cos(angle[:, 0])}}
    return {"X": X, "Y": Y} | _series_design(design, n)


def _series_design(design: str, n: int) -> Arguments:
    """Turn "blocks of 8", "stretches of 25", "shift" or "free" into arguments."""
    word, _, length = design.partition(" of ")
    if word == "blocks":
        return {"blocks": np.arange(n) // int(length)}
    return {"block_length": int(length)} if word == "stretches" else {"shift": True} if word == "shift" else {}


def designed(rng: Rng, n: int, data: str, design: str, shared: bool) -> Arguments:
    """Draw rows with the dependence of `data`, and the permutation arguments of `design`."""
    kind, _, detail = data.partition(": ")
    if kind == "20 groups":
        return _subjects(rng, n, detail, design, shared)
    if kind == "a period":
        return _periodic(rng, n, design, shared)
    draw = {"series": _series, "8 sessions": _sessions, "a number": _number}.get(kind)
    return draw(rng, n, float(detail), design, shared) if draw else _known_covariates(rng, n, data, shared)


ROWS, CONTROLS = 200, 936
"""Numbers of rows of data for doubts, and of the controls and the group together."""


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


_Cases = dict[str, tuple[tuple[str, ...], Callable[[Rng], Matrix]]]
WITHOUT_CAUSE: _Cases = {
    "Student's t, 3 degrees": (("few rows", "row scale"), lambda rng: rng.standard_t(3, (ROWS, 32))),
    "exact rank 3 of 50 features": (("copied features",), lambda rng: _low_rank(rng, 3, 50)),
    "sparse ReLU features": (("ties",), lambda rng: np.maximum(_signal(rng) - 1, 0)),
    "a cluster of 6 % of the rows": (("few rows", "row scale"), _rare_cluster),
}
"""Data by name, with the warnings that would be wrong about them."""
WITH_CAUSE: _Cases = {
    "two rogue features of 64": (("few coordinates",), lambda rng: _rogue(rng, 2)),
    "three rogue features of 64": (("few coordinates",), lambda rng: _rogue(rng, 3)),
    "noisy copies, r = 0.97": (("copied features",), _noisy_copies),
    "alternating order": (
        ("alternating order",),
        lambda rng: rng.standard_normal((ROWS, 32)) + (-1.0) ** np.arange(ROWS)[:, None] * rng.standard_normal(32),
    ),
}
"""Data by name, with the warning that should be raised about them."""


def is_doubted(rng: Rng, data: str) -> bool:
    """Whether any of the doubts that are listed for the data is raised."""
    names, make = (WITHOUT_CAUSE | WITH_CAUSE)[data]
    return any(name in doubts(make(rng), seed=0) for name in names)


def group_p_value(rng: Rng, size: int) -> float:
    """p-value of the coherence of a group that is drawn at random from controls of five kinds."""
    kinds = 2 * rng.standard_normal((5, 10))
    rows = kinds[rng.integers(5, size=CONTROLS)] + rng.standard_normal((CONTROLS, 10))
    labels = np.where(np.arange(CONTROLS) < size, "group", "control")
    return coherence_by_group(rows, labels, "control", n_draws=99, seed=int(rng.integers(2**31))).groups[0].p_value
