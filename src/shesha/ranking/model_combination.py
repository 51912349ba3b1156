"""Non-negative weights of several models, cross-validated over rows and subjects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from shesha.kernels.weighted_ranks import SortedVectors, weighted_correlations
from shesha.ranking.distance_bootstrap import DistanceVectors
from shesha.ranking.evaluations import Problem
from shesha.results.similarity.model_ranking import ModelCombination
from shesha.support.types import Index, Matrix, Vector

_REPEATS = 10
"""Number of random divisions into folds, because the held-out value varies with them."""
_FEWEST = 4
"""Smallest number of rows of a test fold; fewer rows have too few pairs."""


@dataclass(frozen=True)
class _Fold:
    """Training and test sets of pairs and subjects."""

    train: Vector
    test: Vector
    train_subjects: Index
    test_subjects: Index


def combine_models(problem: Problem, rng: np.random.Generator) -> ModelCombination | None:
    """Fit non-negative weights of the models, and score them on held-out data; None for one model or few rows."""
    if len(problem.models) < 2 or problem.n_units < 2 * _FEWEST:
        return None
    vectors = DistanceVectors.build(problem)
    folds = [fold for _ in range(_REPEATS) for fold in _folds(problem, rng)]
    weights, held_out = zip(*(_try_fold(vectors, fold) for fold in folds), strict=True)
    scores = np.nanmean(np.stack(held_out), axis=0)
    singles = scores[1:]
    best = int(np.nanargmax(singles) if problem.measure.higher_is_closer else np.nanargmin(singles))
    mean = np.mean(np.stack(weights), axis=0)
    return ModelCombination(
        value=float(scores[0]),
        best_single=problem.names[best],
        best_single_value=float(singles[best]),
        weights=dict(zip(problem.names, mean.tolist(), strict=True)),
        n_folds=len(folds) // _REPEATS,
        n_divisions=_REPEATS,
    )


def n_row_folds(n_units: int) -> int:
    """Number of folds, by the rule of rsatoolbox: more folds if each has enough rows."""
    return 2 if n_units < 12 else 3 if n_units < 24 else 4 if n_units < 40 else 5


def _folds(problem: Problem, rng: np.random.Generator) -> Iterator[_Fold]:
    """Divide rows (or groups) and subjects at random; every row is tested once with every subject."""
    clusters, n_subjects = problem.design.clusters, len(problem.subjects)
    parts = rng.permutation(problem.n_units) % n_row_folds(problem.n_units)
    of_row = parts[clusters]
    i, j = np.triu_indices(problem.n_rows, k=1)
    subjects = np.arange(n_subjects)
    of_subject = rng.permutation(n_subjects) % min(n_subjects, 5)
    for row_fold in range(parts.max() + 1):
        inside = of_row == row_fold
        train, test = ((mask[i] & mask[j]).astype(float) for mask in (~inside, inside))
        for subject_fold in range(of_subject.max() + 1):
            test_subjects = subjects[of_subject == subject_fold]
            others = subjects[of_subject != subject_fold] if n_subjects > 1 else test_subjects
            yield _Fold(train, test, others, test_subjects)


def _try_fold(vectors: DistanceVectors, fold: _Fold) -> tuple[Vector, Vector]:
    """Return the weights, and held-out scores of the combination and of each model alone."""
    n_models = len(vectors.problem.models)
    lines = vectors.lines.values
    models, subjects = lines[:n_models], lines[n_models:]
    weights = fit_weights(models[:, fold.train > 0], subjects[fold.train_subjects][:, fold.train > 0])
    tried = np.vstack([weights @ models, models])[:, fold.test > 0]
    data = subjects[fold.test_subjects][:, fold.test > 0]
    return weights, _held_out_scores(vectors, tried, data)


def fit_weights(models: Matrix, data: Matrix) -> Vector:
    """Non-negative model weights with sum 1 that best fit the mean of the data (one line each)."""
    target = _standardise(data).mean(axis=0)
    weights, _ = nnls(_standardise(models).T, target)
    scaled: Vector = weights / _lengths(models)
    return scaled / scaled.sum() if scaled.sum() > 0 else np.full(len(models), 1 / len(models))


def _lengths(lines: Matrix) -> Vector:
    norms: Vector = np.linalg.norm(lines - lines.mean(axis=1, keepdims=True), axis=1)
    return np.where(norms > 0, norms, 1.0)


def _standardise(lines: Matrix) -> Matrix:
    centred: Matrix = (lines - lines.mean(axis=1, keepdims=True)) / _lengths(lines)[:, None]
    return centred


def _held_out_scores(vectors: DistanceVectors, tried: Matrix, data: Matrix) -> Vector:
    """Mean score of each line over the held-out subjects."""
    together, weights = np.vstack([tried, data]), np.ones(tried.shape[1])
    values = SortedVectors.build(together).ranks(weights) if vectors.ranked else together
    correlations = weighted_correlations(values, weights)[len(tried) :, : len(tried)]
    scores: Vector = vectors.score(correlations).mean(axis=0)
    return scores
