"""A ranking's problem (models, subjects, design), its scores, and their variance over rows and subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.stats import t

from shesha.calibration.permutation_scores import KnownProduct
from shesha.kernels.condensed_matrices import take_condensed
from shesha.kernels.distances import n_pairs
from shesha.kernels.mean_intervals import t_margin
from shesha.kernels.pairs import distinct_pairs
from shesha.kernels.ranks import SortedVectors, weighted_correlations
from shesha.measures import Measure
from shesha.nulls.restricted_permutations import Exchange
from shesha.ranking.flexible_models import Cube, FlexibleModels
from shesha.stability.row_matching import DEFAULT_PAIRS, sort_pairs
from shesha.support import memory
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.views import RankedRdm, Representation
from shesha.views.rdm import CORRELATIONS


@dataclass(frozen=True)
class RowResamples:
    """Values on one of the two kinds of resamples of the rows."""

    values: Cube
    """Value of each subject in each resample, of shape (n_resamples, n_subjects, n_values)."""
    scale: float
    """Factor that converts the variance over these resamples to the variance over samples of rows."""
    noise: float
    """How many times the variance over resamples counts the contribution of pairs of rows."""

    def take(self, columns: Index) -> RowResamples:
        """Return the same resamples for a selection of the values."""
        return replace(self, values=self.values[:, :, columns])


@dataclass(frozen=True)
class Resampled:
    """Values for each subject, on all rows and on two kinds of resamples."""

    observed: Matrix
    """Values for each subject, of shape (n_subjects, n_values)."""
    on_rows: tuple[RowResamples, RowResamples]
    """Two kinds of resamples. The second kind overcounts the contribution of pairs of rows more than the first."""
    n_units: int
    """Number of units that are resampled: rows, or groups of rows."""

    def drop_resamples(self) -> Resampled:
        """Return only the observed values."""
        first, second = (replace(sample, values=sample.values[:0]) for sample in self.on_rows)
        return replace(self, on_rows=(first, second))

    @property
    def n_resamples(self) -> int:
        """Number of resamples that have values; 0 without resampling."""
        return min(len(sample.values) for sample in self.on_rows)

    @property
    def means(self) -> Vector:
        """Mean over subjects."""
        means: Vector = self.observed.mean(axis=0)
        return means

    def take(self, columns: Index) -> Resampled:
        """Return the same results for a selection of the values."""
        first, second = (sample.take(columns) for sample in self.on_rows)
        return Resampled(self.observed[:, columns], (first, second), self.n_units)

    def minus(self, other: Resampled) -> Resampled:
        """Return the differences between these values and others on the same resamples."""
        first, second = (
            replace(one, values=one.values - two.values) for one, two in zip(self.on_rows, other.on_rows, strict=True)
        )
        return Resampled(self.observed - other.observed, (first, second), self.n_units)

    def differences(self) -> Resampled:
        """Return the differences for all pairs of values, the first minus the second."""
        i, j = np.triu_indices(self.observed.shape[1], k=1)
        return self.take(i).minus(self.take(j))

    @property
    def _row_variances(self) -> tuple[Vector, Vector]:
        """Variance over new rows, for means over subjects and for single subjects (averaged)."""
        over_means = [sample.scale * sample.values.mean(axis=1).var(axis=0, ddof=1) for sample in self.on_rows]
        over_single = [sample.scale * sample.values.var(axis=0, ddof=1).mean(axis=0) for sample in self.on_rows]
        return self._count_noise_once(*over_means), self._count_noise_once(*over_single)

    def _count_noise_once(self, first: Vector, second: Vector) -> Vector:
        """Extrapolate from two variances that overcount the noise of pairs to one that counts it once."""
        often, more_often = (sample.noise for sample in self.on_rows)
        excess = np.maximum(second - first, 0.0) * (often - 1) / (more_often - often)
        return np.maximum(first - excess, first / often)

    @property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        """Variance over rows, variance over subjects, and the part that both contain."""
        n = len(self.observed)
        over_rows, single = self._row_variances
        if n == 1:
            return over_rows, np.zeros_like(over_rows), np.zeros_like(over_rows)
        over_subjects: Vector = self.observed.var(axis=0, ddof=1) / n
        return over_rows, over_subjects, np.maximum(single - over_rows, 0.0) / (n - 1)

    @property
    def variances(self) -> Vector:
        """Variance of each mean over new rows and new subjects.

        Measurement noise is part of both the variance over rows and the variance over subjects, so their sum counts it
        twice. The common part is estimated from single subjects, whose variance over rows exceeds that of their mean.
        The result is the limit of the dual bootstrap of Schütt et al. (2023) for all resamples of subjects.
        """
        over_rows, over_subjects, both = self._parts
        variances: Vector = np.maximum.reduce([over_rows + over_subjects - both, over_rows, over_subjects])
        return variances

    @property
    def freedom(self) -> Vector:
        """Degrees of freedom of the variances, by Satterthwaite's rule.

        The degrees of freedom for the rows are halved, because the extrapolation makes their variance less certain.
        """
        over_rows, over_subjects, _ = self._parts
        uncertain = 2 * over_rows**2 / (self.n_units - 1) + over_subjects**2 / max(len(self.observed) - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = self.variances**2 / uncertain
        return np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)

    def intervals(self, confidence: float) -> tuple[Vector, Vector]:
        """Return the lower and upper limits of the intervals for the means."""
        half = t_margin(np.sqrt(self.variances), self.freedom, confidence)
        return self.means - half, self.means + half

    def p_values(self, side: Literal["two-sided", "below", "above"] = "two-sided") -> Vector:
        """P-values for means of zero, two-sided or for one side; without variance, NaN, or 1 for a mean of zero."""
        errors = np.sqrt(self.variances)
        scale = np.abs(self.observed).max(axis=0, initial=0.0)
        flat = errors <= 1e-12 * np.maximum(scale, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.means / errors
            tail = {"two-sided": np.abs(z), "below": -z, "above": z}[side]
            p_values = (2 if side == "two-sided" else 1) * t.sf(tail, self.freedom)
        # Without variance, a difference from zero cannot be tested.
        return np.where(flat, np.where(np.abs(self.means) > 0, np.nan, 1.0), p_values)


ENOUGH = 0.9
"""Smallest share of the resamples that must have all values; fewer would be a biased sample."""


@dataclass(frozen=True)
class Problem:
    """Models and subjects with the same rows, and the units that are resampled."""

    measure: Measure
    models: dict[str, Representation]
    subjects: tuple[Representation, ...]
    design: Exchange
    pairs: int | None = None
    """Requested number of pairs of rows; None means the default."""
    flexible: FlexibleModels | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.design.n_rows

    @property
    def exact(self) -> bool:
        """Whether all pairs were requested, which are then ranked again in every resample."""
        return self.pairs is not None and self.pairs >= n_pairs(self.n_rows)

    @property
    def n_units(self) -> int:
        """Number of units that are resampled: rows, or groups of rows."""
        return len(np.unique(self.design.clusters))

    @property
    def uses_correlated_distances(self) -> bool:
        """Whether the measure depends only on correlated distances, so that a row bootstrap can use weights."""
        correlates = self.measure.parameters.get("method", "spearman") in CORRELATIONS
        return self.measure.view is RankedRdm and correlates

    def take(self, rows: Index) -> Problem:
        """Return the problem for a selection of the rows."""
        models = {name: model.take_rows(rows) for name, model in self.models.items()}
        subjects = tuple(subject.take_rows(rows) for subject in self.subjects)
        return replace(self, models=models, subjects=subjects, design=self.design.take(rows))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models, flexible ones last."""
        return (*self.models, *(self.flexible.parts if self.flexible else ()))


FEWEST_UNITS = 5
"""Smallest number of rows, or groups of rows, for intervals; few groups give few distinct resamples."""


@dataclass(frozen=True)
class Evaluations:
    """Values of the measure: one column per model, then each subject with the mean of the others."""

    values: Resampled
    has_ceiling: bool
    shares: Resampled | None = None
    """Variance that each model explains alone, that each explains uniquely, and that all explain together."""

    def drop_resamples(self) -> Evaluations:
        """Return the values without resamples, which is used if there are too few units to resample."""
        shares = None if self.shares is None else self.shares.drop_resamples()
        return replace(self, values=self.values.drop_resamples(), shares=shares)

    @property
    def n_models(self) -> int:
        """Number of models, whose columns come first."""
        return int(self.values.observed.shape[1]) - self.has_ceiling

    @property
    def models(self) -> Resampled:
        """The columns that belong to the models."""
        return self.values.take(np.arange(self.n_models))

    @property
    def gap_to_ceiling(self) -> Resampled:
        """Difference between each model and the lower ceiling."""
        return self.models.minus(self.values.take(np.full(self.n_models, self.n_models)))


def complete_resamples(found: Sequence[Cube]) -> Cube:
    """Return the resamples that have all values, or none if too many are incomplete."""
    stacked = np.stack(found)
    known: Cube = stacked[np.isfinite(stacked).all(axis=(1, 2))]
    return known if len(known) >= ENOUGH * len(stacked) else known[:0]


_ARRAYS = 8
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
            # Half of the budget is for the rows.
            size = min(size, DEFAULT_PAIRS, max(_FEWEST, memory.memory_budget() // (2 * per_pair)))
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
        return cls(
            problem,
            SortedVectors.build(vectors),
            ranked,
            i=i,
            j=j,
            known=None if known.all() else known,
            ceiling_upper=upper,
        )

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
        """Correlations between all lines, where pair p has the weight weights[p].

        The last lines are the sums of each flexible model for all subjects, which are fitted with these weights.
        """
        if self.known is not None:
            return self._pairwise_complete(weights, self.known)
        values = self.lines.ranks(weights) if self.ranked else self.lines.values
        if self.problem.flexible:
            models = self.lines.values[: len(self.problem.models)]
            sums = np.vstack([found for found, _ in self.problem.flexible.fit(models, weights).values()])
            values = np.vstack([values, SortedVectors.build(sums).ranks(weights) if self.ranked else sums])
        return weighted_correlations(values, weights)

    def permute_models(self, order: Index) -> DistanceVectors:
        """Return the vectors with permuted rows of the models."""
        values, n_models = self.lines.values.copy(), len(self.problem.models)
        values[:n_models] = [take_condensed(line, order, self.problem.n_rows) for line in values[:n_models]]
        return replace(self, lines=SortedVectors.build(values))

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
        of_subjects, n_lines = correlations[n_models : n_models + n_subjects], len(self.lines.values)
        with_others = np.diagonal(of_subjects[:, n_models + n_subjects : n_lines])
        with_sums = np.einsum("sks->sk", of_subjects[:, n_lines:].reshape(n_subjects, -1, n_subjects))
        return (
            np.hstack([of_subjects[:, :n_models], with_sums]),
            correlations[:n_models, :n_models],
            with_others,
        )

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
