"""Comparison of models with chance, by permuting rows in the same way for all models and subjects."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from shesha.calibration.permutation_scores import grids
from shesha.nulls.max_statistic import max_statistic_p_values
from shesha.nulls.permutations import identity_first
from shesha.ranking.problem_and_evaluations import Problem
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Seed

_PERMUTING = 22


def chance_p_values(
    problem: Problem, n_permutations: int, alpha: float, seed: Seed, notes: list[str]
) -> tuple[Matrix, str]:
    """Return each model's p-value against permuted rows, raw and corrected for the number of models."""
    empty = np.full((len(problem.models), 2), np.nan)
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
    draws = _permuted_means(problem, orders)
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


def _permuted_means(problem: Problem, orders: Sequence[Index]) -> Matrix:
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
