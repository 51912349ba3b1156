"""Scores on random subsets of the rows, for measures that repeated rows would bias."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.ranking.problem_and_evaluations import Evaluations, Problem, complete_resamples
from shesha.ranking.row_and_subject_variance import Resampled, RowResamples
from shesha.support.progress import track
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, View, aligned

_KEPT = (0.8, 0.5)
"""Shares of the rows in the subsets. Two sizes are needed because, in smaller subsets, the variance of means over pairs
of rows grows faster than the variance of means over rows."""


def evaluate_subsets(problem: Problem, n_resamples: int, rng: np.random.Generator) -> Evaluations:
    """Score every model and subject, on all rows and on subsets of rows (or groups) of two sizes."""
    values, has_ceiling = _values(problem, None)
    first, second = (_score_subsets(problem, share, values.shape, n_resamples, rng) for share in _KEPT)
    return Evaluations(Resampled(values, (first, second), problem.n_units), has_ceiling)


def _score_subsets(
    problem: Problem, share: float, shape: tuple[int, ...], n_resamples: int, rng: np.random.Generator
) -> RowResamples:
    """Score random subsets with this share of the rows, to be scaled by a finite-population correction."""
    clusters, n = problem.design.clusters, problem.n_units
    if n < 2:
        return RowResamples(np.empty((0, *shape)), 1.0, 1.0)
    n_kept = min(n - 1, max(2, round(share * n)))
    resamples = []
    for _ in track(range(n_resamples), n_resamples, f"subsets of {n_kept} of {n} rows"):
        kept = rng.choice(n, n_kept, replace=False)
        resamples.append(_values_or_nan(problem, np.flatnonzero(np.isin(clusters, kept)), shape))
    return RowResamples(complete_resamples(resamples), n_kept / (n - n_kept), 1 + n / n_kept)


def _values_or_nan(problem: Problem, rows: Index, shape: tuple[int, ...]) -> Matrix:
    try:
        values = _values(problem, rows)[0]
    except (NotEstimable, np.linalg.LinAlgError):
        return np.full(shape, np.nan)
    return values if values.shape == shape else np.full(shape, np.nan)


def _values(problem: Problem, rows: Index | None) -> tuple[Matrix, bool]:
    """Score the models and, if possible, each subject against the mean of the other subjects."""
    measure = problem.measure
    models = [model if rows is None else model.take_rows(rows) for model in problem.models.values()]
    subjects = [subject if rows is None else subject.take_rows(rows) for subject in problem.subjects]
    with single_threaded_blas():
        values = np.array([[compare_sides(measure, model, subject) for model in models] for subject in subjects])
        ceiling = _leave_one_out_scores(measure, subjects)
    return (values, False) if ceiling is None else (np.column_stack([values, ceiling]), True)


def compare_sides(measure: Measure, model: Representation, subject: Representation) -> float:
    """Compare a model with a subject; both representations cache their views."""
    a, b = aligned(model, subject, measure.view.folding, anywhere=measure.anywhere)
    measure.require_comparable(a, b)
    return measure.compare_views(measure.look(a), measure.look(b))


def _leave_one_out_scores(measure: Measure, subjects: Sequence[Representation]) -> list[float] | None:
    """Score each subject against the mean of the others; None if the measure cannot average subjects."""
    if len(subjects) < 2:
        return None
    views = [measure.look(subject) for subject in subjects]
    scores = []
    for k, view in enumerate(views):
        mean = _mean(measure, subjects, views, k)
        if mean is None:
            return None
        scores.append(measure.compare_views(mean, view))
    return scores


def _mean(measure: Measure, subjects: Sequence[Representation], views: Sequence[View], left_out: int) -> View | None:
    others = [j for j in range(len(views)) if j != left_out]
    kind, options = measure.view_key
    mean = kind.average([views[j] for j in others], **dict(options))
    if mean is not None:
        return mean
    if any(subject.has_distances_only for subject in subjects) or len({subject.shape for subject in subjects}) > 1:
        return None
    rows = np.mean([subjects[j].rows for j in others], axis=0)
    return measure.look(Representation(rows, max(subject.precision for subject in subjects)))
