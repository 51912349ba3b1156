"""Recognise labels that were computed from the features, such as clusters of the same data."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Labels, Matrix
from shesha.views import Rows

_NEIGHBOURS = 15
_MOST_ROWS = 1000
_FEWEST = 30
"""Number of rows near a boundary that are needed for a decision."""
_MIXED = 0.85
"""Share of the neighbours with the most frequent label, below which a row is near a boundary."""
_EXCESS = 0.27
"""How much more often than their neighbours' shares rows near a boundary have the most frequent label.

It was at most 0.25 for simulated labels, because a share of few neighbours is inexact with many features,
and 0.23 to 0.35 for clusters of noise.
"""


def are_labels_from_features(X: Rows, codes: Labels, seed: int = 0) -> bool:
    """Return whether rows near the boundary of two classes have the labels that the features would give them.

    If labels were observed independently of the features, a row whose neighbours belong to several classes has each
    label about as often as its neighbours. The labels of clusters change at a boundary instead: such rows nearly always
    have the label of the nearer side. Classes with a gap between them have no rows near a boundary, so nothing follows.

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
    if len(rows) <= 4 * _NEIGHBOURS or not np.isfinite(rows).all() or len(np.unique(labels)) < 2:
        return False
    rows = rows - rows.mean(axis=0)
    return _follow_neighbours(rows, labels) or _are_cut_by_planes(rows, labels)


def _follow_neighbours(rows: Matrix, labels: Labels) -> bool:
    squared = np.einsum("ij,ij->i", rows, rows)
    distances = squared[:, None] + squared - 2 * rows @ rows.T
    np.fill_diagonal(distances, np.inf)
    near = np.argpartition(distances, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
    indicator = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    shares = indicator[near].mean(axis=1)
    share = shares.max(axis=1)
    mixed = share < _MIXED
    if mixed.sum() < _FEWEST:
        return False
    agrees = labels[mixed] == shares[mixed].argmax(axis=1)
    return bool(agrees.mean() - share[mixed].mean() > _EXCESS)


def _are_cut_by_planes(rows: Matrix, labels: Labels) -> bool:
    """Return whether planes between the means of classes divide rows that lie densely on both sides of them."""
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
