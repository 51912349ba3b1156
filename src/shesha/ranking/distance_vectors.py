"""Distances in models and subjects over all pairs of rows, or over random pairs if there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shesha.calibration.permutation_scores import KnownProduct
from shesha.kernels.distances import n_pairs
from shesha.kernels.pairs import distinct_pairs
from shesha.kernels.ranks import SortedVectors, weighted_correlations
from shesha.ranking.problem_and_evaluations import Problem
from shesha.stability.estimators.sampled_pairs import DEFAULT_PAIRS, sort_pairs
from shesha.support import memory
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.views import RankedRdm, Representation

_ARRAYS = 6
"""Number of arrays in memory that are as large as the distances: values, orders, ties, ranks and copies."""
_FEWEST = 10_000
"""Smallest number of pairs that are drawn, however small the memory budget is."""


@dataclass(frozen=True)
class DistanceVectors:
    """Distances of the models, of the subjects, and of the subjects' mean without each one: one line each."""

    problem: Problem
    lines: SortedVectors
    ranked: bool
    i: Index
    j: Index
    """Second row of each pair; `i` contains the first row."""
    known: Mask | None = None
    """Which distances each line knows; None if all are known."""
    ceiling_upper: float = float("nan")
    """Average value between a subject and the mean of all subjects, for sampled pairs; NaN if all pairs are used."""

    @classmethod
    def build(cls, problem: Problem, rng: np.random.Generator | None = None) -> DistanceVectors:
        """Rank the distances of every representation once; random pairs are drawn with `rng`."""
        n, measure = problem.n_rows, problem.measure
        n_lines = len(problem.models) + 2 * len(problem.subjects)
        per_pair = 8 * (_ARRAYS * n_lines + len(cells(len(problem.models), len(problem.subjects))))
        size = n_pairs(n) if problem.pairs is None else min(problem.pairs, n_pairs(n))
        if problem.pairs is None and rng is not None:
            size = min(size, DEFAULT_PAIRS, max(_FEWEST, memory.memory_budget() // per_pair))
        memory.require(per_pair * size, "ranking models by distances", "use fewer rows or request fewer pairs")
        if size == n_pairs(n):
            i, j = np.triu_indices(n, k=1)
            look: Callable[[Representation], Any] = measure.look
        else:
            assert rng is not None
            i, j = sort_pairs(*distinct_pairs(n, size, rng))
            look = partial(RankedRdm.of_pairs, i=i, j=j, **dict(measure.view_key[1]))
        subjects = [look(subject) for subject in problem.subjects]
        views = [*(look(model) for model in problem.models.values()), *subjects, *_leave_one_out(measure, subjects)]
        vectors = np.stack([view.ranks for view in views])
        known = ~np.isnan(vectors)
        if not known.all():
            # Models are compared on the same pairs of rows.
            known &= known[: len(problem.models)].all(axis=0)
            vectors[~known] = 0.0
        ranked = measure.parameters.get("method", "spearman") == "spearman"
        upper = _upper_ceiling(measure, subjects) if size < n_pairs(n) and len(subjects) > 1 else float("nan")
        return cls(problem, SortedVectors.build(vectors), ranked, i, j, None if known.all() else known, upper)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of rows that are used."""
        return len(self.i)

    @property
    def sampled(self) -> bool:
        """Whether the pairs are a random sample of all pairs."""
        return self.n_pairs < n_pairs(self.problem.n_rows)

    def take(self, chosen: Index) -> DistanceVectors:
        """Return the vectors for a selection of the pairs."""
        lines = SortedVectors.build(self.lines.values[:, chosen])
        known = None if self.known is None else self.known[:, chosen]
        return replace(self, lines=lines, i=self.i[chosen], j=self.j[chosen], known=known)

    def correlations(self, weights: Vector) -> Matrix:
        """Correlations between all lines, where pair p has the weight weights[p]."""
        if self.known is not None:
            return self._pairwise_complete(weights, self.known)
        values = self.lines.ranks(weights) if self.ranked else self.lines.values
        return weighted_correlations(values, weights)

    def _pairwise_complete(self, weights: Vector, known: Mask) -> Matrix:
        """Correlations of each subject with the models and the mean of the others, over the pairs that both know."""
        n_models, n_subjects = len(self.problem.models), len(self.problem.subjects)
        correlations = np.full((len(self.lines.values),) * 2, np.nan)
        models = list(range(n_models))
        for group in (models, *([*models, subject] for subject in range(n_models, n_models + n_subjects))):
            self._fill(correlations, group, weights * known[group].all(axis=0))
        if n_subjects > 1:
            for subject in range(n_models, n_models + n_subjects):
                pair = [subject, subject + n_subjects]
                self._fill(correlations, pair, weights * known[pair].all(axis=0))
        return correlations

    def _fill(self, correlations: Matrix, group: list[int], weights: Vector) -> None:
        lines = self.lines.take(group)
        values = lines.ranks(weights) if self.ranked else lines.values
        found = weighted_correlations(values, weights)
        kept = np.isnan(correlations[np.ix_(group, group)])
        correlations[np.ix_(group, group)] = np.where(kept, found, correlations[np.ix_(group, group)])

    def split(self, correlations: Matrix) -> tuple[Matrix, Matrix, Vector]:
        """Split correlations: subjects with models, models with models, subjects with the mean of the others."""
        n_models, n_subjects = len(self.problem.models), len(self.problem.subjects)
        subjects = slice(n_models, n_models + n_subjects)
        with_others = np.diagonal(correlations[subjects, n_models + n_subjects :])
        return correlations[subjects, :n_models], correlations[:n_models, :n_models], with_others

    def score(self, correlations: Matrix | Vector) -> Matrix:
        """Convert correlations to values of the measure."""
        both = KnownProduct(correlations)
        return np.asarray(self.problem.measure.function(both, both, **self.problem.measure.parameters))


def cells(n_models: int, n_subjects: int) -> list[tuple[int, int]]:
    """The pairs of lines whose correlations `DistanceVectors.split` returns."""
    subjects = range(n_models, n_models + n_subjects)
    found = [(subject, model) for subject in subjects for model in range(n_models)]
    found += [(b, a) for b in range(n_models) for a in range(b)]
    return found + ([(subject, subject + n_subjects) for subject in subjects] if n_subjects > 1 else [])


def _leave_one_out(measure: Any, subjects: Sequence[RankedRdm]) -> list[RankedRdm]:
    if len(subjects) < 2:
        return []
    kind, options = measure.view_key
    return [
        kind.average([rdm for j, rdm in enumerate(subjects) if j != k], **dict(options)) for k in range(len(subjects))
    ]


def _upper_ceiling(measure: Any, subjects: Sequence[RankedRdm]) -> float:
    """Average value between each subject and the mean of all subjects."""
    kind, options = measure.view_key
    mean = kind.average(subjects, **dict(options))
    return float(np.mean([measure.compare_views(mean, subject) for subject in subjects]))
