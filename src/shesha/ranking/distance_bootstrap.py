"""Bootstrap of the rows for measures of distances, by weights of pairs of rows."""

from __future__ import annotations

import numpy as np

from shesha.ranking.distance_vectors import DistanceVectors
from shesha.ranking.evaluations import Evaluations, Problem, complete_resamples
from shesha.ranking.resampled_correlations import STEP, resampled_correlations
from shesha.ranking.two_factors import Cube, Resampled, RowResamples
from shesha.support.progress import track
from shesha.support.types import Matrix, Vector


def evaluate_distances(
    problem: Problem, n_resamples: int, rng: np.random.Generator, vectors: DistanceVectors
) -> Evaluations:
    """Score every model and subject, on all rows and on bootstrap resamples.

    The weight of a pair of rows is the product of two random weights. The noise of pairs therefore counts three times
    in the variance over resamples, and twice in the variance of their first-order effects. Both variances together give
    the variance that counts it once. If pairs are sampled, the error from sampling is included.

    The mean of the other subjects is computed from all rows; only the rows on which it is evaluated are resampled.
    """
    observed = np.hstack(_values_and_shares(vectors, vectors.correlations(np.ones(vectors.n_pairs))))
    first, second = [], []
    resampled = resampled_correlations(vectors, n_resamples, rng)
    for moved, drawn in track(resampled, n_resamples, "resamples"):
        second.append(np.hstack(_values_and_shares(vectors, drawn)))
        first.append(observed + (np.hstack(_values_and_shares(vectors, moved)) - observed) / STEP)
    n = max(2, problem.n_units)
    kinds = (
        RowResamples(complete_resamples(first), n / (n - 1), 2.0),
        RowResamples(complete_resamples(second), n / (n - 1), 3.0),
    )
    results = Resampled(observed, kinds, n)
    n_values = len(problem.models) + (len(problem.subjects) > 1)
    columns = np.arange(observed.shape[1])
    return Evaluations(results.take(columns[:n_values]), len(problem.subjects) > 1, results.take(columns[n_values:]))


def _values_and_shares(vectors: DistanceVectors, correlations: Matrix) -> tuple[Matrix, Matrix]:
    with_subjects, among_models, with_others = vectors.split(correlations)
    columns = [vectors.score(with_subjects)]
    if len(with_others):
        columns.append(vectors.score(with_others)[:, None])
    return np.hstack(columns), variance_shares(with_subjects, among_models)


def variance_shares(with_data: Matrix, among_models: Matrix) -> Cube:
    """Shares of variance explained by models: each alone, each uniquely, and all together.

    Parameters
    ----------
    with_data : array of shape (n_subjects, n_models)
        Correlations of models with data.
    among_models : array of shape (n_models, n_models)
        Correlations between models.

    Returns
    -------
    array of shape (n_subjects, 2 n_models + 1)
        Columns are the shares of each model alone, the unique share of each model, and the share of all models.
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
    """Squared multiple correlation of each line of data with the models."""
    if not with_data.shape[1]:
        return np.zeros(len(with_data))
    inverse = np.linalg.pinv(among_models, rcond=1e-9, hermitian=True)
    r_squared: Vector = np.clip(np.einsum("si,ij,sj->s", with_data, inverse, with_data), 0.0, 1.0)
    return r_squared
