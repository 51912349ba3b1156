"""Coordinate frames for feature splits: the original axes or random rotations."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from shesha.support.types import Matrix

_LARGE = 256
"""Smallest number of dimensions for which matrix products are faster than reflections."""


class Frame(Protocol):
    """Computes two halves of the features from one draw, transposed to (features, rows)."""

    def halves(self, draw: object) -> tuple[Matrix, Matrix]:
        """Return the first half, which has d // 2 features, and the second half."""


class Axes:
    """Halves of the unrotated features; each draw is a permutation of the features."""

    def __init__(self, rows: Matrix) -> None:
        # Features are stored contiguously, so that selecting half of them copies whole blocks.
        self.columns = np.ascontiguousarray(rows.T)

    def halves(self, draw: object) -> tuple[Matrix, Matrix]:
        """Take the first d // 2 features of the permutation, and the remaining features."""
        assert isinstance(draw, np.ndarray)
        half = len(draw) // 2
        return self.columns[draw[:half]], self.columns[draw[half:]]


class Rotations:
    """Halves of the features after a random rotation; each draw is a random generator.

    The rows are first expressed in their principal axes, with signs determined by the rows. A rotated or reflected copy
    of the data has the same coordinates, so the same seed gives both copies the same score.
    """

    def __init__(self, rows: Matrix) -> None:
        self.n_features = rows.shape[1]
        self.coordinates = principal_coordinates(rows)

    def halves(self, draw: object) -> tuple[Matrix, Matrix]:
        """Rotate the rows by a Haar-random matrix and split the rotated features."""
        assert isinstance(draw, np.random.Generator)
        basis = haar_columns(self.n_features, self.coordinates.shape[1], draw)
        rotated = basis @ self.coordinates.T
        half = self.n_features // 2
        return rotated[:half], rotated[half:]


def principal_coordinates(rows: Matrix) -> Matrix:
    """Express rows in their uncentred principal axes: an isometric copy with at most min(n, d) columns."""
    if rows.shape[0] < rows.shape[1]:
        # With fewer rows than features, the triangular factor preserves the inner products in only n columns.
        rows = np.asarray(np.linalg.qr(rows.T, mode="r")).T
    _, axes = np.linalg.eigh(rows.T @ rows)
    coordinates = rows @ axes[:, ::-1]
    largest = np.abs(coordinates).argmax(axis=0)
    signs = np.sign(coordinates[largest, np.arange(coordinates.shape[1])])
    return np.ascontiguousarray(coordinates * np.where(signs == 0, 1.0, signs))


def haar_columns(n: int, r: int, rng: np.random.Generator) -> Matrix:
    """Draw r orthonormal columns in n dimensions uniformly (Mezzadri 2007: fix the signs of R)."""
    drawn = rng.standard_normal((n, r))
    if n >= _LARGE and 2 * r <= n:
        # A matrix with so few columns is well conditioned (about 6), so Cholesky gives the same result in a third of
        # the time.
        triangle = cholesky(drawn.T @ drawn, check_finite=False)
        return np.asarray(solve_triangular(triangle, drawn.T, trans=1, check_finite=False).T)
    q, triangle = np.linalg.qr(drawn)
    return np.asarray(q * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
