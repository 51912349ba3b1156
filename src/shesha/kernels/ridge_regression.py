"""Cross-validated ridge regression, with one decomposition per fold for all penalties and targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Matrix, Vector

PENALTIES = np.geomspace(1e-6, 1e4, 31)
"""Candidate penalties, in units of the largest variance of the training rows."""
_RANK = 1e-12
"""A variance below this share of the largest variance counts as a rounding error."""


@dataclass(frozen=True)
class Training:
    """The decomposition of the training rows of one fold, which are all rows outside it."""

    rest: Index
    held_out: Index
    mean: Vector
    variances: Vector
    """Sums of squares along the axes, largest first."""
    axes: Matrix
    """Principal axes of the training rows, one per column."""


def decompose_folds(rows: Matrix, fold: Index, n_folds: int) -> list[Training]:
    """Decompose the rows outside each fold; the columns of `rows` must have mean zero over all rows."""
    products = rows.T @ rows
    return [_decompose_fold(rows, products, fold == k) for k in range(n_folds)]


def _decompose_fold(rows: Matrix, products: Matrix, out: NDArray[np.bool_]) -> Training:
    held_out, rest = np.flatnonzero(out), np.flatnonzero(~out)
    held_out_rows = rows[held_out]
    # The columns sum to zero over all rows, so the sums over the training rows are minus those over the held-out rows.
    mean = -held_out_rows.sum(axis=0) / len(rest)
    variances, axes = np.linalg.eigh(products - held_out_rows.T @ held_out_rows - len(rest) * np.outer(mean, mean))
    variances, axes = variances[::-1], axes[:, ::-1]
    rank = int(np.count_nonzero(variances > _RANK * max(float(variances[0]), 0.0)))
    return Training(rest, held_out, mean, variances[:rank], axes[:, :rank])


def prediction_errors(rows: Matrix, parts: list[Training], targets: Matrix) -> tuple[float, float]:
    """Predict each fold from the other rows; return the squared errors of predictions and of the mean.

    All targets share the penalty with the smallest generalised cross-validation score on the training rows (Golub,
    Heath and Wahba 1979). This score is the leave-one-out error, up to a rotation of the rows.
    """
    cross = rows.T @ targets
    errors = np.array([_errors(rows, part, targets, cross) for part in parts])
    predicted, mean = errors.sum(axis=0)
    return float(predicted), float(mean)


def predict_held_out(rows: Matrix, parts: list[Training], targets: Matrix) -> Matrix:
    """Predict the targets of each fold from the other rows, with the penalty as in `prediction_errors`.

    The columns of rows and of targets must have mean zero over all rows, as in `prediction_errors`.
    """
    cross = rows.T @ targets
    predictions = np.empty_like(targets)
    for part in parts:
        mean, deviation = _fold_prediction(rows, part, targets, cross)
        predictions[part.held_out] = mean + deviation
    return predictions


def _errors(rows: Matrix, part: Training, targets: Matrix, cross: Matrix) -> tuple[float, float]:
    mean, deviation = _fold_prediction(rows, part, targets, cross)
    wanted = targets[part.held_out] - mean
    residuals = wanted - deviation
    return float(np.vdot(residuals, residuals)), float(np.vdot(wanted, wanted))


def _fold_prediction(rows: Matrix, part: Training, targets: Matrix, cross: Matrix) -> tuple[Vector, Matrix]:
    """Return the mean of the training targets, and the predicted deviations from it for held-out rows."""
    held_out_rows, wanted = rows[part.held_out], targets[part.held_out]
    mean = -wanted.sum(axis=0) / len(part.rest)
    shared = cross - held_out_rows.T @ wanted - len(part.rest) * np.outer(part.mean, mean)
    # Inner products of the targets with the left singular vectors of the training rows.
    projections = (part.axes.T @ shared) / np.sqrt(part.variances)[:, None]
    centred = targets[part.rest] - mean
    weights = np.sqrt(part.variances) / (part.variances + _penalty(part, projections, float(np.vdot(centred, centred))))
    return mean, ((held_out_rows - part.mean) @ part.axes) @ (weights[:, None] * projections)


def _penalty(part: Training, projections: Matrix, total: float) -> float:
    """Return the penalty that generalised cross-validation selects on the training rows."""
    n = len(part.rest)
    if not len(part.variances):
        return 1.0
    penalties = PENALTIES * part.variances[0]
    kept = part.variances / (part.variances + penalties[:, None])
    explained = np.einsum("ij,ij->i", projections, projections)
    residual = max(0.0, total - float(explained.sum()))
    residual = residual if residual > _RANK * total else 0.0
    freedom = 1.0 - (1.0 + kept.sum(axis=1)) / n
    scores = (residual + (1.0 - kept) ** 2 @ explained) / freedom**2
    return float(penalties[int(np.argmin(scores))])
