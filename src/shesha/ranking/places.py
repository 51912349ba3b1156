"""The models in order, each with the range of ranks that the pairwise tests allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.ranking.problem_and_evaluations import Evaluations, Problem
from shesha.results.base import reaches_level
from shesha.results.similarity.model_ranking import ModelDifference, RankedModel
from shesha.support.types import Matrix, Vector


def rank_with_ties(
    problem: Problem,
    evaluations: Evaluations,
    pairs: Sequence[ModelDifference],
    chance: Matrix,
    alpha: float,
    confidence: float,
) -> tuple[RankedModel, ...]:
    """Return the models, closest first, each with its range of ranks given the significant differences."""
    sign = 1.0 if problem.measure.higher_is_closer else -1.0
    low, high = problem.measure.bounds
    better, worse = _beaten(problem, pairs, sign, alpha)
    n, values = len(problem.models), evaluations.models
    lines = _Lines.build(evaluations, confidence, problem.measure.higher_is_closer)
    listed = [
        RankedModel(
            name,
            float(values.means[k]),
            *(float(np.clip(lines.low[k], low, high)), float(np.clip(lines.high[k], low, high))),
            *(1 + better[name], n - worse[name]),
            *(float(number) for number in (*chance[k], lines.p_ceiling[k], *lines.shares[k])),
        )
        for k, name in enumerate(problem.names)
    ]
    return tuple(sorted(listed, key=lambda model: -sign * model.value if model.value == model.value else np.inf))


def _beaten(
    problem: Problem, pairs: Sequence[ModelDifference], sign: float, alpha: float
) -> tuple[dict[str, int], dict[str, int]]:
    """For each model, count the significantly better models and the significantly worse ones."""
    better, worse = dict.fromkeys(problem.names, 0), dict.fromkeys(problem.names, 0)
    for pair in pairs:
        if reaches_level(pair.corrected_p_value, alpha):
            first, second = (pair.first, pair.second) if sign * pair.difference > 0 else (pair.second, pair.first)
            worse[first] += 1
            better[second] += 1
    return better, worse


@dataclass(frozen=True)
class _Lines:
    """Additional results for each model."""

    low: Vector
    high: Vector
    p_ceiling: Vector
    shares: Matrix
    """Variance explained alone, variance explained uniquely, and the interval limits of the latter."""

    @classmethod
    def build(cls, evaluations: Evaluations, confidence: float, higher_is_closer: bool) -> _Lines:
        n = evaluations.n_models
        empty, resampled = np.full(n, np.nan), evaluations.values.n_resamples > 0
        low, high = evaluations.models.intervals(confidence) if resampled else (empty, empty)
        p_ceiling = empty
        if evaluations.has_ceiling and resampled:
            p_ceiling = evaluations.gap_to_ceiling.p_values("below" if higher_is_closer else "above")
        if (shares := evaluations.shares) is None:
            return cls(low, high, p_ceiling, np.full((n, 4), np.nan))
        means = shares.means
        ends = shares.intervals(confidence) if shares.n_resamples else [np.full(2 * n + 1, np.nan)] * 2
        unique_low, unique_high = (end[n : 2 * n] for end in ends)
        return cls(
            low,
            high,
            p_ceiling,
            np.column_stack([means[:n], means[n : 2 * n], np.maximum(unique_low, 0), np.minimum(unique_high, 1)]),
        )
