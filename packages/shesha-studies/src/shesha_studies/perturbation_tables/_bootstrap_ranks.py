"""Rank correlations of bootstrap resamples of a table, computed without sorting each resample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Matrix, Vector

_ENTRIES = 1 << 22
"""Number of array entries in one batch of resamples."""
_NOTHING_LEFT = 1e-10
"""Unexplained share of a variance below which covariates count as explaining all of it."""


def bootstrap_rank_correlations(columns: Matrix, n_bootstrap: int, rng: np.random.Generator) -> Vector:
    """Return the rank correlation of the first two columns, given the others, for each resample.

    Parameters
    ----------
    columns : array of shape (n, p)
        At least two columns; the third and later ones are covariates.
    n_bootstrap : int
        Number of resamples, with replacement.
    rng : numpy Generator
        Random number generator for the resamples.

    Returns
    -------
    ndarray of shape (n_bootstrap,)
        Rank correlations; NaN for resamples in which one of the first two columns is constant or fully explained by the
        covariates.
    """
    n, p = columns.shape
    size = max(1, _ENTRIES // (n * p))
    parts = []
    for start in range(0, n_bootstrap, size):
        chosen = rng.integers(n, size=(min(size, n_bootstrap - start), n))
        parts.append(rank_correlations(columns, _counts(chosen, n)))
    return np.concatenate(parts)


def rank_correlations(columns: Matrix, counts: NDArray[np.intp]) -> Vector:
    """Return the rank correlation of the first two columns, given the others, for rows with counts.

    Parameters
    ----------
    columns : array of shape (n, p)
    counts : array of shape (n_resamples, n)
        Number of copies of each row in each resample.

    Returns
    -------
    ndarray of shape (n_resamples,)
    """
    ranks = np.stack([_midranks(column, counts) for column in columns.T], axis=1)
    weights = counts / counts.sum(axis=1, keepdims=True)
    ranks -= np.einsum("bpn,bn->bp", ranks, weights)[:, :, None]
    return partial_correlations((ranks * weights[:, None]) @ ranks.swapaxes(1, 2))


def partial_correlations(covariances: NDArray[np.float64]) -> Vector:
    """Return the correlation of the first two variables, given the others, from covariances (b, p, p)."""
    covariance = covariances[:, :2, :2]
    if covariances.shape[1] > 2:
        cross = covariances[:, :2, 2:]
        # The pseudoinverse ignores covariates that are constant in a resample or collinear with others.
        inverse = np.linalg.pinv(covariances[:, 2:, 2:], rcond=_NOTHING_LEFT, hermitian=True)
        covariance = covariance - cross @ inverse @ cross.swapaxes(1, 2)
    variances, before = (np.diagonal(matrix, axis1=1, axis2=2)[:, :2] for matrix in (covariance, covariances))
    # Ranks that vary have a variance of about 1 or more, so a far smaller variance is rounding error.
    is_explained = np.any(variances <= _NOTHING_LEFT * np.maximum(before, 1.0), axis=1)
    scale = np.sqrt(np.where(is_explained[:, None], 1.0, variances)).prod(axis=1)
    return np.where(is_explained, np.nan, np.clip(covariance[:, 0, 1] / scale, -1.0, 1.0))


def _counts(chosen: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    rows = np.arange(len(chosen))[:, None] * n
    return np.bincount((rows + chosen).ravel(), minlength=len(chosen) * n).reshape(len(chosen), n)


def _midranks(values: Vector, counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the rank of each row among the rows in each resample, with mean ranks for ties."""
    distinct, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(distinct)))
    totals = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.cumsum(totals, axis=1) - (totals - 1) / 2
    return np.asarray(ranks[:, codes], dtype=np.float64)
