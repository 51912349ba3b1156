"""Differences between the outputs of two classifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from shesha.inputs import validation as check
from shesha.support.types import Matrix

_SUM = 1e-3
"""Largest accepted difference between one and a row's sum of probabilities; it allows for half precision."""


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Mean Jensen-Shannon divergence between the rows of two (n_rows, n_classes) arrays of probabilities.

    The divergence is measured in nats. It is 0 for equal rows, and log 2 for rows that give no class positive
    probability in both.
    """
    first, second = _probabilities(p, q)
    middle = (first + second) / 2
    return float(np.mean((rel_entr(first, middle) + rel_entr(second, middle)).sum(axis=1) / 2))


def disagreement(p: ArrayLike, q: ArrayLike) -> float:
    """Share of rows in which two (n_rows, n_classes) arrays have different most probable classes."""
    first, second = _probabilities(p, q)
    return float(np.mean(first.argmax(axis=1) != second.argmax(axis=1)))


def accuracy_difference(p: ArrayLike, q: ArrayLike, labels: ArrayLike) -> float:
    """Absolute difference in accuracy: the share of rows whose most probable class is the label."""
    first, second = _probabilities(p, q)
    true = check.dense(labels, "labels")
    if true.shape != (len(first),):
        raise ValueError(f"labels must have one label for each of the {len(first)} rows, got shape {true.shape}")
    if true.dtype.kind not in "iu" or (true < 0).any() or (true >= first.shape[1]).any():
        raise ValueError(f"labels must be column numbers from 0 to {first.shape[1] - 1}, got other values")
    return abs(float(np.mean(first.argmax(axis=1) == true)) - float(np.mean(second.argmax(axis=1) == true)))


def _probabilities(p: ArrayLike, q: ArrayLike) -> tuple[Matrix, Matrix]:
    first, second = probabilities(p, "p"), probabilities(q, "q")
    if first.shape != second.shape:
        raise ValueError(f"q must have the shape of p, {first.shape}, got {second.shape}")
    return first, second


def probabilities(values: ArrayLike, name: str) -> Matrix:
    """Return rows of probabilities as float64; raise ValueError if they are invalid."""
    rows = check.real(values, name)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} must be a non-empty 2-D array (n_rows, n_classes), got shape {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ValueError(f"{name} must contain finite, non-negative probabilities, got other values")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > _SUM:
        raise ValueError(f"{name} must have rows that sum to one, got a sum that deviates by {worst:.3g}")
    return rows
