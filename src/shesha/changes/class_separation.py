"""Measure how well a linear classifier predicts the classes of held-out rows, before and after a change."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from shesha.kernels.regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.results.changes.kind_of_change import SeparationChange
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.views import Representation

FOLDS = 5


def separation_change(
    layer: str,
    before: Representation,
    after: Representation,
    codes: Labels,
    fold: Index,
    *,
    confidence: float,
    groups: Labels | None = None,
) -> SeparationChange:
    """Measure how well a linear classifier predicts the classes of held-out rows, before and after.

    Ridge regression predicts class indicators, and each row is assigned to the class with the largest prediction
    relative to its size. All classes have equal weight.
    """
    sizes = np.bincount(codes)
    with single_threaded_blas():
        right = [_correctly_classified(side.rows, codes, fold) for side in (before, after)]
    weights = 1.0 / (len(sizes) * sizes[codes])
    start, end = (float(weights @ correct) for correct in right)
    half = _half_width(weights, right[1] - right[0], groups, confidence)
    # A difference of accuracies lies between -1 and 1.
    low, high = max(-1.0, end - start - half), min(1.0, end - start + half)
    return SeparationChange(layer, start, end, low, high, 1.0 / len(sizes), confidence=confidence)


def _half_width(weights: Vector, differences: Vector, groups: Labels | None, confidence: float) -> float:
    """Return half the width of the interval of a difference between two accuracies.

    Rows vary, and so do the classifiers, which share most of their training rows. Therefore the variance over rows, or
    over groups of rows, is multiplied by the factor of Nadeau and Bengio (2003). One row that improves and one that
    becomes worse are added, as Agresti and Min (2005) do, because few rows may all be classified alike by chance.
    """
    n, residuals = len(weights), weights * (differences - weights @ differences)
    units = np.arange(n) if groups is None else groups
    n_units = int(units.max()) + 1
    if n_units < 2:
        return float("nan")
    variance = n_units / (n_units - 1) * float((np.bincount(units, residuals) ** 2).sum()) + 2 / (n + 2) ** 2
    training = 1.0 + FOLDS / (FOLDS - 1)
    return float(t.ppf(0.5 + confidence / 2, n_units - 1) * np.sqrt(training * variance))


def _correctly_classified(rows: Matrix, codes: Labels, fold: Index) -> Vector:
    X = rows - rows.mean(axis=0)
    sizes = np.bincount(codes)
    shares = sizes / len(codes)
    targets = np.eye(len(sizes))[codes] - shares
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), targets)
    # Predictions are divided by the class's share of the rows, so that rare classes can be chosen.
    return np.asarray((predicted / shares).argmax(axis=1) == codes, dtype=float)
