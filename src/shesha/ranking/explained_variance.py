"""Variance in the data that models explain: each alone, each uniquely, and all together."""

from __future__ import annotations

import numpy as np

from shesha.ranking.row_and_subject_variance import Cube
from shesha.support.types import Matrix, Vector


def variance_shares(with_data: Matrix, among_models: Matrix) -> Cube:
    """Shares of the variance that models explain: each alone, each uniquely, and all together.

    Parameters
    ----------
    with_data : array of shape (n_subjects, n_models)
        Correlations between the data of each subject and each model.
    among_models : array of shape (n_models, n_models)
        Correlations between models.

    Returns
    -------
    array of shape (n_subjects, 2 n_models + 1)
        Columns are the share of each model alone, the unique share of each model, and the share of all models together.
    """
    n_models = with_data.shape[1]
    if not (np.isfinite(with_data).all() and np.isfinite(among_models).all()):
        return np.full((len(with_data), 2 * n_models + 1), np.nan)
    r_squared = _multiple_correlation(with_data, among_models)
    without = [
        _multiple_correlation(np.delete(with_data, k, axis=1), np.delete(np.delete(among_models, k, axis=0), k, axis=1))
        for k in range(n_models)
    ]
    unique = np.maximum(r_squared[:, None] - np.stack(without, axis=1), 0.0)
    return np.column_stack([with_data**2, unique, r_squared])


def _multiple_correlation(with_data: Matrix, among_models: Matrix) -> Vector:
    """Squared multiple correlation between each line of data and the models."""
    if not with_data.shape[1]:
        return np.zeros(len(with_data))
    inverse = np.linalg.pinv(among_models, rcond=1e-9, hermitian=True)
    r_squared: Vector = np.clip(np.einsum("si,ij,sj->s", with_data, inverse, with_data), 0.0, 1.0)
    return r_squared
