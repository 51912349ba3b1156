"""Rank correlations of columns, after regression on the ranks of other columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from shesha.support.types import Matrix, Vector

_EXPLAINED = 1e-10
"""Residuals below this share of the ranks' norm are rounding errors."""


def partial_rank_correlations(values: Matrix, target: int, held: Sequence[int]) -> Vector:
    """Rank correlations of all columns with one, after regression on the ranks of `held`; NaN where these explain all.

    A single correlation of two columns, and many of one target, follow the same rule: ranks are centred, those of the
    columns `held` are regressed out of all others, and the cosines of the residuals are the correlations.
    """
    residuals = residual_ranks(rank_columns(values), held)
    return cosines(residuals, residuals[:, target])


def rank_columns(values: Matrix) -> Matrix:
    """Centred ranks of each column; ties share their mean rank."""
    ranks = rankdata(values, axis=0)
    return np.asarray(ranks - ranks.mean(axis=0))


def residual_ranks(ranks: Matrix, held: Sequence[int]) -> Matrix:
    """Residual ranks after regression on some of the columns; zero if these explain the ranks up to rounding."""
    if not len(held):
        return ranks
    basis = ranks[:, list(held)]
    residuals = ranks - basis @ np.linalg.lstsq(basis, ranks, rcond=None)[0]
    tiny = np.linalg.norm(residuals, axis=0) <= _EXPLAINED * np.linalg.norm(ranks, axis=0)
    return np.where(tiny, 0.0, residuals)


def cosines(columns: Matrix, target: Vector) -> Vector:
    """Cosine of each column with a vector; NaN if either is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(columns.T @ target / (np.linalg.norm(columns, axis=0) * np.linalg.norm(target)))
