"""Rows in fewer coordinates with the same inner products, by an orthogonal map."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Matrix

_PANEL = 4
"""Features per panel, as a multiple of the number of rows. It is fixed, so that results do not depend on memory."""


PANEL = 1 << 21
"""Largest number of entries in a panel of a sum over all entries. It is fixed for the same reason."""


def column_panels(rows: Matrix) -> Iterator[slice]:
    """Yield slices of columns with a limited number of entries each."""
    n, d = rows.shape
    step = max(1, PANEL // max(1, n))
    return (slice(start, start + step) for start in range(0, d, step))


def rotate_rows(rows: Matrix, *others: Matrix) -> Matrix:
    """Return rows with the same inner products in as many coordinates as there are rows, if features outnumber them.

    The features are read in panels, each of which is added to the triangular factor of those before it (Demmel et al.
    2012), so the memory depends on the number of rows only. Further matrices of the same features are placed below
    the first, so that all share the coordinates.
    """
    n, d = sum(map(len, (rows, *others))), rows.shape[1]
    factor: Matrix = np.empty((n, 0))
    with single_threaded_blas():
        for start in range(0, d, max(1, _PANEL * n)):
            columns = slice(start, start + _PANEL * n)
            panel = np.concatenate([one[:, columns] for one in (rows, *others)])
            factor = triangular_factor(np.hstack([factor, panel]))
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
