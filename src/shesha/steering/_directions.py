"""Steering directions from probes, with their source and target classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.class_statistics import class_means
from shesha.kernels.logistic_regression import EXACT, Fits, fit_many
from shesha.support.types import Labels, Matrix, Vector

Method = Literal["logistic", "mean_difference", "svd"]
METHODS = ("logistic", "mean_difference", "svd")
ENOUGH = 1e-6
"""Gradient tolerance for fitting probes to shuffled and observed labels. Smaller tolerances do not change predictions.
"""


@dataclass(frozen=True, eq=False)
class Probe:
    """A linear classifier and its steering direction, in the coordinates of the rows."""

    weights: Matrix
    """Coefficients for each class, of shape (n_classes, k)."""
    intercepts: Vector
    direction: Vector
    """Direction of unit length, of shape (k,)."""
    source: int
    target: int

    def scores(self, rows: Matrix) -> Matrix:
        """Score of each row for each class."""
        return np.asarray(rows @ self.weights.T + self.intercepts)


def probes(
    rows: Matrix, codes: Labels, training: NDArray[np.bool_], n_classes: int, method: Method, C: float, tolerance: float
) -> list[Probe]:
    """Fit one probe per column of `codes` to the rows that `training` marks."""
    fits = fit_many(rows, codes, training.astype(np.float64), n_classes, C, tolerance)
    return [probe(rows[mask], codes[mask, j], fits, j, method) for j, mask in enumerate(training.T)]


def probe(rows: Matrix, codes: Labels, fits: Fits, j: int, method: Method) -> Probe:
    """Build a probe and its direction from fit number j."""
    slopes, shift = fits.coefficients[j], fits.intercepts[j]
    weights, intercepts = (
        (slopes, shift) if len(slopes) > 1 else (_two_class_scores(slopes), _two_class_scores(shift[:, None])[:, 0])
    )
    direction = _DIRECTIONS[method](rows, codes, weights)
    # A logistic direction is oriented by the weights of the classes; other directions are oriented by the class means.
    places = weights if method == "logistic" else class_means(rows, codes)[0]
    direction, source, target = orient(direction, places @ direction)
    return Probe(weights, intercepts, direction, source, target)


def _two_class_scores(values: Matrix) -> Matrix:
    """Convert the score of the second class against the first to one score per class."""
    return np.concatenate([-values / 2, values / 2])


def fit_probe(
    rows: Matrix, codes: Labels, n_classes: int, method: Method, C: float
) -> tuple[Probe, bool, Matrix, Vector]:
    """Fit one probe to all rows; return it, whether the fit converged, and the fit's coefficients."""
    everything = np.ones((len(rows), 1))
    fits = fit_many(rows, codes[:, None], everything, n_classes, C, EXACT)
    classifier = probe(rows, codes, fits, 0, method)
    return classifier, bool(fits.converged[0]), fits.coefficients[0], fits.intercepts[0]


def orient(direction: Vector, along: Vector) -> tuple[Vector, int, int]:
    """Orient a direction from the first to the second of the two classes farthest apart along it."""
    low, high = int(along.argmin()), int(along.argmax())
    if low > high:
        return -direction, high, low
    # If all classes coincide (the direction has length zero), any two classes will do.
    return direction, low, high if high != low else (low + 1) % len(along)


def top_right(matrix: Matrix) -> Vector:
    """First right singular vector, of unit length; zero for a zero matrix."""
    if not matrix.any():
        return np.zeros(matrix.shape[1])
    return np.asarray(np.linalg.svd(matrix, full_matrices=False)[2][0])


def _from_weights(rows: Matrix, codes: Labels, weights: Matrix) -> Vector:
    return top_right(weights)


def _from_means(rows: Matrix, codes: Labels, weights: Matrix) -> Vector:
    means = class_means(rows, codes)[0]
    return top_right(means - means.mean(axis=0))


def _from_shifts(rows: Matrix, codes: Labels, weights: Matrix) -> Vector:
    """Direction from the shifts, where each row's shift is the row minus the mean of the other classes."""
    means, counts = class_means(rows, codes)
    share = counts[:, None] / counts.sum()
    others = (means.T @ share).T / (1 - share) - share * means / (1 - share)
    return top_right(rows - others[codes])


_DIRECTIONS = {"logistic": _from_weights, "mean_difference": _from_means, "svd": _from_shifts}


def random_directions(axes: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Draw random unit vectors in feature space, and express them in the coordinates of the rows."""
    drawn = rng.standard_normal((count, axes.shape[1]))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.asarray(drawn @ axes.T)
