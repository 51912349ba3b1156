"""Bootstrap of the rows for measures of distances, by weighting pairs of rows."""

from __future__ import annotations

import numpy as np

from shesha.ranking.distance_vectors import DistanceVectors
from shesha.ranking.explained_variance import variance_shares
from shesha.ranking.problem_and_evaluations import Evaluations, Problem, complete_resamples
from shesha.ranking.resampled_correlations import STEP, resampled_correlations
from shesha.ranking.row_and_subject_variance import Resampled, RowResamples
from shesha.support.progress import track
from shesha.support.types import Matrix


def evaluate_distances(
    problem: Problem, n_resamples: int, rng: np.random.Generator, vectors: DistanceVectors
) -> Evaluations:
    """Score every model and subject, on all rows and on bootstrap resamples.

    The weight of a pair of rows is the product of two random weights. The variance over resamples therefore counts the
    noise of pairs three times, and the variance of the resamples' first-order effects counts it twice. Combining the
    two variances gives the variance that counts it once. If pairs are sampled, the sampling error is included.

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
