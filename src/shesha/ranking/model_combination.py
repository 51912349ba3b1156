"""Non-negative weights for several models, cross-validated over rows and subjects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from shesha.kernels.ranks import SortedVectors, weighted_correlations
from shesha.ranking.distance_vectors import DistanceVectors
from shesha.ranking.problem_and_evaluations import Problem
from shesha.results.similarity.model_ranking import ModelCombination
from shesha.support.types import Index, Matrix, Vector

_REPEATS = 10
"""Number of random divisions into folds. Several are needed, because the held-out value varies between divisions."""
_FEWEST = 4
"""Smallest number of rows in a test fold; fewer rows would give too few pairs."""

MOST_PAIRS = 200_000
"""Largest number of pairs in the folds. If there are more, a random sample is used, with an error of about 0.002."""


@dataclass(frozen=True)
class _Fold:
    """Training and test pairs of rows, and the sets of training and test subjects to combine them with."""

    train: Vector
    test: Vector
    subjects: tuple[tuple[Index, Index], ...]


def combine_models(problem: Problem, rng: np.random.Generator, vectors: DistanceVectors) -> ModelCombination | None:
    """Fit non-negative model weights and score them on held-out data; None for one model or few rows."""
    if len(problem.models) < 2 or problem.n_units < 2 * _FEWEST:
        return None
    if vectors.n_pairs > MOST_PAIRS and not problem.exact:
        vectors = vectors.take(np.sort(rng.choice(vectors.n_pairs, MOST_PAIRS, replace=False)))
    folds = [fold for _ in range(_REPEATS) for fold in _folds(vectors, rng)]
    weights, held_out = zip(*(tried for fold in folds for tried in _try_fold(vectors, fold)), strict=True)
    scores = np.nanmean(np.stack(held_out), axis=0)
    singles = scores[1:]
    best = int(np.nanargmax(singles) if problem.measure.higher_is_closer else np.nanargmin(singles))
    mean = np.mean(np.stack(weights), axis=0)
    return ModelCombination(
        value=float(scores[0]),
        best_single=problem.names[best],
        best_single_value=float(singles[best]),
        weights=dict(zip(problem.names, mean.tolist(), strict=True)),
        n_folds=len(weights) // _REPEATS,
        n_divisions=_REPEATS,
    )


def n_row_folds(n_units: int) -> int:
    """Number of folds, following rsatoolbox: more folds if each still has enough rows."""
    return 2 if n_units < 12 else 3 if n_units < 24 else 4 if n_units < 40 else 5


def _folds(vectors: DistanceVectors, rng: np.random.Generator) -> Iterator[_Fold]:
    """Divide rows (or groups) and subjects at random; every row is tested once with every subject."""
    problem = vectors.problem
    clusters, n_subjects = problem.design.clusters, len(problem.subjects)
    parts = rng.permutation(problem.n_units) % n_row_folds(problem.n_units)
    of_row = parts[clusters]
    of_subject = rng.permutation(n_subjects) % min(n_subjects, 5)
    for row_fold in range(parts.max() + 1):
        inside = of_row == row_fold
        train, test = ((mask[vectors.i] & mask[vectors.j]).astype(float) for mask in (~inside, inside))
        yield _Fold(train, test, tuple(_subject_folds(n_subjects, of_subject)))


def _subject_folds(n_subjects: int, of_subject: Index) -> Iterator[tuple[Index, Index]]:
    """Yield the training and the test subjects of each fold; a single subject serves as both."""
    subjects = np.arange(n_subjects)
    for fold in range(of_subject.max() + 1):
        tested = subjects[of_subject == fold]
        yield (subjects[of_subject != fold] if n_subjects > 1 else tested), tested


def _try_fold(vectors: DistanceVectors, fold: _Fold) -> Iterator[tuple[Vector, Vector]]:
    """For each set of subjects, yield the weights and the held-out scores of combination and models."""
    n_models, n_subjects = len(vectors.problem.models), len(vectors.problem.subjects)
    lines = vectors.lines.values[: n_models + n_subjects]
    models = lines[:n_models, fold.train > 0]
    unit, lengths = _standardise(lines[:, fold.train > 0]), _lengths(models)
    held_out = lines[:, fold.test > 0]
    ranks = _rank_lines(vectors, held_out)
    for trained, tested in fold.subjects:
        weights = _weights(unit[:n_models], unit[n_models:][trained].mean(axis=0), lengths)
        combined = _rank_lines(vectors, (weights @ held_out[:n_models])[None])
        yield weights, _scores(vectors, np.vstack([combined, ranks[:n_models]]), ranks[n_models:][tested])


def _weights(unit_models: Matrix, target: Vector, lengths: Vector) -> Vector:
    """Non-negative model weights that best fit the target, scaled to sum 1."""
    weights, _ = nnls(unit_models.T, target)
    scaled: Vector = weights / lengths
    return scaled / scaled.sum() if scaled.sum() > 0 else np.full(len(lengths), 1 / len(lengths))


def _lengths(lines: Matrix) -> Vector:
    norms: Vector = np.linalg.norm(lines - lines.mean(axis=1, keepdims=True), axis=1)
    return np.where(norms > 0, norms, 1.0)


def _standardise(lines: Matrix) -> Matrix:
    centred: Matrix = (lines - lines.mean(axis=1, keepdims=True)) / _lengths(lines)[:, None]
    return centred


def _rank_lines(vectors: DistanceVectors, lines: Matrix) -> Matrix:
    return SortedVectors.build(lines).ranks(np.ones(lines.shape[1])) if vectors.ranked else lines


def _scores(vectors: DistanceVectors, tried: Matrix, data: Matrix) -> Vector:
    """Mean score of each line over the held-out subjects."""
    correlations = weighted_correlations(np.vstack([tried, data]), np.ones(tried.shape[1]))
    scores: Vector = vectors.score(correlations[len(tried) :, : len(tried)]).mean(axis=0)
    return scores
