"""Recall of new queries in an index of old vectors, directly and after a map fitted to other rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.kernels.neighbours import nearest_by_product
from shesha.kernels.ridge_regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.results.changes.vector_index_verdict import IndexAdvice, IndexChange, Recall
from shesha.support.device_arrays import smallest
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.views import Representation

FOLDS = 2
"""Number of folds. Maps find rows they were fitted to too easily, so each fold uses the other's map."""
_DEALING = 41
_PANEL = 512


def index_change(
    layer: str,
    before: Representation,
    after: Representation,
    again: Sequence[Representation],
    *,
    k: int,
    tolerance: float,
    seed: Seed,
) -> IndexChange:
    """Decide whether an index of old vectors can be kept for new queries.

    Every row is a query once. Its true neighbours are its nearest rows among the new vectors, by cosine similarity.

    Parameters
    ----------
    layer : str
        Name of the layer.
    before, after : Representation
        Old and new vectors of the same inputs.
    again : sequence of Representation
        Re-encodings by the unchanged model. As queries, they show which recall is attainable.
    k : int
        Number of neighbours that a search returns.
    tolerance : float
        Acceptable loss of recall.
    seed : int, Generator or None
        Seed of the random division into folds.
    """
    old, new = (side.standard("cosine") for side in (before, after))
    fold = spawn(seed, _DEALING).permutation(len(old)) % FOLDS
    with single_threaded_blas():
        direct = _recall("as it is", new, old, new, fold, k) if old.shape[1] == new.shape[1] else _no_recall(old, new)
        maps = [
            _recall("orthogonal map", _orthogonal(new, old, fold), old, new, fold, k),
            _recall("linear map", _linear(new, old, fold), old, new, fold, k),
        ]
        floor = _floor(old, again, fold, k)
    return _index_advice(layer, k, len(old), tolerance, direct, maps, floor)


def _index_advice(
    layer: str, k: int, n: int, tolerance: float, direct: Recall, maps: list[Recall], floor: Recall
) -> IndexChange:
    """Choose the cheapest option whose loss is acceptable even at the lower end of its recall interval."""
    best = max(maps, key=lambda recall: recall.recall)
    attainable = floor.recall if floor.recall == floor.recall else 1.0
    ways: list[tuple[IndexAdvice, Recall]] = [("keep", direct), ("map", best)]
    way = next(((advice, recall) for advice, recall in ways if attainable - recall.low <= tolerance), None)
    advice: IndexAdvice = "re-embed" if way is None else way[0]
    loss = 0.0 if way is None else max(0.0, attainable - way[1].recall)
    return IndexChange(layer, k, n, advice, loss, tolerance, best.way, (direct, *maps, floor))


def _recall(way: str, queries: Matrix, vectors: Matrix, target: Matrix, fold: Index, k: int) -> Recall:
    """Search within each fold, whose rows the map was not fitted to, and count the true neighbours found."""
    parts = [np.flatnonzero(fold == k) for k in range(FOLDS)]
    each = np.concatenate(
        [
            recall_of_each(queries[rows], vectors[rows], nearest_by_product(target[rows], min(k, len(rows) - 1)).lists)
            for rows in parts
        ]
    )
    mean, half = float(each.mean()), 1.96 * float(each.std(ddof=1) / np.sqrt(len(each)))
    return Recall(way, mean, max(0.0, mean - half), min(1.0, mean + half))


def recall_of_each(queries: Matrix, vectors: Matrix, truth: Index) -> Vector:
    """Return the share of each query's true neighbours that are among its nearest vectors in other rows.

    Examples
    --------
    >>> X = np.eye(4) + 0.1
    >>> recall_of_each(X, X, np.array([[1], [0], [0], [0]])).shape
    (4,)
    """
    n, k = truth.shape
    recalls = np.empty(n)
    for start in range(0, n, _PANEL):
        panel = np.arange(start, min(start + _PANEL, n))
        distances = -(queries[panel] @ vectors.T)
        distances[np.arange(len(panel)), panel] = np.inf
        near = np.asarray(smallest(distances, k))
        recalls[panel] = [np.isin(truth[row], near[i]).mean() for i, row in enumerate(panel.tolist())]
    return recalls


def _no_recall(old: Matrix, new: Matrix) -> Recall:
    reason = f"old vectors have {old.shape[1]:,} features, but new vectors have {new.shape[1]:,}"
    return Recall("as it is", float("nan"), reason=reason)


def _orthogonal(new: Matrix, old: Matrix, fold: Index) -> Matrix:
    """Rotate the queries of each fold by the rotation that best fits the rows outside it (Schönemann 1966)."""
    mapped = np.empty((len(new), old.shape[1]))
    for k in range(FOLDS):
        out = fold == k
        u, _, right = np.linalg.svd(new[~out].T @ old[~out], full_matrices=False)
        mapped[out] = new[out] @ (u @ right)
    return mapped


def _linear(new: Matrix, old: Matrix, fold: Index) -> Matrix:
    """Predict the old vectors for each fold's queries by ridge regression fitted to the rows outside it."""
    mean = old.mean(axis=0)
    rows, targets = new - new.mean(axis=0), old - mean
    mapped: Matrix = predict_held_out(rows, decompose_folds(rows, fold, FOLDS), targets) + mean
    return mapped


def _floor(old: Matrix, again: Sequence[Representation], fold: Index, k: int) -> Recall:
    """Return the lowest recall among queries that the unchanged model re-encoded."""
    if not again:
        return Recall(
            "re-encodings",
            float("nan"),
            reason="there are no re-encodings, so the recall of an unchanged model is assumed to be 1",
        )
    recalls = []
    for encoding in again:
        rows = encoding.standard("cosine")
        recalls.append(_recall("re-encodings", rows, old, rows, fold, k))
    return min(recalls, key=lambda recall: recall.recall)
