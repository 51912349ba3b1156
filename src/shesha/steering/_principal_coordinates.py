"""Principal coordinates of rows, which suffice for fits, directions and distances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.overflow_limits import require_squarable
from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Centred rows, rotated to orthogonal columns without loss of information."""

    values: Matrix
    """Coordinates of shape (n_samples, k), where k is the smaller of n_samples and n_features."""
    axes: Matrix
    """The principal axes, of shape (k, n_features)."""
    mean: Vector
    norm: float
    """Mean length of the rows before centring; in units of 'norm', a steering strength of 1 equals this length."""

    @cached_property
    def squared_distances(self) -> Matrix:
        """Squared distances between all rows."""
        lengths = np.einsum("ij,ij->i", self.values, self.values)
        with single_threaded_blas():
            squares = lengths[:, None] + lengths[None, :] - 2 * self.values @ self.values.T
        return np.asarray(np.maximum(squares, 0.0))


def coordinates(X: ArrayLike, name: str = "X") -> Coordinates:
    """Check the rows and compute their principal coordinates."""
    rows = require_squarable(check.matrix(X, name, min_rows=8), name)
    norm = float(np.linalg.norm(rows, axis=1).mean())
    mean = rows.mean(axis=0)
    centred = rows - mean
    if not centred.any():
        raise ValueError(f"{name} must have rows that differ, got {len(rows)} equal rows")
    with single_threaded_blas():
        if len(rows) >= rows.shape[1]:
            axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1]
            return Coordinates(centred @ axes.T, axes, mean, norm)
        # With fewer rows than features, directions orthogonal to all rows affect neither fits nor distances.
        basis, triangle = np.linalg.qr(centred.T)
        turn = np.linalg.eigh(triangle @ triangle.T)[1][:, ::-1]
        return Coordinates(triangle.T @ turn, (basis @ turn).T, mean, norm)
