"""Rank correlations with bootstrap intervals, computed for all resamples together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from shesha.support.types import Matrix, Vector
from shesha_studies.framework.facts import NAN, Fact

_TOGETHER = 250


def weighted_spearman(x: Vector, y: Vector, weights: NDArray[np.floating[Any]]) -> Vector:
    """Spearman's correlation if row i occurs weights[draw, i] times; ties have their mean rank.

    Examples
    --------
    >>> weighted_spearman(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.array([[1.0, 1, 1], [2, 1, 0]])).tolist()
    [0.5, 1.0]
    """
    correlations = []
    for start in range(0, len(weights), _TOGETHER):
        counts = weights[start : start + _TOGETHER].astype(np.float64)
        total = counts.sum(axis=1, keepdims=True)
        a, b = (_ranks(values, counts) - (total + 1) / 2 for values in (x, y))
        product, first, second = ((counts * term).sum(axis=1) for term in (a * b, a * a, b * b))
        with np.errstate(invalid="ignore"):
            correlations.append(product / np.sqrt(first * second))
    return np.concatenate(correlations)


def _ranks(values: Vector, counts: Matrix) -> Matrix:
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    groups = np.add.reduceat(counts[:, order], starts, axis=1)
    return (np.cumsum(groups, axis=1) - (groups - 1) / 2)[:, place]


@dataclass(frozen=True)
class Correlation:
    """A rank correlation with two intervals: one resamples rows, and one resamples groups of rows."""

    n: int
    value: float
    low: float = NAN
    high: float = NAN
    group_low: float = NAN
    group_high: float = NAN
    group_error: float = NAN
    p: float = NAN

    @property
    def fact(self) -> Fact:
        """The correlation with the interval that resamples groups."""
        return Fact(self.value, self.group_low, self.group_high)

    @property
    def wide_fact(self) -> Fact:
        """The correlation with the wider limits of both, because a bootstrap of four to nine groups is too narrow."""
        return Fact(self.value, min(self.low, self.group_low), max(self.high, self.group_high))


def correlation(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike, n_draws: int = 10_000, n_group_draws: int = 1000
) -> Correlation:
    """Spearman's correlation with percentile intervals of both bootstraps.

    Entries that are NaN are omitted. Groups are the bases from which representations were made.
    """
    table = pd.DataFrame({"x": x, "y": y, "group": groups}).dropna()
    first, second = table.x.to_numpy(dtype=np.float64), table.y.to_numpy(dtype=np.float64)
    n = len(table)
    if n < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Correlation(n, NAN)
    spearman = spearmanr(first, second)
    rng = np.random.default_rng(320)
    rows = weighted_spearman(first, second, counts(n, n_draws, rng))
    _, codes = np.unique(table.group.to_numpy(), return_inverse=True)
    group_rhos = weighted_spearman(first, second, counts(codes.max() + 1, n_group_draws, rng)[:, codes])
    low, high, *group_ends = (float(end) for rhos in (rows, group_rhos) for end in np.nanpercentile(rhos, [2.5, 97.5]))
    error, p = float(np.nanstd(group_rhos)), float(spearman.pvalue)
    return Correlation(n, float(spearman.statistic), low, high, group_ends[0], group_ends[1], error, p)


def counts(n: int, n_draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return how often each of n items is drawn, of shape (n_draws, n)."""
    drawn = rng.integers(n, size=(n_draws, n)) + n * np.arange(n_draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * n_draws).reshape(n_draws, n).astype(np.float32)


def round_as_stored(rows: pd.DataFrame) -> pd.DataFrame:
    """Round numbers as the stored table does, so that both give the same ranks and the same page."""
    floats = [str(name) for name in rows.columns if rows[name].dtype.kind == "f"]
    return rows.assign(**{name: rows[name].map(lambda value: float(f"{value:.6g}")) for name in floats})
