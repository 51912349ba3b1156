"""Shifts of perturbed cells from three kinds of reference, as the public package computes them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shesha.support.types import Index, Matrix, Vector

Method = Literal["standard", "whitened", "knn"]
Metric = Literal["cosine", "euclidean"]
NO_LENGTH = 1e-12
"""Length, relative to the largest entry, below which a shift counts as zero."""
_PANEL = 512


def from_mean(controls: Matrix, cells: Matrix) -> Matrix:
    """Return the shifts of cells from the mean of the controls."""
    shifts: Matrix = cells - controls.mean(axis=0)
    return shifts


def whitened_shifts(controls: Matrix, cells: Matrix, ridge: float) -> Matrix:
    """Return the shifts of cells from the mean of the controls, whitened by the controls' covariance."""
    covariance = np.atleast_2d(np.cov(controls, rowvar=False)) + ridge * np.eye(controls.shape[1])
    values, directions = np.linalg.eigh(covariance)
    root = directions / np.sqrt(np.maximum(values, ridge))
    moved: Matrix = from_mean(controls, cells) @ root @ directions.T
    return moved


def from_neighbours(controls: Matrix, cells: Matrix, k: int, metric: Metric) -> Matrix:
    """Return the shift of each cell from the mean of its k nearest controls."""
    places, sought = (controls, cells) if metric == "euclidean" else (_units(controls), _units(cells))
    lengths = np.einsum("ij,ij->i", places, places)
    out = np.empty_like(cells)
    for start in range(0, len(cells), _PANEL):
        panel = slice(start, start + _PANEL)
        near = _nearest(lengths - 2 * sought[panel] @ places.T, min(k, len(controls)))
        out[panel] = cells[panel] - controls[near].mean(axis=1)
    return out


def _nearest(distances: Matrix, k: int) -> Index:
    return np.argpartition(distances, k - 1, axis=1)[:, :k]


def _units(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Matrix = rows / np.where(lengths > 0, lengths, 1.0)
    return units


def mean_cosine(shifts: Matrix, *, fewest: int = 0) -> float:
    """Return the mean cosine between the shifts and their mean; 0 if the mean shift is zero.

    If `fewest` is given, zero shifts are left out, and the result is 0 if fewer than `fewest` shifts remain.
    """
    mean = shifts.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length < NO_LENGTH:
        return 0.0
    lengths: Vector = np.linalg.norm(shifts, axis=1)
    if fewest:
        has_length = lengths > NO_LENGTH
        if has_length.sum() < fewest:
            return 0.0
        shifts, lengths = shifts[has_length], lengths[has_length]
    return float(np.mean(shifts @ (mean / length) / np.maximum(lengths, NO_LENGTH)))


def explained_share(shifts: Matrix) -> float:
    """Return the share of the shifts' mean square that their mean explains; 0 if there is no mean shift."""
    mean = shifts.mean(axis=0)
    if np.linalg.norm(mean) < NO_LENGTH:
        return 0.0
    total = float(np.mean(np.sum(shifts**2, axis=1)))
    around_mean = float(np.mean(np.sum((shifts - mean) ** 2, axis=1)))
    return float(np.clip(1.0 - around_mean / total, -1.0, 1.0))
