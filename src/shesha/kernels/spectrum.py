"""The spectrum of centred rows, its summaries, the corrected participation ratio, and the principal plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from shesha.kernels.distances import PANEL
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support import memory as memory
from shesha.support.types import Index, Matrix, Vector

ENTRIES = 1 << 19
"""Number of values read in one step. It is fixed so that sums do not depend on the available memory."""


class Sliced(Protocol):
    """A matrix in memory or on disk whose rows can be read in slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and features."""
        ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        """Return a slice of the rows."""
        ...


def centred_variances(X: Sliced) -> Vector:
    """Squared singular values of the centred rows, descending, with sum 1; zeros if all rows are equal."""
    _require_memory(X)
    return _shares(X, None if X.shape[1] > X.shape[0] else _sum_products(X, fourth=False))


def variances_and_moments(X: Sliced) -> tuple[Vector, FourthMoments]:
    """Return `centred_variances` and the sums that the correction needs; the rows are read three times."""
    _require_memory(X)
    sums = _sum_products(X, gram=X.shape[1] <= X.shape[0])
    unit = sums.total**2 or 1.0
    columns = float((sums.columns**2).sum())
    return _shares(X, sums), FourthMoments(X.shape[0], sums.rows / unit, columns / unit, sums.entries / unit)


def _require_memory(X: Sliced) -> None:
    n, d = X.shape
    memory.require(12 * min(n, d) ** 2, f"the spectrum of {n:,} rows x {d:,} features", "audit fewer features")


def _shares(X: Sliced, sums: _Sums | None) -> Vector:
    from scipy.linalg import eigvalsh

    n, d = X.shape
    with single_threaded_blas():
        gram = _row_gram(X) if sums is None or sums.gram is None else sums.gram
        values = eigvalsh(gram, lower=True, overwrite_a=True, check_finite=False)[::-1]
    # Eigenvalues below the rounding level of the largest one are set to zero.
    values = np.where(values > values[0] * max(n, d) * np.finfo(float).eps, values, 0.0)
    total = values.sum()
    return np.asarray(values / total if total > 0 else values)


_STRETCH, _SUMMED = 1 << 25, 2048
"""Number of values whose sums a thread adds up, and most features for which threads have sums of their own."""


@dataclass
class _Sums:
    """Sums over centred and scaled rows."""

    gram: Matrix | None
    """Lower triangle of the products of the features."""
    columns: Vector
    total: float = 0.0
    rows: float = 0.0
    entries: float = 0.0

    def add(self, block: Matrix, fourth: bool) -> None:
        """Add some rows, which are overwritten."""
        from scipy.linalg.blas import dsyrk

        if self.gram is not None:
            # dsyrk adds to the lower triangle in place; a matrix product would need a second matrix.
            self.gram = dsyrk(1.0, block.T, beta=1.0, c=self.gram, lower=1, overwrite_c=1)
        if fourth:
            squares = np.square(block, out=block)
            lengths = squares.sum(axis=1)
            self.total += float(lengths.sum())
            self.rows += float((lengths**2).sum())
            self.columns += squares.sum(axis=0)
            self.entries += float(np.einsum("ij,ij->", squares, squares))

    def __iadd__(self, other: _Sums) -> _Sums:
        """Add the sums over other rows."""
        if self.gram is not None and other.gram is not None:
            self.gram += other.gram
        self.columns += other.columns
        self.total += other.total
        self.rows += other.rows
        self.entries += other.entries
        return self


def _sum_products(X: Sliced, *, gram: bool = True, fourth: bool = True) -> _Sums:
    """Return the products of the features, and the sums of fourth powers, after centring and scaling."""
    n, d = X.shape
    step = max(1, ENTRIES // d)
    slices = [slice(start, start + step) for start in range(0, n, step)]
    together = max(1, _STRETCH // ENTRIES) if d <= _SUMMED else len(slices)

    def read(rows: slice) -> Matrix:
        return np.asarray(X[rows], dtype=np.float64)

    # Division by a power of two is exact, even if the features are far from zero.
    largest = max(parallel(lambda rows: length_unit(read(rows)), slices))
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    origin = read(slice(0, 1))[0] / largest
    mean = sum(parallel(lambda rows: (read(rows) / largest - origin).sum(axis=0), slices)) / n

    def sum_some(start: int) -> _Sums:
        sums = _Sums(np.zeros((d, d), order="F") if gram else None, np.zeros(d))
        for rows in slices[start : start + together]:
            centred = read(rows) / largest
            centred -= origin
            centred -= mean
            sums.add(centred, fourth)
        return sums

    at_once = max(1, memory.memory_budget() // (32 * d**2))
    parts = parallel(sum_some, range(0, len(slices), together), at_once=at_once)
    result = next(parts)
    for sums in parts:
        result += sums
    return result


def _row_gram(X: Sliced) -> Matrix:
    rows = np.asarray(X[:], dtype=np.float64)
    rows = rows / length_unit(rows)
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    rows -= rows[0].copy()
    rows -= rows.mean(axis=0)
    rows /= max(float(rows.max()), -float(rows.min())) or 1.0
    return np.asarray(rows @ rows.T)


_UNCORRELATED, _UNCORRELATED_LEVEL = 0.5, 1e-6
"""Share of the expected squared correlations, and p-value, below which axes were fitted to the rows."""


def decorrelation_p_value(covariance: Matrix, n_rows: int) -> float:
    """Return the p-value of columns whose correlations are smaller than chance would make them; NaN for all others."""
    from scipy.special import chdtr

    spread = np.sqrt(np.diagonal(covariance))
    i, j = np.triu_indices(len(spread), k=1)
    if len(i) < 6 or n_rows <= len(spread):
        return float("nan")
    total = float(((covariance[i, j] / (spread[i] * spread[j])) ** 2).sum()) * (n_rows - 1)
    p_value = float(chdtr(len(i), total))
    return p_value if total <= _UNCORRELATED * len(i) and p_value <= _UNCORRELATED_LEVEL else float("nan")


def effective_rank(variances: Vector) -> float:
    """exp of the entropy of the normalised singular values (Roy and Vetterli 2007); NaN without variance."""
    singular = np.sqrt(variances[variances > 0])
    if not len(singular):
        return float("nan")
    share = singular / singular.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def participation_ratio(variances: Vector) -> float:
    """(sum of variances)^2 / sum of squared variances; NaN without variance."""
    return float(variances.sum() ** 2 / (variances**2).sum()) if variances.any() else float("nan")


def anisotropy(variances: Vector) -> float:
    """Share of the variance along the first principal direction; NaN without variance."""
    return float(variances[0]) if variances.any() else float("nan")


Sample = Literal["rows", "columns", "both"]
SAMPLES: tuple[str, ...] = get_args(Sample)
FEWEST_ROWS = 4
"""Smallest number of rows for the correction, which averages over four different rows."""
_ROUNDING = 1e-11
"""If the ratio of a denominator to its largest term is below this value, the denominator is a rounding error."""


@dataclass(frozen=True)
class FourthMoments:
    """Sums over centred entries, divided by the squared total sum of squares; zeros if all rows are equal."""

    n_rows: int
    rows: float
    """Sum of the fourth powers of the row lengths."""
    columns: float
    """Sum of the fourth powers of the column lengths."""
    entries: float
    """Sum of the fourth powers of all entries."""


def corrected_participation_ratio(variances: Vector, moments: FourthMoments, sample: Sample = "rows") -> float:
    """Estimate tr(C)^2 / tr(C^2) from unbiased estimates of both terms; NaN if the second is not positive."""
    n, squared = moments.n_rows, float((variances**2).sum())
    if sample == "columns":
        above, below, largest = 1.0 - moments.columns, squared - moments.columns, squared
    else:
        above = (n * n - 3 * n + 1) - n * (n - 1) * moments.rows + 2 * squared
        below = (n - 1) * (n - 2) * squared - n * (n - 1) * moments.rows + 1
        largest = n * n * squared
        if sample == "both":
            alone = (n * n - 3 * n + 3) * moments.columns - n * (n - 1) * moments.entries
            above, below = above - alone, below - alone
    return above / below if below > _ROUNDING * largest and n >= FEWEST_ROWS else float("nan")


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
