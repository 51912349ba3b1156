"""Split scores on many subsets of the rows at once, from the distances and sorting orders of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.kernels import compiled_ranks, native, ranks
from shesha.kernels.distances import Metric, distance_rounding
from shesha.kernels.feature_halves import Closeness, halves, require_directed
from shesha.kernels.feature_split_frames import Frame
from shesha.kernels.fixed_point_argsort import order_values
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Matrix, Vector

_MOST_ROWS = 1 << 14
"""Largest number of rows for which row numbers fit in 16 bits and sums of rank products in 64 bits."""


def scores(rows: Matrix, metric: Metric, frame: Frame, draws: Sequence[object], subsets: Sequence[Index]) -> Matrix:
    """For each draw, correlate the two halves over the rows of each subset: shape (draws, subsets).

    In the frame, a row's coordinates must not depend on the other rows.
    """
    tolerance = distance_rounding(rows, metric)
    with single_threaded_blas():
        both = halves(rows, metric, frame)
    i, j = np.triu_indices(len(rows), k=1)
    pairs = (i << 16 | j).astype(np.uint32) if len(rows) <= _MOST_ROWS and native.is_available() else None

    def score(closeness: Closeness) -> Vector:
        require_directed(closeness, metric)
        values = None if pairs is None else _scores_from_full_order(closeness, tolerance, pairs, len(rows), subsets)
        return _scores_from_distances(closeness, tolerance, (i, j), len(rows), subsets) if values is None else values

    return np.array(list(parallel(lambda draw: both.visit(draw, score), draws)))


def _scores_from_full_order(
    closeness: Closeness, tolerance: float, pairs: compiled_ranks.Pairs, n: int, subsets: Sequence[Index]
) -> Vector | None:
    """Sort all pairs once, then skip those outside each subset; None if any pairs tie."""
    first = order_values(closeness.first, tolerance, closeness.scratch.view(np.uint64))
    if first.ranks is not None:
        return None
    arranged = closeness.second[first.order]
    sorted_pairs = pairs[first.order]
    second = order_values(arranged, tolerance, closeness.scratch.view(np.uint64))
    if second.ranks is not None:
        return None
    place = np.empty(len(sorted_pairs), dtype=np.uint32)
    correlations = []
    for subset in subsets:
        inside = np.zeros(n, dtype=np.uint8)
        inside[subset] = 1
        correlations.append(compiled_ranks.subset_correlation(sorted_pairs, second.order, inside, place))
    return np.array(correlations)


def _scores_from_distances(
    closeness: Closeness, tolerance: float, pairs: tuple[Index, Index], n: int, subsets: Sequence[Index]
) -> Vector:
    """Rank the distances within each subset separately."""
    correlations = []
    for subset in subsets:
        inside = np.zeros(n, dtype=np.bool_)
        inside[subset] = True
        mask = inside[pairs[0]] & inside[pairs[1]]
        correlations.append(ranks.spearman(closeness.first[mask], closeness.second[mask], (tolerance, tolerance)))
    return np.array(correlations)
