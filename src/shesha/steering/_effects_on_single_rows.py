"""Effects of steering on single rows, measured by distances to neighbours."""

from __future__ import annotations

import numpy as np

from shesha.steering._directions import Probe
from shesha.steering._principal_coordinates import Coordinates
from shesha.support.types import Labels, Mask, Matrix, Vector

NEIGHBOURS = 10
_ENTRIES = 1 << 21
"""Largest number of distances held in memory."""


def local_effects(
    X: Coordinates, codes: Labels, tested: Mask, probe: Probe, direction: Vector, alphas: Vector, k: int
) -> Vector:
    """Slope, over strengths, of a row's distance to the source class minus that to the target class.

    Under a linear probe, the effect would be the same for all rows, so distances are used instead. The distance to a
    class is the mean distance to its k nearest unsteered rows in the steered half. Rows of the training half are not
    used, because any vector, even one from shuffled labels, points towards the rows from which it was computed. Effects
    lie in [-2, 2]. The effect is 2 if the row moves straight away from the source and straight towards the target. A
    negative effect means that the vector does the opposite of what is intended.
    """
    rows, centred = np.flatnonzero(tested), alphas - alphas.mean()
    source_distances = _mean_distances(X, rows, rows[codes[rows] == probe.source], direction, alphas, k)
    towards = _mean_distances(X, rows, rows[codes[rows] == probe.target], direction, alphas, k)
    return np.asarray((source_distances - towards) @ centred / (centred @ centred))


def _mean_distances(X: Coordinates, rows: Labels, others: Labels, direction: Vector, alphas: Vector, k: int) -> Matrix:
    """Mean distance of each steered row to its k nearest other rows: (rows, strengths)."""
    k = min(k, len(others) - 1)
    positions = X.values @ direction
    length = float(direction @ direction)
    distances = np.empty((len(rows), len(alphas)))
    step = max(1, _ENTRIES // max(1, len(others)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        # A row is not counted as its own neighbour.
        itself = np.where(some[:, None] == others, np.inf, 0.0)
        still, gap = X.squared_distances[np.ix_(some, others)] + itself, positions[some, None] - positions[None, others]
        for place, alpha in enumerate(alphas):
            # |x + a v - t|^2 = |x - t|^2 + 2 a v.(x - t) + a^2 |v|^2
            moved = still + 2 * alpha * gap + alpha**2 * length
            near = np.partition(moved, k - 1, axis=1)[:, :k]
            distances[start : start + step, place] = np.sqrt(np.maximum(near, 0.0)).mean(axis=1)
    return distances
