"""Find interactions of covariates in residuals, where the effect of one covariate depends on another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from shesha.support.types import Matrix
from shesha.views import Covariates

_DRAWS, _LEVEL = 199, 0.005
"""Number of permutations, and the p-value that both sides must reach to report an interaction."""
_MOST_ROWS = 2048
"""Maximum number of rows that a test uses."""
_MOST_COLUMNS = 16
"""Maximum number of columns that the product of two covariates may have to be tested."""
_DISTINCT = 1e-6
"""Smallest part of a product's direction, beyond the covariates themselves, that is worth testing."""


def interactions(rows: Sequence[Matrix], covariates: Covariates) -> list[tuple[str, str]]:
    """Return pairs of covariates on whose product the residuals of both sides still depend.

    The share of the residuals' variance along the product is compared with the shares along permuted products. The
    covariates are regressed out of the permuted products, because residuals have no variance along the covariates.

    Parameters
    ----------
    rows : sequence of arrays of shape (n_samples, n_features)
        Residuals of each side.
    covariates : Covariates
        Covariates that were regressed out of both sides.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 100))
    >>> covariates = Covariates.build({"a": a, "b": b}, 100)
    >>> noise, follows = rng.standard_normal((100, 5)), rng.standard_normal((100, 5)) + (a * b)[:, None]
    >>> len(interactions([follows, follows], covariates)), len(interactions([follows, noise], covariates))
    (1, 0)
    """
    rng = np.random.default_rng(0)
    n = len(rows[0])
    chosen = np.arange(n) if n <= _MOST_ROWS else np.sort(rng.choice(n, _MOST_ROWS, replace=False))
    basis = np.linalg.qr(np.column_stack([np.ones(len(chosen)), covariates.basis[chosen]]))[0]
    sides = [_residuals(side[chosen], basis) for side in rows]
    pairs = []
    for first, second in combinations(covariates.parts, 2):
        products = _products(covariates.parts[first][chosen], covariates.parts[second][chosen], basis)
        if not products.shape[1]:
            continue
        drawn = (products, *(products[rng.permutation(len(chosen))] for _ in range(_DRAWS)))
        directions = [np.linalg.qr(_residuals(product, basis))[0] for product in drawn]
        if all(_p_value(directions, side) <= _LEVEL for side in sides):
            pairs.append((first, second))
    return pairs


def _products(a: Matrix, b: Matrix, basis: Matrix) -> Matrix:
    """Return orthonormal directions of the products of two covariates, beyond the covariates themselves."""
    if a.shape[1] * b.shape[1] > _MOST_COLUMNS:
        return np.empty((len(a), 0))
    products = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
    u, sizes, _ = np.linalg.svd(_residuals(products, basis), full_matrices=False)
    return np.asarray(u[:, sizes > _DISTINCT * float(np.linalg.norm(products))])


def _residuals(columns: Matrix, basis: Matrix) -> Matrix:
    return np.asarray(columns - basis @ (basis.T @ columns))


def _p_value(directions: Sequence[Matrix], side: Matrix) -> float:
    """Return the p-value of the first set of directions, compared with the permuted sets that follow."""
    projections = (np.concatenate(directions, axis=1).T @ side) ** 2
    shares = projections.sum(axis=1).reshape(len(directions), -1).sum(axis=1)
    return float(np.mean(shares >= shares[0]))
