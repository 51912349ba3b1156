"""Is the score repeatable, bounded, and robust to seeds, noise, reduction and imbalance?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha.stability import feature_split, variance_ratio, zscore_separation
from shesha.support.types import Matrix
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.stability._stand_in_representations import (
    DIGITS,
    SENTENCES,
    STAND_INS,
    score_before_training,
    stand_in,
)
from shesha_studies.stability._validation_facts import make_facts, published_numbers

NOISE = {"noise, 10 classes": (500, 128, 10), "noise, 100 classes": (500, 512, 100)}
SUPERVISED: dict[str, Callable[..., float]] = {"variance": variance_ratio, "zscore": zscore_separation}
N_COMPONENTS = 64
SEED = 320
Labels = NDArray[np.int64]
_grid = grid_of("representation", "seed")
split = partial(feature_split, seed=SEED)


def all_tests(X: Matrix, y: Labels) -> dict[str, float]:
    """Return the numbers of tests 2 to 9 for rows in random order, each on the published number of rows, or on all."""
    rng = np.random.default_rng(SEED)
    return {
        **_sizes(X),
        **_validity(X[:400], y[:400]),
        **_components(X, y, rng),
        **_labels(X[:500], y[:500], rng),
        **_imbalance(X, y, rng),
        **_noise(X[:400], rng),
    }


def baseline(n: int, d: int, n_classes: int, seed: int) -> dict[str, float]:
    """Test 10: scores by the three variants for independent noise with random labels."""
    rng = np.random.default_rng([seed, n, d, n_classes])
    X, y = rng.standard_normal((n, d)), rng.integers(0, n_classes, n)
    return {"n": n, "d": d, "feature_split_noise": feature_split(X, seed=seed), **_supervised_scores("{}_noise", X, y)}


def _supervised_scores(pattern: str, X: Matrix, y: Labels) -> dict[str, float]:
    return {pattern.format(name): float(score(X, y)) for name, score in SUPERVISED.items()}


def _sizes(X: Matrix) -> dict[str, float]:
    """Tests 2 and 9: the score of up to 1,600 rows, by two seeds."""
    one, two = (feature_split(X[:1600], seed=seed) for seed in (100, 200))
    return {"n": len(X), "d": X.shape[1], "feature_split": one, "seed_difference": abs(one - two)}


def _validity(X: Matrix, y: Labels) -> dict[str, float]:
    """Tests 3 and 4: whether the score repeats exactly, and is finite and within bounds at several scales."""
    first, second = ({"feature_split_400": split(X), **_supervised_scores("{}_400", X, y)} for _ in range(2))
    at_scales = [split(scale * X[:200]) for scale in (1e-6, 1e6)]
    return {
        "identical": float(sum(first[name] == second[name] for name in first)),
        "valid": float(all(np.isfinite(value) and -1 <= value <= 1 for value in (*first.values(), *at_scales))),
        "moved_by_scale": max(abs(value - split(X[:200])) for value in at_scales),
        **first,
    }


def _components(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 5: scores of principal components of the same rows and of other rows, and of random rotations."""
    centred = X[:400] - X[:400].mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2].T[:, :N_COMPONENTS]
    components, fresh = centred @ axes, X[400:800] @ axes
    keep = axes.shape[1]
    turn = np.linalg.qr(rng.standard_normal((keep, keep)))[0]
    return {
        "n_components": keep,
        "feature_split_centred": split(centred),
        "feature_split_pca": split(components),
        "feature_split_pca_fresh": split(fresh - fresh.mean(axis=0)),
        "feature_split_pca_turned": split(components @ turn),
        "components_correlate": float(np.abs(np.corrcoef(components.T) - np.eye(keep)).max()),
        **_supervised_scores("{}_pca", components, y[:400]),
    }


def _labels(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 6: scores with true and with random labels."""
    return {
        **_supervised_scores("{}_true", X, y),
        **_supervised_scores("{}_random", X, rng.permutation(y)),
        "variance_expected": (len(np.unique(y)) - 1) / (len(y) - 1),
    }


def _imbalance(X: Matrix, y: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Test 7: scores with a hundred rows of the first class and five of every other class, and with random labels."""
    first, *others = np.unique(y)
    chosen = np.concatenate([np.flatnonzero(y == first)[:100], *(np.flatnonzero(y == other)[:5] for other in others)])
    X, y = X[chosen], y[chosen]
    return {
        **_supervised_scores("{}_imbalanced", X, y),
        **_supervised_scores("{}_imbalanced_random", X, rng.permutation(y)),
    }


def _noise(X: Matrix, rng: np.random.Generator) -> dict[str, float]:
    """Test 8: noise with standard deviation 0.1, and with a tenth of the standard deviation of each feature."""
    size, noise = float(X.std(axis=0).mean()), rng.standard_normal(X.shape)
    drift, drift_own_units = (abs(split(X) - split(X + level * noise)) for level in (0.1, 0.1 * size))
    return {"size": size, "drift": drift, "drift_own_units": drift_own_units}


@study(
    "validation",
    paper="Geometric Stability, 6.2, Tables 3 to 10; journal version, Table 9",
    version=2,
    full=[*_grid(NOISE, range(20)), *_grid(STAND_INS, [0])],
    quick=[*_grid(NOISE, range(3)), *_grid((DIGITS, *SENTENCES), [0])],
    published="validation.csv",
    stand_ins="fourteen representations of small networks, MiniLM and digits replace fifteen published vision models",
)
def validation(representation: str, seed: int) -> dict[str, float]:
    """Which of the ten tests does the score pass on available representations, and what do they test?

    Fifteen vision models are replaced by a dense layer on digits, three layers of MiniLM on SST-2, and ten small
    networks on Fashion-MNIST and CIFAR-10. There is also noise of 500 x 128 (ten labels) and of 500 x 512 (a hundred
    labels).
    """
    if representation in NOISE:
        return baseline(*NOISE[representation], seed)
    return all_tests(*stand_in(representation)) | {"feature_split_untrained": score_before_training(representation)}


@validation.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    models, noise = _split_rows(rows)
    return Page(answers=published_numbers(models, noise, published))


@validation.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return the facts by which the claims are judged."""
    return make_facts(*_split_rows(rows), published)


def _split_rows(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    noise = rows.representation.isin(NOISE)
    return rows[~noise].reset_index(drop=True), rows[noise]
