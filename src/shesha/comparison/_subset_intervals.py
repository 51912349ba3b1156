"""Intervals of similarities from random subsets of the rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from shesha.support.types import Index, Vector

N_SUBSETS = 50
"""Number of subsets per interval. Twice as many do not improve the coverage."""
LEFT_OUT = 0.2
"""Share of the rows that each subset leaves out.

With a smaller share, scores of neighbours and ranks would vary in steps. With a larger share, scores that depend on
rows per feature would differ from those of all rows.
"""


FEWEST_CLUSTERS = 5
"""Smallest number of groups for an interval. With fewer groups, a subset would leave out more than a fifth of them."""


def draw_subsets(n: int, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw subsets of four fifths of n rows, each without replacement and in the order of the rows."""
    return tuple(np.sort(rng.choice(n, n_kept(n), replace=False)) for _ in range(N_SUBSETS))


def draw_clusters(clusters: Index, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw the rows of subsets of four fifths of the clusters: groups, or stretches of a series, coded from 0."""
    return tuple(
        np.flatnonzero(np.isin(clusters, clusters_kept)) for clusters_kept in draw_subsets(int(clusters.max()) + 1, rng)
    )


def n_kept(n: int) -> int:
    """Number of n rows or clusters in a subset."""
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
    """Return the interval of a value from the scores on subsets of m of n rows or clusters; `shares` is (m, n).

    This is the delete-d jackknife: scores on m of n rows have (n - m) / m times the variance of scores on samples of n
    rows. The degrees of freedom of Student's t are the number of subsets, or of clusters if smaller, minus 1.
    """
    m, n = shares
    spread = on_subsets.std(ddof=1) * np.sqrt(m / (n - m))
    freedom = min(len(on_subsets), n) - 1 if clustered else len(on_subsets) - 1
    half = float(t.ppf(0.5 + confidence / 2, freedom) * spread)
    # The value itself may exceed its bound due to rounding.
    return min(value, max(value - half, bounds[0])), max(value, min(value + half, bounds[1]))
