"""Find the rows that moved most, by the share of their neighbours that they lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.drift.row_movement import row_movement
from shesha.kernels.distances import Metric
from shesha.results.changes.diff import MovedRow
from shesha.support.types import Index, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Neighbours, Representation

METRIC: Metric = "cosine"


def neighbours_lost(before: Representation, after: Representation, k: int, metric: Metric = METRIC) -> Vector:
    """Return, for each row, the share of its k nearest rows that are no longer among its k nearest.

    Examples
    --------
    >>> X = Representation.build(np.random.default_rng(0).standard_normal((20, 4)))
    >>> float(neighbours_lost(X, X, 3).max())
    0.0
    """
    neighbours, other = (side.view(Neighbours, k=k, metric=metric) for side in (before, after))
    n_kept = np.count_nonzero(other.ranks_of_neighbours(neighbours), axis=1)
    return 1.0 - np.asarray(n_kept, dtype=float) / k


def moved_rows(
    before: Representation,
    after: Representation,
    unchanged: Sequence[tuple[Representation, Representation]],
    rows: Index,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    k: int,
    most: int,
) -> tuple[MovedRow, ...]:
    """Return the rows that lost most neighbours; ties are sorted by the distance that rows moved.

    Parameters
    ----------
    before, after : Representation
        The examined rows.
    unchanged : sequence of pairs
        Pairs of encodings of the same rows that differ only by noise.
    rows : array
        Positions of the examined rows in the input.
    names, labels : sequence of str
        Names and labels of the examined rows.
    k, most : int
        Number of neighbours of each row, and maximum number of rows to return.
    """
    try:
        losses, movement = neighbours_lost(before, after, k), row_movement(before, after)
    except NotEstimable:
        # If all rows are equal, no row has nearest neighbours; the layer's result states this reason.
        return ()
    noise = np.full(len(losses), np.nan)
    for first, other in unchanged:
        noise = np.fmax(noise, neighbours_lost(first, other, k))
    order = np.lexsort((-np.nan_to_num(movement), -losses))[:most]
    return tuple(
        MovedRow(
            *(int(rows[i]), names[i], float(losses[i]), float(movement[i]), float(noise[i])),
            label=labels[i],
        )
        for i in order.tolist()
        if losses[i] > 0
    )


def losses_by_class(before: Representation, after: Representation, labels: Sequence[str], k: int) -> dict[str, float]:
    """Return the mean share of neighbours that the rows of each class lost, largest first.

    The result is empty for fewer than 2 or more than 30 classes.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if not 2 <= len(names) <= 30:
        return {}
    try:
        losses = neighbours_lost(before, after, k)
    except NotEstimable:
        return {}
    means = np.bincount(codes, losses) / np.bincount(codes)
    return {str(names[i]): float(means[i]) for i in np.argsort(-means, kind="stable").tolist()}
