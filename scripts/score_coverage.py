"""How often the intervals of `estimate` hold the mean score over samples of as many rows and over all partitions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shesha.nulls import exchange
from shesha.stability import registered
from shesha.stability.estimate import as_estimate
from shesha.stability.measured import measured, requested

LEVELS = (0.9, 0.95)
RANK, CLUSTERS, CLASSES = 4, 8, 4
N_TRUTH, N_BOOTSTRAP, FEWEST_RUNS = 300, 100, 60
LABEL_SCORES = tuple(one.name for one in registered().values() if one.audited and one.needs_labels)
Sample = tuple[np.ndarray, np.ndarray]
"""Rows, and the labels that they have or the groups that they belong to."""


@dataclass(frozen=True)
class Condition:
    """A population, how a sample of it is drawn, and what `estimate` is told of it."""

    label: str
    n: int
    d: int
    told: str = ""
    """Argument of `estimate` that the codes of the rows are passed as; labels are always passed as such."""
    pairs: int | None = None
    variant: str = "feature_split"

    @property
    def variants(self) -> tuple[str, ...]:
        """The scores whose intervals are counted."""
        return LABEL_SCORES if self.labelled else (self.variant,)

    @property
    def names(self) -> tuple[str, ...]:
        """What a line of the table says of the score; label scores have columns of their own."""
        return () if self.labelled else (self.variant,)

    @property
    def labelled(self) -> bool:
        """Whether rows have classes."""
        return "classes" in self.label

    def __str__(self) -> str:
        return f"{self.label}, {self.n:,} x {self.d}"


def _latent(n: int, d: int, rng: np.random.Generator, noise: Callable[..., np.ndarray]) -> np.ndarray:
    mixing = np.random.default_rng(d).standard_normal((RANK, d))
    return noise(size=(n, RANK)) @ mixing + noise(size=(n, d))


def _gaussian(n: int, d: int, rng: np.random.Generator) -> Sample:
    return _latent(n, d, rng, rng.standard_normal), np.arange(n)


def _heavy(n: int, d: int, rng: np.random.Generator) -> Sample:
    return _latent(n, d, rng, lambda size: rng.standard_t(3, size)), np.arange(n)


def _unequal(n: int, d: int, rng: np.random.Generator) -> Sample:
    return _latent(n, d, rng, rng.standard_normal) * np.geomspace(1, 10, d), np.arange(n)


def _clusters(n: int, d: int, rng: np.random.Generator) -> Sample:
    centres = 1.5 * np.random.default_rng(d).standard_normal((CLUSTERS, d))
    cluster = rng.integers(CLUSTERS, size=n)
    return centres[cluster] + rng.standard_normal((n, d)), np.arange(n)


def _twice(n: int, d: int, rng: np.random.Generator) -> Sample:
    return np.repeat(_gaussian(n // 2, d, rng)[0], 2, axis=0), np.repeat(np.arange(n // 2), 2)


def _donors(n_donors: int) -> Callable[[int, int, np.random.Generator], Sample]:
    def draw(n: int, d: int, rng: np.random.Generator) -> Sample:
        mixing = np.random.default_rng(d).standard_normal((RANK, d))
        donor = np.arange(n) * n_donors // n
        shared = rng.standard_normal((n_donors, RANK))[donor] + 0.7 * rng.standard_normal((n, RANK))
        return shared @ mixing + rng.standard_normal((n, d)), donor

    return draw


def _classes(fixed: bool) -> Callable[[int, int, np.random.Generator], Sample]:
    def draw(n: int, d: int, rng: np.random.Generator) -> Sample:
        shares = np.arange(1, CLASSES + 1) / np.arange(1, CLASSES + 1).sum()
        y = np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n if fixed else rng.random(n))
        centres = 0.7 * np.random.default_rng(d).standard_normal((CLASSES, d))
        return centres[y] + rng.standard_normal((n, d)), y

    return draw


DRAW: dict[str, Callable[[int, int, np.random.Generator], Sample]] = {
    "Gaussian": _gaussian,
    "t(3)": _heavy,
    "unequal scales": _unequal,
    "clusters": _clusters,
    "each row twice": _twice,
    "10 donors": _donors(10),
    "30 donors": _donors(30),
    "random classes": _classes(fixed=False),
    "fixed classes": _classes(fixed=True),
}
CONDITIONS = (
    Condition("Gaussian", 40, 12),
    Condition("Gaussian", 300, 12),
    Condition("Gaussian", 20_000, 12, pairs=50_000),
    Condition("Gaussian", 40, 24),
    Condition("Gaussian", 20_000, 24, pairs=50_000),
    Condition("Gaussian", 40, 200),
    Condition("Gaussian", 300, 200),
    Condition("clusters", 100, 24),
    Condition("t(3)", 100, 24),
    Condition("unequal scales", 100, 24),
    Condition("each row twice", 100, 24, "groups"),
    Condition("each row twice", 100, 24),
    Condition("10 donors", 200, 24, "groups"),
    Condition("30 donors", 300, 24, "groups"),
    Condition("10 donors", 200, 24),
    Condition("30 donors", 20_010, 24, "groups", pairs=50_000),
    Condition("Gaussian", 100, 24, variant="basis_averaged_split"),
    Condition("random classes", 100, 12),
    Condition("random classes", 400, 24),
    Condition("fixed classes", 100, 12, "blocks"),
    Condition("fixed classes", 400, 24, "blocks"),
)


def scored(condition: Condition, sample: Sample, seed: int, *, ends: bool) -> dict[str, list[float]]:
    """Value of each score, and the ends of its intervals at both levels."""
    X, codes = sample
    design = exchange(len(X), **{condition.told: codes}) if condition.told else None
    found = {}
    for variant in condition.variants:
        options = {} if ends or registered()[variant].needs_labels or condition.pairs else {"n_draws": 4}
        request = requested(
            X,
            codes if condition.labelled else None,
            variant,
            options,
            n_bootstrap=N_BOOTSTRAP if ends else 0,
            pairs=condition.pairs,
            seed=seed,
            design=design,
        )
        evidence = measured(request)
        intervals = [as_estimate(request, evidence, level) for level in LEVELS] if ends else []
        found[variant] = [evidence.value, *(end for one in intervals for end in (one.low, one.high))]
    return found


def counts(condition: Condition, n_runs: int, seconds: float) -> dict[str, list[int]]:
    """For each score the runs that had an interval, and those whose interval held the truth, at both levels."""
    warnings.simplefilter("ignore")
    draw, start = DRAW[condition.label], time.monotonic()
    values: dict[str, list[float]] = {name: [] for name in condition.variants}
    runs: dict[str, list[list[float]]] = {name: [] for name in condition.variants}
    done = 0
    while done < n_runs and (done < FEWEST_RUNS or time.monotonic() - start < seconds):
        sample = draw(condition.n, condition.d, np.random.default_rng([1, done, condition.n, condition.d]))
        for name, found in scored(condition, sample, done, ends=True).items():
            runs[name].append(found[1:])
            values[name].append(found[0])
        done += 1
    # Where a sample costs much it also has many rows, of which those of the runs tell enough.
    for at in range(N_TRUTH if condition.n <= 200 else N_TRUTH // 4):
        sample = draw(condition.n, condition.d, np.random.default_rng([0, at, condition.n, condition.d]))
        for name, found in scored(condition, sample, n_runs + at, ends=False).items():
            values[name].append(found[0])
    return {name: _held(np.array(found), float(np.nanmean(values[name]))) for name, found in runs.items()}


def _held(ends: np.ndarray, truth: float) -> list[int]:
    known = ends[np.isfinite(ends).all(axis=1)]
    inside = [int(((low <= truth) & (truth <= high)).sum()) for low, high in (known[:, :2].T, known[:, 2:].T)]
    return [len(known), *inside]
