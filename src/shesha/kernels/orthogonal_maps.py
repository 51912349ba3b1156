"""Rows in fewer coordinates with the same inner products, by an orthogonal map."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Matrix

_PANEL = 4
"""Features per panel, as a multiple of the number of rows. It is fixed, so that results do not depend on memory."""


def rotate_rows(rows: Matrix) -> Matrix:
    """Return rows with the same inner products in as many coordinates as there are rows, if features outnumber them.

    The features are read in panels, each of which is added to the triangular factor of those before it (Demmel et al.
    2012), so the memory depends on the number of rows only.
    """
    n, d = rows.shape
    factor: Matrix = np.empty((n, 0))
    with single_threaded_blas():
        for start in range(0, d, max(1, _PANEL * n)):
            factor = triangular_factor(np.hstack([factor, rows[:, start : start + _PANEL * n]]))
    return factor


def triangular_factor(rows: Matrix) -> Matrix:
    """Return rows with the same inner products in at most as many coordinates as rows; the argument is overwritten."""
    rows = np.ascontiguousarray(rows, dtype=float)
    n = len(rows)
    if rows.shape[1] <= n:
        return rows
    # The transpose of a contiguous matrix is in the order of LAPACK, which therefore works in place.
    raw, *_ = lapack.dgeqrf(rows.T, overwrite_a=1)
    return np.tril(raw[:n].T)
