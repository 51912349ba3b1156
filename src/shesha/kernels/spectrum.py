"""The spectrum of centred rows, read from memory or disk, and its summaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import single_threaded_blas
from shesha.support import memory as memory
from shesha.support.types import Matrix, Vector

ENTRIES = 1 << 19
"""Number of values read in one step. It is fixed so that sums do not depend on the available memory."""


class Sliced(Protocol):
    """A matrix in memory or on disk whose rows can be read in slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of features."""
        ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        """Return a slice of the rows."""
        ...


def centred_variances(X: Sliced) -> Vector:
    """Squared singular values of the centred rows, descending, with sum 1; zeros if all rows are equal."""
    from scipy.linalg import eigvalsh

    n, d = X.shape
    memory.require(12 * min(n, d) ** 2, f"the spectrum of {n:,} rows x {d:,} features", "audit fewer features")
    with single_threaded_blas():
        gram = _feature_gram(X) if d <= n else _row_gram(X)
        values = eigvalsh(gram, lower=True, overwrite_a=True, check_finite=False)[::-1]
    # Eigenvalues below the rounding level of the largest one are set to zero.
    values = np.where(values > values[0] * max(n, d) * np.finfo(float).eps, values, 0.0)
    total = values.sum()
    return np.asarray(values / total if total > 0 else values)


def _feature_gram(X: Sliced) -> Matrix:
    """Lower triangle of X'X after centring and scaling, computed in passes over blocks of rows."""
    from scipy.linalg.blas import dsyrk

    n, d = X.shape
    step = max(1, ENTRIES // d)

    def blocks() -> Iterator[Matrix]:
        return (np.asarray(X[start : start + step], dtype=np.float64) for start in range(0, n, step))

    # Division by a power of two is exact, even if the features are far from zero.
    largest = max(length_unit(block) for block in blocks())
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    origin = np.asarray(X[0:1], dtype=np.float64)[0] / largest
    mean = sum((block / largest - origin).sum(axis=0) for block in blocks()) / n
    gram = np.zeros((d, d), order="F")
    for block in blocks():
        centred = block / largest
        centred -= origin
        centred -= mean
        # dsyrk adds to the lower triangle in place; a matrix product would need a second matrix.
        gram = dsyrk(1.0, centred.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    return gram


def _row_gram(X: Sliced) -> Matrix:
    rows = np.asarray(X[:], dtype=np.float64)
    rows = rows / length_unit(rows)
    # Subtracting the first row makes rows that are all equal exactly zero, whatever the rounding of the mean.
    rows -= rows[0].copy()
    rows -= rows.mean(axis=0)
    rows /= max(float(rows.max()), -float(rows.min())) or 1.0
    return np.asarray(rows @ rows.T)


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
