"""A ranking's problem (models, subjects, design) and its scores on all rows and on resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shesha.kernels.distances import n_pairs
from shesha.measures import Measure
from shesha.nulls.restricted_permutations import Exchange
from shesha.ranking.row_and_subject_variance import Cube, Resampled
from shesha.support.types import Index
from shesha.views import RankedRdm, Representation

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
        return self.measure.view is RankedRdm and self.measure.inner_product

    def take(self, rows: Index) -> Problem:
        """Return the problem for a selection of the rows."""
        models = {name: model.take_rows(rows) for name, model in self.models.items()}
        subjects = tuple(subject.take_rows(rows) for subject in self.subjects)
        return replace(self, models=models, subjects=subjects, design=self.design.take(rows))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.models)


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
