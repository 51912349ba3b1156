"""Recognise labels that were computed from the features, such as clusters of the same data."""

from __future__ import annotations

import numpy as np

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support.types import Labels
from shesha.views import Rows

_MOST_ROWS = 1000
_FEWEST = 30
"""Number of rows near a plane that are needed for a decision."""
_FEWEST_ROWS = 60


def are_labels_from_features(X: Rows, codes: Labels, seed: int = 0) -> bool:
    """Return whether hardly any row lies beyond the plane between the mean of its class and that of another.

    Classes that were observed independently of the features overlap, unless they have a gap between them. Clusters by
    k-means do neither, even of noise. Nor do bins of a variable that the features contain, so labels need not be
    clusters. Clusters of other kinds, such as those of graphs, are not recognised: a rule for them that compares labels
    with those of near rows takes well separated classes for clusters.

    Parameters
    ----------
    X : Rows
    codes : array of shape (n_rows,)
        Class of each row, numbered from 0.
    seed : int
        Seed of the sample of rows.
    """
    rng = np.random.default_rng(seed)
    chosen = np.arange(len(X)) if len(X) <= _MOST_ROWS else np.sort(rng.choice(len(X), _MOST_ROWS, replace=False))
    rows, labels = X.read(chosen), codes[chosen]
    if len(rows) <= _FEWEST_ROWS or not np.isfinite(rows).all() or len(np.unique(labels)) < 2:
        return False
    # Squares of large numbers would overflow.
    rows = rows / length_unit(rows)
    rows -= rows.mean(axis=0)
    counts = np.bincount(labels)
    kept = np.flatnonzero(counts >= 5)
    inside = np.isin(labels, kept)
    rows, own = rows[inside], np.searchsorted(kept, labels[inside])
    if len(kept) < 2 or len(rows) < 2 * _FEWEST:
        return False
    from scipy.special import bdtr

    means = np.stack([rows[own == k].mean(axis=0) for k in range(len(kept))])
    n = counts[kept][own]
    squared = ((rows[:, None] - means[None]) ** 2).sum(axis=2)
    mine = squared[np.arange(len(rows)), own].copy()
    squared[np.arange(len(rows)), own] = np.inf
    other = squared.argmin(axis=1)
    gap = np.linalg.norm(means[own] - means[other], axis=1)
    twice = 2 * np.where(gap > 0, gap, np.inf)
    margin = (squared.min(axis=1) - mine) / twice
    # Without the row itself, the mean of its class is farther from it.
    shift = mine * ((n / (n - 1)) ** 2 - 1) / twice
    spread = np.sqrt(np.mean([((rows[own == k] - means[k]) ** 2).mean() for k in range(len(kept))]))
    near_without = np.abs(margin - shift) < spread / 2
    if near_without.sum() >= _FEWEST and (margin < shift).mean() < 0.1 * near_without.mean():
        return True
    near = np.abs(margin) < spread / 2
    if not near.any() or np.median(shift[near]) > _MOST_SHIFT * spread:
        return False
    # Clusters have no row beyond their planes, but classes of any distribution have nearly as many as before them.
    return bool(bdtr(int((margin[near] < 0).sum()), int(near.sum()), _BEYOND) < _LEVEL)


_MOST_SHIFT, _BEYOND, _LEVEL = 0.15, 0.08, 1e-3
"""Largest shift of a plane by the row itself, relative to the spread of a class; smallest share of the rows near a
plane that lie beyond it, if classes are not made from the features; and level of the test for fewer."""
