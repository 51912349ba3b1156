"""Bootstrap of the rows for measures of distances, by weights of pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.kernels.weighted_ranks import SortedVectors, weighted_correlations
from shesha.ranking.evaluations import Evaluations, Problem, complete_resamples
from shesha.ranking.two_factors import Cube, Resampled, RowResamples
from shesha.support import memory as memory
from shesha.support.progress import track
from shesha.support.types import Index, Matrix, Vector
from shesha.views import RankedRdm

_SMALL = 0.05
"""Step of the finite difference for the first-order effect of a resample."""


@dataclass(frozen=True)
class _Known:
    """Placeholder for two views with known inner products."""

    value: Matrix | Vector

    def inner(self, other: object) -> Matrix | Vector:
        return self.value


@dataclass(frozen=True)
class DistanceVectors:
    """Distances of the models, of the subjects, and of the mean without each subject, one line each."""

    problem: Problem
    lines: SortedVectors
    ranked: bool

    @classmethod
    def build(cls, problem: Problem) -> DistanceVectors:
        """Rank the distances of every representation once."""
        n, n_lines = problem.n_rows, len(problem.models) + 2 * len(problem.subjects)
        memory.require(8 * 6 * n_lines * n * (n - 1) // 2, "ranking models by distances", "use fewer rows")
        measure = problem.measure
        subjects = [measure.look(subject) for subject in problem.subjects]
        views = [
            *(measure.look(model) for model in problem.models.values()),
            *subjects,
            *_leave_one_out(measure, subjects),
        ]
        vectors = np.stack([view.ranks for view in views])  # type: ignore[attr-defined]
        ranked = measure.parameters.get("method", "spearman") == "spearman"
        return cls(problem, SortedVectors.build(vectors), ranked)

    def correlations(self, weights: Vector) -> Matrix:
        """Correlations between all lines, with weight weights[p] for pair p."""
        values = self.lines.ranks(weights) if self.ranked else self.lines.values
        return weighted_correlations(values, weights)

    def split(self, correlations: Matrix) -> tuple[Matrix, Matrix, Vector]:
        """Split correlations: models with subjects, models with models, subjects with the mean of other subjects."""
        n_models, n_subjects = len(self.problem.models), len(self.problem.subjects)
        subjects = slice(n_models, n_models + n_subjects)
        with_others = np.diagonal(correlations[subjects, n_models + n_subjects :])
        return correlations[subjects, :n_models], correlations[:n_models, :n_models], with_others

    def score(self, correlations: Matrix | Vector) -> Matrix:
        """Convert correlations to values of the measure."""
        both = _Known(correlations)
        return np.asarray(self.problem.measure.function(both, both, **self.problem.measure.parameters))


def _leave_one_out(measure: object, subjects: Sequence[object]) -> list[RankedRdm]:
    if len(subjects) < 2:
        return []
    kind, options = measure.view_key  # type: ignore[attr-defined]
    return [
        kind.average([rdm for j, rdm in enumerate(subjects) if j != k], **dict(options)) for k in range(len(subjects))
    ]


def pair_weights(counts: Index) -> Vector:
    """Weights of pairs i < j if row i occurs counts[i] times, without pairs of a row with itself."""
    i, j = np.triu_indices(len(counts), k=1)
    weights: Vector = (counts[i] * counts[j]).astype(np.float64)
    return weights


def _small_changes(counts: Index) -> Vector:
    """Weights close to 1 in the direction of a resample, to estimate its first-order effect."""
    i, j = np.triu_indices(len(counts), k=1)
    return np.asarray(1.0 + _SMALL * (counts[i] + counts[j] - 2.0), dtype=np.float64)


def evaluate_distances(problem: Problem, n_resamples: int, rng: np.random.Generator) -> Evaluations:
    """Score every model and subject, on all rows and on bootstrap resamples.

    The noise of a pair of rows counts three times in the variance over resamples, and twice in that of their first
    order, since the weight of a pair is a product of two that vary; the two together say what counts it once.

    The mean of the other subjects is that of all rows: what is resampled is where it is tried.
    """
    vectors = DistanceVectors.build(problem)
    observed = np.hstack(_values_and_shares(vectors, np.ones(problem.n_rows * (problem.n_rows - 1) // 2)))
    first, second = [], []
    for _ in track(range(n_resamples), n_resamples, "resamples"):
        counts = problem.design.resample(rng)
        second.append(np.hstack(_values_and_shares(vectors, pair_weights(counts))))
        moved = np.hstack(_values_and_shares(vectors, _small_changes(counts)))
        first.append(observed + (moved - observed) / _SMALL)
    n = max(2, problem.n_units)
    kinds = (
        RowResamples(complete_resamples(first), n / (n - 1), 2.0),
        RowResamples(complete_resamples(second), n / (n - 1), 3.0),
    )
    results = Resampled(observed, kinds, n)
    n_values = len(problem.models) + (len(problem.subjects) > 1)
    columns = np.arange(observed.shape[1])
    return Evaluations(results.take(columns[:n_values]), len(problem.subjects) > 1, results.take(columns[n_values:]))


def _values_and_shares(vectors: DistanceVectors, weights: Vector) -> tuple[Matrix, Matrix]:
    with_subjects, among_models, with_others = vectors.split(vectors.correlations(weights))
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

    Returns
    -------
    array of shape (n_subjects, 2 n_models + 1)
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
