"""Principal plane of the rows, its alignment with another plane, and how well it preserves neighbours."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from shesha.kernels.distances import PANEL
from shesha.kernels.threads import single_threaded_blas
from shesha.support.types import Index, Matrix, Vector

_DENSE = 2000
"""Up to this number of features or rows, a Gram matrix is decomposed; beyond it, an iterative method is used."""


def principal_plane(rows: Matrix) -> tuple[Matrix, Vector]:
    """Project rows onto their first two principal axes; also return the variance share of each axis.

    Signs are chosen so that the farthest row along each axis has a positive coordinate. Both shares are 0 if all rows
    are equal.

    Examples
    --------
    >>> places, shares = principal_plane(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 0.0], [-1.0, 0.0]]))
    >>> abs(places[0]).tolist(), shares.round(1).tolist()
    ([3.0, 0.0], [0.9, 0.1])
    """
    centred = rows - rows[0]
    centred -= centred.mean(axis=0)
    total = float(np.square(centred).sum())
    if total == 0:
        return np.zeros((len(rows), 2)), np.zeros(2)
    with single_threaded_blas():
        places = centred @ _two_axes(centred)
    places *= np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return places, np.square(places).sum(axis=0) / total


def _two_axes(centred: Matrix) -> Matrix:
    """Return two orthonormal directions of largest variance; with a single feature, the second is zero."""
    n, d = centred.shape
    if d == 1:
        return np.array([[1.0, 0.0]])
    if d <= min(n, _DENSE):
        return np.asarray(eigh(centred.T @ centred, subset_by_index=[d - 2, d - 1])[1][:, ::-1])
    if n <= _DENSE:
        scores = eigh(centred @ centred.T, subset_by_index=[n - 2, n - 1])[1][:, ::-1]
        return np.asarray(np.linalg.qr(centred.T @ scores)[0])
    start = np.random.default_rng(0).standard_normal(min(n, d))
    return np.asarray(svds(centred, k=2, v0=start, return_singular_vectors=True)[2][::-1].T)


def turn_onto(places: Matrix, target: Matrix) -> Matrix:
    """Rotate or mirror positions to fit the target, and scale them to the target's spread.

    The orthogonal map comes from Procrustes analysis (Schönemann 1966). Scale is not part of a geometry, so positions
    are scaled to the target's root mean square distance from the origin.

    Examples
    --------
    >>> target = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> bool(np.allclose(turn_onto(5 * target[:, ::-1], target), target))
    True
    """
    size = float(np.linalg.norm(places))
    if size == 0:
        return places
    left, _, right = np.linalg.svd(places.T @ target)
    return np.asarray(places @ (left @ right) * (float(np.linalg.norm(target)) / size))


def trustworthiness(rows: Matrix, places: Matrix, k: int, asked: Index) -> float:
    """Trustworthiness of the neighbours in a plane: 1 is perfect; a random plane gives about 0.5.

    Defined by Venna and Kaski (2001): a row that is among the k nearest in the plane but not in the data costs its
    neighbour rank in the data minus k. The cost is averaged over the rows listed in `asked`.

    Parameters
    ----------
    rows, places : arrays of shape (n_rows, n_features) and (n_rows, 2)
        Data, and the positions of the rows in the plane.
    k : int
        Number of neighbours, below half the number of rows.
    asked : array of int
        Numbers of the rows whose neighbours are compared, in ascending order.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((50, 2))
    >>> trustworthiness(rows, rows, 5, np.arange(50))
    1.0
    """
    n, cost = len(rows), 0
    for start in range(0, len(asked), PANEL):
        queries = asked[start : start + PANEL]
        distances, drawn = _squared(rows, queries), _squared(places, queries)
        near = np.argpartition(drawn, k - 1, axis=1)[:, :k]
        for place in near.T:
            nearer = np.count_nonzero(distances < distances[np.arange(len(queries)), place][:, None], axis=1)
            cost += int(np.maximum(nearer + 1 - k, 0).sum())
    return 1.0 - 2.0 * cost / (len(asked) * k * (2 * n - 3 * k - 1))


def _squared(rows: Matrix, queries: Index) -> Matrix:
    """Squared distances from some rows to all rows; infinite between a row and itself."""
    lengths = np.einsum("ij,ij->i", rows, rows)
    with single_threaded_blas():
        out: Matrix = lengths[queries][:, None] + lengths - 2.0 * (rows[queries] @ rows.T)
    out[np.arange(len(queries)), queries] = np.inf
    return out
