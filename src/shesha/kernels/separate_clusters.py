"""Separate clusters, where no row of one cluster is among the nearest rows of another."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Index, Matrix

_N_NEAREST = 4
"""Number of nearest rows to which each row is linked. With four, groups of up to four rows join the nearest cluster."""


def separate_clusters(gram: Matrix) -> Index:
    """Cluster label of each row: connected components of the Euclidean nearest-neighbour graph.

    The distances come from the inner products in `gram`. The rows of one cloud are connected, whatever its shape and
    the lengths of its rows, because even outlying rows are linked to their nearest rows. Clusters are separated only by
    gaps that no link crosses, and each has at least five rows.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(gram)
    if n <= _N_NEAREST:
        return np.zeros(n, dtype=np.intp)
    lengths, rows = np.diagonal(gram), np.arange(n)
    squared = lengths[:, None] + lengths - 2 * gram
    np.fill_diagonal(squared, np.inf)
    nearest = np.empty((n, _N_NEAREST), dtype=np.int32)
    for place in range(_N_NEAREST):
        nearest[:, place] = squared.argmin(axis=1)
        squared[rows, nearest[:, place]] = np.inf
    starts = np.arange(0, nearest.size + 1, _N_NEAREST, dtype=np.int32)
    links = csr_array((np.ones(nearest.size), nearest.ravel(), starts), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
