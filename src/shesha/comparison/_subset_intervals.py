"""Intervals of similarities from scores on random subsets of the rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from shesha.support.types import Index, Vector

N_SUBSETS = 50
"""Number of subsets per interval; twice as many would not improve the coverage."""
LEFT_OUT = 0.2
"""Share of the rows that each subset leaves out.

With a smaller share, scores based on neighbours or ranks would vary in discrete steps. With a larger share, scores that
depend on the number of rows per feature would differ too much from the score of all rows.
"""


FEWEST_CLUSTERS = 5
"""Minimum number of groups for an interval; with fewer, subsets would omit more than a fifth of them."""


def draw_subsets(n: int, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw subsets of four fifths of n rows, without replacement and in their original order."""
    return tuple(np.sort(rng.choice(n, n_kept(n), replace=False)) for _ in range(N_SUBSETS))


def draw_clusters(clusters: Index, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw subsets of four fifths of the clusters (groups or stretches, coded from 0); return their rows."""
    return tuple(
        np.flatnonzero(np.isin(clusters, clusters_kept)) for clusters_kept in draw_subsets(int(clusters.max()) + 1, rng)
    )


def n_kept(n: int) -> int:
    """Return how many of n rows or clusters a subset contains."""
    return n - max(1, round(LEFT_OUT * n))


def interval(
    value: float,
    on_subsets: Vector,
    shares: tuple[int, int],
    confidence: float,
    bounds: tuple[float, float],
    *,
    clustered: bool = False,
) -> tuple[float, float]:
    """Return the interval of a value from its scores on subsets of m of n rows; `shares` is (m, n).

    This is the delete-d jackknife: scores on random subsets of m out of n rows have (n - m) / m times the variance of
    scores on independent samples of n rows. Student's t has one degree of freedom less than there are subsets, or
    clusters if these are fewer.
    """
    m, n = shares
    spread = on_subsets.std(ddof=1) * np.sqrt(m / (n - m))
    freedom = min(len(on_subsets), n) - 1 if clustered else len(on_subsets) - 1
    half = float(t.ppf(0.5 + confidence / 2, freedom) * spread)
    # Rounding may put the value itself slightly outside its bounds.
    return min(value, max(value - half, bounds[0])), max(value, min(value + half, bounds[1]))
