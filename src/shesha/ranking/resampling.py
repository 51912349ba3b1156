"""Model rankings on resamples of the rows: bootstrap, subsets, permutations, and the variance that models explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np

from shesha.calibration.permutation_scores import grids
from shesha.kernels.ranks import correlation_influence
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.nulls.null_summary import max_statistic_p_values
from shesha.nulls.permutations import identity_first
from shesha.ranking.flexible_models import Cube
from shesha.ranking.problem import (
    DistanceVectors,
    Evaluations,
    Problem,
    Resampled,
    RowResamples,
    cells,
    complete_resamples,
)
from shesha.support.progress import best_answer, track
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, View, aligned

STEP = 0.05
"""Step of the finite difference that gives the first-order effect of a resample."""
RANKED_AGAIN = 11_175
"""Largest number of pairs (150 rows) whose distances are ranked again in every resample. With more pairs, the
correlations are changed by the influence of each pair; the error of this approximation shrinks faster than the
interval."""
_AT_ONCE = 1 << 24
"""Largest number of row counts that are held in memory at a time."""
_BLOCK = 1 << 21
"""Number of pair weights that are computed at a time, small enough for the processor's cache."""


def correlations_of_resamples(
    vectors: DistanceVectors, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Matrix, Matrix]]:
    """For each resample, yield the correlations after a small step towards it, and those at the resample."""
    if vectors.n_pairs > RANKED_AGAIN and not vectors.problem.exact and vectors.known is None:
        yield from _influence_estimates(vectors, n_resamples, rng)
        return
    for _ in range(n_resamples):
        counts = vectors.problem.design.resample(rng)
        drawn = vectors.correlations(pair_weights(counts, vectors.i, vectors.j))
        yield vectors.correlations(_small_changes(counts, vectors.i, vectors.j)), drawn


def pair_weights(counts: Index, i: Index, j: Index) -> Vector:
    """Weights of pairs if row i occurs counts[i] times, without pairs of a row with its copy."""
    weights: Vector = (counts[i] * counts[j]).astype(np.float64)
    return weights


def _small_changes(counts: Index, i: Index, j: Index) -> Vector:
    """Weights near 1 in the direction of a resample, from which its first-order effect is estimated."""
    return np.asarray(1.0 + STEP * (counts[i] + counts[j] - 2.0), dtype=np.float64)


def _influence_estimates(
    vectors: DistanceVectors, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Matrix, Matrix]]:
    """Change the correlations by the mean influence of the weighted pairs, without ranking again."""
    problem, n = vectors.problem, vectors.problem.n_rows
    places = cells(len(problem.models), len(problem.subjects))
    observed = vectors.correlations(np.ones(vectors.n_pairs))
    influence = correlation_influence(vectors.lines, places, ranked=vectors.ranked)
    of_rows = np.stack([np.bincount(vectors.i, line, n) + np.bincount(vectors.j, line, n) for line in influence])
    rows, columns = np.array(places).T

    def add_change(change: Vector) -> Matrix:
        correlations = observed.copy()
        correlations[rows, columns] = np.clip(correlations[rows, columns] + change, -1.0, 1.0)
        correlations[columns, rows] = correlations[rows, columns]
        return correlations

    weighed = np.vstack([influence, np.ones(vectors.n_pairs)])
    step = max(1, _AT_ONCE // n)
    for start in range(0, n_resamples, step):
        counts = np.array([problem.design.resample(rng) for _ in range(min(step, n_resamples - start))])
        small = STEP * (counts - 1.0) @ of_rows.T / vectors.n_pairs
        *sums, total = _weighted_sums(vectors, weighed, counts)
        for one, change in zip(small, np.transpose(sums / np.where(total > 0, total, np.nan)), strict=True):
            yield add_change(one), add_change(change)


def _weighted_sums(vectors: DistanceVectors, lines: Matrix, counts: Index) -> Matrix:
    """Sum each line over pairs, weighted by the product of both rows' counts: one column per resample."""
    of_rows = np.ascontiguousarray(counts.T, dtype=np.float64)
    sums = np.zeros((len(lines), len(counts)))
    step = max(1, _BLOCK // (8 * len(counts)))
    for start in range(0, vectors.n_pairs, step):
        block = slice(start, start + step)
        weights = of_rows[vectors.i[block]]
        weights *= of_rows[vectors.j[block]]
        sums += lines[:, block] @ weights
    return sums


_DEPENDENT = 1e-9
"""Relative eigenvalue of the correlations between models below which the models are linearly dependent."""


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
    with np.errstate(divide="ignore", invalid="ignore"):
        r_squared, lost = _variance_shares(with_data, among_models)
    unique = np.maximum(np.clip(r_squared, 0.0, 1.0)[:, None] - np.clip(r_squared[:, None] - lost, 0.0, 1.0), 0.0)
    return np.column_stack([with_data**2, unique, np.clip(r_squared, 0.0, 1.0)])


def _variance_shares(with_data: Matrix, among_models: Matrix) -> tuple[Vector, Matrix]:
    """Squared multiple correlation of each line of data with the models, and its loss without each model.

    If the models are linearly independent, the loss is the squared weight of the model divided by its entry on the
    diagonal of the inverse correlations. Otherwise, the other models are fitted again.
    """
    values, axes = np.linalg.eigh(among_models)
    kept = np.abs(values) > _DEPENDENT * np.abs(values).max()
    inverse = (axes[:, kept] / values[kept]) @ axes[:, kept].T
    weights = with_data @ inverse
    r_squared = (weights * with_data).sum(axis=1)
    if kept.all():
        return r_squared, weights**2 / np.diag(inverse)
    models = range(with_data.shape[1])
    others = [np.delete(models, k) for k in models]
    without = [_variance_shares(with_data[:, o], among_models[np.ix_(o, o)])[0] if len(o) else 0.0 for o in others]
    return r_squared, r_squared[:, None] - np.stack(without, axis=1)


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
    resampled = correlations_of_resamples(vectors, n_resamples, rng)
    with best_answer(lambda: _describe_models(problem, observed)):
        for moved, drawn in track(resampled, n_resamples, "resamples"):
            second.append(np.hstack(_values_and_shares(vectors, drawn)))
            first.append(observed + (np.hstack(_values_and_shares(vectors, moved)) - observed) / STEP)
    n = max(2, problem.n_units)
    kinds = (
        RowResamples(complete_resamples(first), n / (n - 1), 2.0),
        RowResamples(complete_resamples(second), n / (n - 1), 3.0),
    )
    results = Resampled(observed, kinds, n)
    n_values = len(problem.names) + (len(problem.subjects) > 1)
    columns = np.arange(observed.shape[1])
    return Evaluations(results.take(columns[:n_values]), len(problem.subjects) > 1, results.take(columns[n_values:]))


_SHOWN = 3
"""Number of models in the progress."""


def _describe_models(problem: Problem, values: Matrix) -> str:
    """Return the best models so far, for the progress."""
    mean = values.mean(axis=0)
    names = list(problem.models)
    best = sorted(range(len(names)), key=lambda k: -np.nan_to_num(mean[k]))[:_SHOWN]
    return "best so far: " + ", ".join(f"{names[k]} {mean[k]:.3g}" for k in best)


def _values_and_shares(vectors: DistanceVectors, correlations: Matrix) -> tuple[Matrix, Matrix]:
    with_subjects, among_models, with_others = vectors.split(correlations)
    columns = [vectors.score(with_subjects)]
    if len(with_others):
        columns.append(vectors.score(with_others)[:, None])
    return np.hstack(columns), variance_shares(with_subjects[:, : len(among_models)], among_models)


_KEPT = (0.8, 0.5)
"""Shares of the rows in the subsets. Two sizes are needed because, in smaller subsets, the variance of means over pairs
of rows grows faster than the variance of means over rows."""


def evaluate_subsets(problem: Problem, n_resamples: int, rng: np.random.Generator) -> Evaluations:
    """Score every model and subject, on all rows and on subsets of rows (or groups) of two sizes."""
    values, has_ceiling = _score_models(problem, None)
    with best_answer(lambda: _describe_models(problem, values)):
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
        values = _score_models(problem, rows)[0]
    except (NotEstimable, np.linalg.LinAlgError):
        return np.full(shape, np.nan)
    return values if values.shape == shape else np.full(shape, np.nan)


def _score_models(problem: Problem, rows: Index | None) -> tuple[Matrix, bool]:
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


_PERMUTING = 22


def chance_p_values(
    problem: Problem,
    n_permutations: int,
    alpha: float,
    seed: Seed,
    notes: list[str],
    vectors: DistanceVectors | None = None,
) -> tuple[Matrix, str]:
    """Return each model's p-value against permuted rows, raw and corrected for the number of models.

    Flexible models, which need the vectors, are fitted again to each permutation.
    """
    empty = np.full((len(problem.names), 2), np.nan)
    if not problem.measure.paired:
        notes.append(
            f"There are no p-values against chance, because {problem.measure.name} does not depend on the matching of "
            "rows."
        )
        return empty, ""
    try:
        problem.design.require_enough(n_permutations, alpha)
    except ValueError as reason:
        notes.append(f"There are no p-values against chance: {reason}.")
        return empty, ""
    orders = problem.design.draws(n_permutations, spawn(seed, _PERMUTING))
    draws = _means_of_permutations(problem, orders)
    if vectors is not None and problem.flexible:
        moved = [vectors.permute_models(order) for order in identity_first(orders)]
        scores = [each.score(each.split(each.correlations(np.ones(each.n_pairs)))[0]) for each in moved]
        draws = np.vstack([draws, np.mean(scores, axis=1)[:, len(draws) :].T])
    closer = [problem.measure.closer] * len(draws)
    if not np.isfinite(draws[:, 0]).all():
        return empty, problem.design.text
    alone = [max_statistic_p_values([draw], closer[:1])[0] for draw in draws]
    return np.column_stack([alone, max_statistic_p_values(list(draws), closer)]), problem.design.text


def fewer_rows(problem: Problem, n_pairs: int, rng: np.random.Generator) -> Problem:
    """Return the problem for a random subset of rows, with about `n_pairs` pairs at most.

    Exchangeable units keep the rows at the same positions, so they remain exchangeable. Units are dropped only if one
    row from each would be too many. Whole blocks are dropped only if two rows from each would be too many.
    """
    n_kept = int((1 + sqrt(1 + 8 * n_pairs)) / 2)
    exchanged = [units for units in problem.design.unit_arrays if len(units) > 1]
    if n_kept >= problem.n_rows or not exchanged:
        return problem
    order = np.sort(rng.permutation(len(exchanged))[: n_kept // 2])
    exchanged = [exchanged[place] for place in order]
    share = min(1.0, n_kept / sum(units.size for units in exchanged))
    kept = [_some_of_each(units, max(2, int(share * units.size)), rng) for units in exchanged]
    return problem.take(np.sort(np.concatenate(kept)))


def _some_of_each(units: Index, n_kept: int, rng: np.random.Generator) -> Index:
    """Keep the same random positions of as many units as possible, about `n_kept` rows in total."""
    width = max(1, n_kept // len(units))
    positions = np.sort(rng.choice(units.shape[1], width, replace=False))
    chosen = np.sort(rng.choice(len(units), min(len(units), n_kept // width), replace=False))
    return units[np.ix_(chosen, positions)].ravel()


def _means_of_permutations(problem: Problem, orders: Sequence[Index]) -> Matrix:
    """Mean over subjects for every model, first observed and then with permuted rows: one line per model."""
    measure, models = problem.measure, list(problem.models.values())
    if measure.symmetric:
        rows = [measure.look(subject) for subject in problem.subjects]
        columns = [measure.look(model) for model in models]
        means = [grid.mean(axis=0) for grid in grids(measure, rows, columns, identity_first(orders))]
        return np.stack(means, axis=1)
    # An asymmetric measure takes the model first, so the subjects are permuted instead, which matches rows equally.
    rows, columns = [measure.look(model) for model in models], [measure.look(subject) for subject in problem.subjects]
    return np.stack([grid.mean(axis=1) for grid in grids(measure, rows, columns, identity_first(orders))], axis=1)
