"""How well blocks, such as batches, are mixed in a representation: batch silhouette and iLISI."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Matrix, Vector

SILHOUETTE, ILISI = "batch silhouette", "iLISI"
_FEWEST = 5
"""Minimum number of rows that a block must have in a class, because single rows have no silhouette."""
_MOST_ROWS = 2_000
"""Largest number of rows of a class for which all silhouettes are computed, and of rows whose neighbours are found."""
_NEIGHBOURS, _PERPLEXITY = 90, 30
"""As in the published code of LISI: the effective number of neighbours is a third of their number."""
_STEPS, _TOLERANCE = 50, 1e-5
_PANEL = 256


def block_mixing(rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_]) -> dict[str, float]:
    """Return the batch silhouette and iLISI of a representation: 1 if blocks are mixed, 0 if they are separate.

    Parameters
    ----------
    rows : array of shape (n, d)
    classes, blocks : arrays of str of shape (n,)

    Returns
    -------
    dict
        'batch silhouette' is the mean over classes of 1 - |silhouette of the blocks| (Buttner et al. 2019), and 'iLISI'
        the median over rows of the effective number of blocks among the neighbours, rescaled to 0 to 1 (Korsunsky et
        al. 2019). NaN if there is a single block.
    """
    return {SILHOUETTE: batch_silhouette(rows, classes, blocks), ILISI: ilisi(rows, blocks)}


def batch_silhouette(rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_]) -> float:
    """Return the mean over classes of 1 - |silhouette of the blocks|."""
    values = []
    for name in np.unique(classes):
        inside = np.flatnonzero(classes == name)
        _, codes, counts = np.unique(blocks[inside], return_inverse=True, return_counts=True)
        kept = counts[codes] >= _FEWEST
        if (counts >= _FEWEST).sum() > 1:
            inside = inside[kept]
            if len(inside) > _MOST_ROWS:
                inside = np.sort(np.random.default_rng(0).choice(inside, _MOST_ROWS, replace=False))
            values.append(float((1 - np.abs(_silhouettes(rows[inside], blocks[inside]))).mean()))
    return float(np.mean(values)) if values else float("nan")


def _silhouettes(rows: Matrix, labels: NDArray[np.str_]) -> Vector:
    """Return the silhouette of each row; 0 for the only row of a label."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.eye(len(counts))[codes]
    own = codes[:, None] == np.arange(len(counts))
    totals = np.concatenate([distances @ members for _, distances in _distances(rows, np.arange(len(rows)))])
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = totals[own] / (counts[codes] - 1)
        outside = np.where(own, np.inf, totals / counts).min(axis=1)
        values = (outside - inside) / np.maximum(inside, outside)
    return np.where(counts[codes] > 1, np.nan_to_num(values), 0.0)


def ilisi(rows: Matrix, blocks: NDArray[np.str_]) -> float:
    """Return the median effective number of blocks among the neighbours of a row, rescaled to 0 to 1."""
    names, codes = np.unique(blocks, return_inverse=True)
    n, k = len(rows), min(_NEIGHBOURS, len(rows) - 1)
    if len(names) < 2 or k < 3:
        return float("nan")
    queries = np.arange(n)
    if n > _MOST_ROWS:
        queries = np.sort(np.random.default_rng(0).choice(n, _MOST_ROWS, replace=False))
    simpson = []
    for panel, distances in _distances(rows, queries):
        distances[np.arange(len(panel)), panel] = np.inf
        near = np.argpartition(distances, k - 1, axis=1)[:, :k]
        weights = _neighbour_weights(np.take_along_axis(distances, near, axis=1), min(_PERPLEXITY, k / 3))
        shares = np.stack([(weights * (codes[near] == code)).sum(axis=1) for code in range(len(names))], axis=1)
        simpson.append((shares**2).sum(axis=1))
    effective = float(np.median(1 / np.concatenate(simpson)))
    return float(np.clip((effective - 1) / (len(names) - 1), 0.0, 1.0))


def _neighbour_weights(distances: Matrix, perplexity: float) -> Matrix:
    """Return weights of neighbours that decrease with distance, with the requested entropy."""
    shifted = distances - distances.min(axis=1, keepdims=True)
    beta, low, high = np.ones(len(distances)), np.zeros(len(distances)), np.full(len(distances), np.inf)
    for _ in range(_STEPS):
        weights = np.exp(-shifted * beta[:, None])
        total = weights.sum(axis=1)
        weights /= total[:, None]
        excess = np.log(total) + beta * (shifted * weights).sum(axis=1) - np.log(perplexity)
        if (np.abs(excess) < _TOLERANCE).all():
            break
        low, high = np.where(excess > 0, beta, low), np.where(excess > 0, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    return np.asarray(weights)


def _distances(rows: Matrix, queries: Index) -> Iterator[tuple[Index, Matrix]]:
    """Yield panels of rows with their Euclidean distances to all rows."""
    from scipy.spatial.distance import cdist

    for start in range(0, len(queries), _PANEL):
        panel = queries[start : start + _PANEL]
        yield panel, cdist(rows[panel], rows)
