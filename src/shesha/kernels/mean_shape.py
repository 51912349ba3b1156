"""The mean shape of several configurations: generalised Procrustes analysis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.support.types import Matrix

_STEPS = 500
_TOLERANCE = 1e-10


def rotate_onto(rows: Matrix, target: Matrix) -> Matrix:
    """Return the rows after the rotation (or reflection) that brings them closest to the target."""
    left, _, right = np.linalg.svd(rows.T @ target)
    result: Matrix = rows @ (left @ right)
    return result


def closeness(rows: Matrix, target: Matrix) -> float:
    """Largest inner product of two configurations over all rotations and reflections."""
    return float(np.linalg.svd(rows.T @ target, compute_uv=False).sum())


def mean_shape(configurations: Sequence[Matrix], start: Matrix | None = None) -> tuple[Matrix, int, bool]:
    """Mean of the configurations after the rotations that maximise the norm of the mean (Gower 1975).

    Parameters
    ----------
    configurations : sequence of arrays of shape (n, d)
        Centred configurations that all have the same shape.
    start : array of shape (n, d), optional
        Starting point of the search. Default: the configuration with the largest total closeness to the others.

    Returns
    -------
    array of shape (n, d), int and bool
        The mean, the number of steps, and whether the search converged.
    """
    mean = _most_central(configurations) if start is None else start
    length = -np.inf
    for step in range(1, _STEPS + 1):
        mean = np.mean([rotate_onto(configuration, mean) for configuration in configurations], axis=0)
        before, length = length, float(np.linalg.norm(mean))
        if length - before <= _TOLERANCE * length:
            return mean, step, True
    return mean, _STEPS, False


def _most_central(configurations: Sequence[Matrix]) -> Matrix:
    totals = np.zeros(len(configurations))
    for i, configuration in enumerate(configurations):
        for j in range(i):
            value = closeness(configuration, configurations[j])
            totals[[i, j]] += value
    return configurations[int(np.argmax(totals))]
