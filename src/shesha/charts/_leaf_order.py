"""Order the rows of a square table by hierarchical clustering."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Matrix


def leaf_order(values: Matrix, closer: str) -> list[int]:
    """Return the leaf order of an average-linkage clustering, which puts similar rows next to each other.

    Parameters
    ----------
    values : array of shape (n, n)
        Similarities or distances of all pairs. An asymmetric table is averaged with its transpose.
    closer : {"higher", "lower"}
        Whether higher or lower values are more similar.

    Returns
    -------
    list of int
        The order of the rows. Tables with fewer than three rows or with NaN keep their order.

    Examples
    --------
    >>> leaf_order(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 8.0], [1.0, 8.0, 0.0]]), "lower")
    [1, 2, 0]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    n = len(values)
    if n < 3 or np.isnan(values[~np.eye(n, dtype=bool)]).any():
        return list(range(n))
    means = (values + values.T) / 2
    distances = means if closer == "lower" else np.nanmax(means) - means
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average", optimal_ordering=True)
    return [int(place) for place in leaves_list(tree)]
