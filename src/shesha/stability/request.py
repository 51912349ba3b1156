"""The request to an estimator, and the evidence that the estimator returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shesha.kernels import feature_halves
from shesha.nulls.design_builder import exchange
from shesha.nulls.group_halves import group_kinds
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.registry import Classes, Variant
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Vector
from shesha.views import Covariates, Rdm, Rows


@dataclass(frozen=True)
class Request:
    """A request to an estimator: checked data and settings."""

    variant: Variant
    source: Rows | Rdm
    """Data whose type and shape have been checked, but which have not been read, because they may be on disk."""
    classes: Classes | None
    options: dict[str, Any]
    n_bootstrap: int = 0
    n_permutations: int = 0
    target_se: float | None = None
    pairs: int | None = None
    seed: int | np.random.Generator | None = None
    design: Exchange | None = None
    """Which rows may be exchanged under the null; None means that all rows are exchangeable."""
    covariates: Covariates | None = None
    """The covariates that were regressed out of the features; None if there are none."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.source) if isinstance(self.source, Rows) else self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of features; 0 if only distances are known."""
        return self.source.shape[1] if isinstance(self.source, Rows) else 0

    @property
    def labels(self) -> Classes:
        """The class labels, for a variant that needs them."""
        assert self.classes is not None
        return self.classes

    @property
    def exchange(self) -> Exchange:
        """The exchange design for the rows."""
        return exchange(self.n_rows) if self.design is None else self.design

    @property
    def null_design(self) -> Exchange:
        """The design of the null; labels are shuffled within groups if all groups contain several classes.

        In that case, exchanging whole groups would leave most labels unchanged, or mix them only by the order of the
        rows.
        """
        design = self.exchange
        if design.group is None or design.block_length or self.classes is None or not self.variant.needs_labels:
            return design
        n_classes = self.classes.n_classes
        if (group_kinds(self.classes.codes, design.clusters, n_classes) < n_classes).any():
            return design
        blocks = np.unique(np.stack([design.block, design.clusters]), axis=1, return_inverse=True)[1]
        return Exchange(self.n_rows, blocks.reshape(-1), named=("rows within groups",))

    def orders(self) -> list[Index]:
        """Draw permutations of the rows, which are reproducible if the seed is a number."""
        return self.null_design.draws(self.n_permutations, spawn(self.seed, MATCHING)) if self.n_permutations else []

    def resamples(self) -> Matrix:
        """Draw the counts of each row in each resample: an array of shape (n_rows, n_bootstrap)."""
        rng = spawn(self.seed, RESAMPLING)
        if self.design is None:
            return feature_halves.row_counts(self.n_rows, self.n_bootstrap, rng)
        return np.stack([self.design.resample(rng) for _ in range(self.n_bootstrap)], axis=1).astype(np.float64)

    def resample_rows(self, rng: np.random.Generator) -> Index:
        """Draw the rows of one resample; class sizes vary, but every class keeps some rows."""
        if self.design is not None:
            return np.repeat(np.arange(self.n_rows), self.design.resample(rng))
        if self.classes is None:
            return rng.integers(self.n_rows, size=self.n_rows)
        members = self.classes.present
        sizes = np.array([len(rows) for rows in members])
        drawn = np.maximum(rng.multinomial(self.n_rows, sizes / self.n_rows), np.minimum(sizes, _FEWEST))
        return np.concatenate([rng.choice(rows, size) for rows, size in zip(members, drawn, strict=True)])

    def shuffle_labels(self, order: Index) -> Request:
        """Return the same request with shuffled labels, for computing the value only."""
        return replace(self, classes=self.labels.take(order), n_bootstrap=0, n_permutations=0)


RESAMPLING, THINNING, MATCHING, DIRECTED, ROTATING = 1, 2, 3, 4, 5
SHUFFLING = 101
"""Numbers of the random streams that are derived from one seed for different purposes."""
_FEWEST = 2
"""Smallest number of rows per class in a resample; a single row has no spread and cannot be divided."""


@dataclass(frozen=True)
class Evidence:
    """The score, its value in each draw, its resampling distribution and its null distribution."""

    value: float
    draws: Vector = field(default_factory=lambda: np.empty(0))
    """Score of each partition; empty for a score that does not draw partitions."""
    resampled: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of the bootstrap resamples of the rows."""
    redrawn: bool = False
    """Whether each resample used new partitions, so that its spread includes theirs."""
    null: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of the draws from the null distribution."""
    analytic_error: float = float("nan")
    """Standard error over rows, if it is known without resampling."""
    pair_error: float = 0.0
    n_pairs: int = 0
    pairs_dropped: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()
