"""The ten tests of the feature split and two supervised variants, on one representation with labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shesha.stability import feature_split, variance_ratio, zscore_separation
from shesha.support.types import Matrix

Labels = NDArray[np.int64]
SEED = 320
SUPERVISED: dict[str, Callable[..., float]] = {"variance": variance_ratio, "zscore": zscore_separation}
N_COMPONENTS = 64
_SCALES = (1e-6, 1e6)


def all_tests(X: Matrix, y: Labels) -> dict[str, float]:
    """Return the numbers of tests 2 to 9, each on the published number of rows, or on all available rows.

    Parameters
    ----------
    X, y : array of shape (n, d), labels
        Rows in random order, and their labels.
    """
    rng = np.random.default_rng(SEED)
    parts: tuple[Callable[..., dict[str, float]], ...] = (_sizes, _validity, _components, _labels, _imbalance, _noise)
    return {name: value for part in parts for name, value in part(X, y, rng).items()}


def baseline(n: int, d: int, n_classes: int, seed: int) -> dict[str, float]:
    """Test 10: scores by the three variants for independent noise with random labels."""
    rng = np.random.default_rng([seed, n, d, n_classes])
    X, y = rng.standard_normal((n, d)), rng.integers(0, n_classes, n)
    return {"n": n, "d": d, "feature_split_noise": feature_split(X, seed=seed), **_score_names("{}_noise", X, y)}


def _score_names(pattern: str, X: Matrix, y: Labels) -> dict[str, float]:
    return {pattern.format(name): float(score(X, y)) for name, score in SUPERVISED.items()}


def _sizes(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Tests 2 and 9: the score of up to 1,600 rows, by two seeds."""
    one, two = (feature_split(X[:1600], seed=seed) for seed in (100, 200))
    return {"n": len(X), "d": X.shape[1], "feature_split": one, "seed_difference": abs(one - two)}


def _validity(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Tests 3 and 4: whether the score repeats exactly, and is finite and within bounds at several scales."""
    rows, labels = X[:400], y[:400]
    split = partial(feature_split, seed=SEED)
    twice = [abs(split(rows) - split(rows)), *(abs(f(rows, labels) - f(rows, labels)) for f in SUPERVISED.values())]
    stats = {"feature_split_400": split(rows), **_score_names("{}_400", rows, labels)}
    at_scales = [split(scale * rows[:200]) for scale in _SCALES]
    moved = max(abs(value - split(rows[:200])) for value in at_scales)
    valid = all(np.isfinite(value) and -1 <= value <= 1 for value in (*stats.values(), *at_scales))
    return {"identical": float(sum(gap == 0 for gap in twice)), "valid": float(valid), "moved_by_scale": moved, **stats}


def _components(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 5: scores of principal components of the same rows and of other rows, and of random rotations."""
    rows, labels = X[:400], y[:400]
    keep = min(N_COMPONENTS, X.shape[1])
    components, fresh = (rows - rows.mean(axis=0)) @ _axes(rows)[:, :keep], X[400:800] @ _axes(rows)[:, :keep]
    turn = np.linalg.qr(rng.standard_normal((keep, keep)))[0]
    centred = rows - rows.mean(axis=0)
    return {
        "n_components": keep,
        "feature_split_centred": feature_split(centred, seed=SEED),
        "feature_split_pca": feature_split(components, seed=SEED),
        "feature_split_pca_fresh": feature_split(fresh - fresh.mean(axis=0), seed=SEED),
        "feature_split_pca_turned": feature_split(components @ turn, seed=SEED),
        "components_correlate": float(np.abs(np.corrcoef(components.T) - np.eye(keep)).max()),
        **_score_names("{}_pca", components, labels),
    }


def _axes(X: Matrix) -> Matrix:
    """Return the principal axes, sorted by decreasing variance."""
    return np.asarray(np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T)


def _labels(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 6: scores with true and with random labels."""
    rows, labels = X[:500], y[:500]
    chance = (len(np.unique(labels)) - 1) / (len(labels) - 1)
    return {
        **_score_names("{}_true", rows, labels),
        **_score_names("{}_random", rows, rng.permutation(labels)),
        "variance_expected": chance,
    }


def _imbalance(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 7: scores with a hundred rows of the first class and five of every other class, and with random labels."""
    chosen = np.concatenate(list(_twenty_to_one(y)))
    rows, labels = X[chosen], y[chosen]
    return {
        **_score_names("{}_imbalanced", rows, labels),
        **_score_names("{}_imbalanced_random", rows, rng.permutation(labels)),
    }


def n_unbalanced(n_classes: int) -> int:
    """Return the number of rows of test 7, for data with a hundred rows of each class."""
    return sum(len(rows) for rows in _twenty_to_one(np.repeat(np.arange(n_classes), 100)))


def _twenty_to_one(y: Labels) -> Iterator[NDArray[np.intp]]:
    for place, label in enumerate(np.unique(y)):
        yield np.flatnonzero(y == label)[: 5 if place else 100]


def _noise(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 8: noise with standard deviation 0.1, and with a tenth of the standard deviation of each feature."""
    rows = X[:400]
    size = float(rows.std(axis=0).mean())
    noise = rng.standard_normal(rows.shape)
    clean = feature_split(rows, seed=SEED)
    return {
        "size": size,
        "drift": abs(clean - feature_split(rows + 0.1 * noise, seed=SEED)),
        "drift_own_units": abs(clean - feature_split(rows + 0.1 * size * noise, seed=SEED)),
    }
