"""Separate clusters: no row of one is among the nearest rows of another."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Index, Matrix

_N_NEAREST = 4
"""Number of nearest rows that link clusters, so that groups of up to four rows join the nearest cluster."""


def separate_clusters(rows: Matrix) -> Index:
    """Label of each row: connected components of the graph of nearest rows by Euclidean distance.

    Rows of one cloud are connected whatever its shape and however their lengths differ: far rows have near ones among
    their nearest. Only a gap that no row reaches over separates clusters, and each has at least five rows.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(rows)
    if n <= _N_NEAREST:
        return np.zeros(n, dtype=np.intp)
    centred = rows - rows.mean(axis=0)
    gram = centred @ centred.T
    lengths = np.diagonal(gram)
    squared = lengths[:, None] + lengths - 2 * gram
    np.fill_diagonal(squared, np.inf)
    nearest = np.argpartition(squared, _N_NEAREST - 1, axis=1)[:, :_N_NEAREST].ravel()
    links = coo_array((np.ones(len(nearest)), (np.repeat(np.arange(n), _N_NEAREST), nearest)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
