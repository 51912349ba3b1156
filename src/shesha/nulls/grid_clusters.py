"""Clusters of neighbouring entries of a grid, such as times, compared with the largest clusters of a null."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.results.number import TIE
from shesha.support.types import Array, Index, Vector


def standardise_over_draws(draws: Array, alpha: float) -> tuple[Array, Array]:
    """Return draws in standard deviations, and for each entry the value that a share alpha of its draws exceeds.

    The observed values, which come first, count as a draw, so that the test stays valid.

    Parameters
    ----------
    draws : array of shape (n_draws + 1, ...)
        The observed values, then those of each draw.
    alpha : float
    """
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(spread > TIE * np.abs(draws).max(axis=0), (draws - mean) / spread, 0.0)
    z = np.where(np.isnan(draws).any(axis=0), np.nan, z)
    return z, np.quantile(z, 1 - alpha, axis=0, method="higher")


def grid_clusters(draws: Array, threshold: Any) -> tuple[Index, Vector, Vector]:
    """Find clusters of neighbouring entries above a threshold, and compare their masses with those of the draws.

    Parameters
    ----------
    draws : array of shape (n_draws + 1, ...)
        Statistics of each entry of a grid of one or more dimensions: observed, then of each draw. NaN entries belong to
        no cluster. Entries are neighbours if they differ by 1 in one dimension.
    threshold : float, or array with one value per entry
        Entries above it form clusters.

    Returns
    -------
    labels : array of int
        For each entry, the number of its cluster from 1, or 0.
    masses : array of shape (n_clusters,)
        Sum of the statistic over each cluster.
    null : array of shape (n_draws,)
        Largest mass of each draw, 0 without clusters.

    Examples
    --------
    >>> draws = np.array([[0.0, 3, 4, 0, 3], [0, 0, 5, 0, 0], [3, 3, 3, 0, 0]])
    >>> labels, masses, null = grid_clusters(draws, 2.0)
    >>> labels.tolist(), masses.tolist(), null.tolist()
    ([0, 1, 1, 0, 2], [7.0, 3.0], [5.0, 9.0])
    """
    from scipy.ndimage import generate_binary_structure, label

    structure = generate_binary_structure(draws.ndim, 1)
    # Entries of different draws are not neighbours.
    structure[[0, 2]] = False
    above = draws > threshold
    labels: Any
    labels, n = label(above, structure)
    masses: Any = np.bincount(labels[above], weights=draws[above], minlength=n + 1)
    draw = np.zeros(n + 1, dtype=np.intp)
    draw[labels] = np.arange(len(draws)).reshape(-1, *[1] * (draws.ndim - 1))
    largest = np.zeros(len(draws))
    np.maximum.at(largest, draw[1:], masses[1:])
    n_observed = int(labels[0].max(initial=0))
    return labels[0], masses[1 : n_observed + 1], largest[1:]
