"""Distances between the rows of sampled pairs and triples, computed within the memory budget."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from shesha.kernels.distances import (
    PANEL,
    Metric,
    find_undirected_rows,
    n_pairs,
    pair_distances,
    panel,
    standard_rows,
)
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel
from shesha.support import memory
from shesha.support.types import Index, Matrix, Vector
from shesha.views import UndirectedRowsError
from shesha.views.row_source import RowSource

_HELD = 1 << 22
"""Maximum number of entries of sampled rows that are in memory at a time."""
_SHARE = 4
"""One over this number is the share of the memory budget for standardised rows, or for pieces of rows."""
_COPIES = 4
"""Number of copies of a piece of rows that exist while its row pairs are gathered."""
_DENSE = 16
"""If all row pairs are fewer than this multiple of the drawn ones, products of all rows are computed."""


def tuple_distances(source: RowSource, tuples: Index, metric: Metric) -> Matrix:
    """Return the distances between the rows of each tuple, one column per pair of its members."""
    places = list(combinations(range(tuples.shape[1]), 2))
    out = np.empty((len(tuples), len(places)))
    # Removing the medians of Euclidean rows takes two more copies.
    copies = 3 if metric == "euclidean" else 1
    fits = 8 * copies * source.n_rows * source.n_features * _SHARE <= memory.memory_budget()
    if fits and not source.is_stored and tuples.size >= source.n_rows:
        rows, unit = _standardised_rows(source, metric)
        find = _panel_distances if _DENSE * len(tuples) > n_pairs(source.n_rows) else pair_distances
        for column, (i, j) in enumerate(places):
            out[:, column] = unit * find(rows, tuples[:, i], tuples[:, j], metric)
        return out
    return _read_in_pieces(source, tuples, metric, places, out)


def _standardised_rows(source: RowSource, metric: Metric) -> tuple[Matrix, float]:
    """Read and standardise all rows, piecewise if the metric allows; also return their unit of length."""
    numbers = np.arange(source.n_rows)
    if metric == "euclidean":
        rows = source.read(numbers)
        return standard_rows(rows, metric), length_unit(rows)
    rows = np.empty((source.n_rows, source.n_features))
    for start in range(0, source.n_rows, PANEL):
        panel_rows = numbers[start : start + PANEL]
        rows[panel_rows] = _standardise_rows(source.read(panel_rows), panel_rows, metric)
    return rows, 1.0


def _standardise_rows(rows: Matrix, numbers: Index, metric: Metric) -> Matrix:
    """Standardise rows; raise an error if a row has no direction."""
    bad = find_undirected_rows(rows, metric)
    if len(bad):
        raise UndirectedRowsError(numbers[bad], metric)
    return standard_rows(rows, metric)


def _panel_distances(rows: Matrix, i: Index, j: Index, metric: Metric) -> Vector:
    """Return distances of pairs, from panels of distances between a few rows and all later rows."""
    first, second = np.minimum(i, j), np.maximum(i, j)
    order = np.argsort(first, kind="stable")
    starts = np.arange(0, len(rows), PANEL)
    cuts = np.searchsorted(first[order], np.append(starts, len(rows)))
    out = np.empty(len(i))

    def fill(number: int) -> None:
        pairs_of_panel = order[cuts[number] : cuts[number + 1]]
        start = int(starts[number])
        out[pairs_of_panel] = panel(rows, metric, start)[first[pairs_of_panel] - start, second[pairs_of_panel] - start]

    for _ in parallel(fill, range(len(starts))):
        pass
    return np.sqrt(out) if metric == "euclidean" else out


def _read_in_pieces(
    source: RowSource, tuples: Index, metric: Metric, places: list[tuple[int, int]], out: Matrix
) -> Matrix:
    """Compute distances for some tuples at a time, reading only the rows that they contain."""
    budget = memory.memory_budget()
    piece_bytes = max(_HELD, budget // 64) if source.is_stored else _HELD
    piece_bytes = max(1, min(piece_bytes, budget // (8 * _COPIES * _SHARE)))
    step = max(1, piece_bytes // (tuples.shape[1] * source.n_features))

    def fill(start: int) -> None:
        piece = slice(start, start + step)
        numbers, positions = np.unique(tuples[piece], return_inverse=True)
        rows = source.read(numbers)
        unit = length_unit(rows) if metric == "euclidean" else 1.0
        rows = rows / unit if metric == "euclidean" else _standardise_rows(rows, numbers, metric)
        positions = positions.reshape(-1, tuples.shape[1])
        for column, (i, j) in enumerate(places):
            out[piece, column] = unit * pair_distances(rows, positions[:, i], positions[:, j], metric)

    at_once = 1 if source.is_stored else max(1, budget // (8 * _COPIES * _SHARE * piece_bytes))
    for _ in parallel(fill, range(0, len(tuples), step), at_once=at_once):
        pass
    return out
