"""How far rows and classes moved, judged by each row's distances to all other rows."""

from __future__ import annotations

import numpy as np

from shesha.kernels.distances import PANEL
from shesha.kernels.threads import parallel
from shesha.support.types import Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation


def row_movement(before: Representation, after: Representation) -> Vector:
    """Return how far each row moved relative to the others; all NaN if any row is zero."""
    try:
        return movement(before.cached("unit rows", lambda: before.standard("cosine")), after.standard("cosine"))
    except NotEstimable:
        return np.full(before.n_rows, np.nan)


def movement(before: Matrix, after: Matrix) -> Vector:
    """Return 1 - correlation of each row's distances to all other rows, in two sets of unit rows.

    The result is invariant to rotations, and the widths may differ. A row that is equally far from all others has NaN.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((6, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> movement(X, X[:, ::-1]).round(12)
    array([0., 0., 0., 0., 0., 0.])
    """
    n = len(before)

    def part(start: int) -> Vector:
        a, b = (_profiles(rows, start, n) for rows in (before, after))
        a -= b
        # Half the squared distance of unit vectors equals 1 - r, and is accurate even if 1 - r is tiny.
        half_distances: Vector = 0.5 * np.einsum("ij,ij->i", a, a)
        return half_distances

    return np.concatenate(list(parallel(part, range(0, n, PANEL))))


def _profiles(rows: Matrix, start: int, n: int) -> Matrix:
    """Return similarities of a panel's rows to all others, centred and of unit length; 0 with themselves."""
    products = rows[start : start + PANEL] @ rows.T
    rows_of_panel = np.arange(len(products))
    products[rows_of_panel, rows_of_panel + start] = 0.0
    products -= products.sum(axis=1, keepdims=True) / (n - 1)
    products[rows_of_panel, rows_of_panel + start] = 0.0
    lengths = np.sqrt(np.einsum("ij,ij->i", products, products))
    with np.errstate(invalid="ignore", divide="ignore"):
        products /= np.where(lengths > 1e-12, lengths, np.nan)[:, None]
    return products


def class_means(moved: Vector, codes: Labels, n_classes: int) -> Vector:
    """Return the mean movement of the rows in each class.

    Examples
    --------
    >>> class_means(np.array([0.1, 0.3, 0.5]), np.array([0, 0, 1]), 2)
    array([0.2, 0.5])
    """
    known = np.isfinite(moved)
    totals = np.bincount(codes[known], moved[known], minlength=n_classes)
    return totals / np.maximum(1, np.bincount(codes[known], minlength=n_classes))
