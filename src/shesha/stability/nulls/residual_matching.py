"""The row-matching null for a split score of residuals, which have fewer degrees of freedom than rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.kernels.distances import Metric, n_pairs
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.row_matching_correlations import row_matching_correlations
from shesha.kernels.sampled_feature_halves import Masks
from shesha.stability.nulls.feature_shuffle import PAIRS
from shesha.stability.nulls.row_matching import partitions_per_matching
from shesha.stability.request import ROTATING, Request
from shesha.support.progress import track
from shesha.support.seeds import spawn
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, Rows, SplitHalves
from shesha.views.feature_halves import Draw


@dataclass(frozen=True)
class MatchedResiduals:
    """Null draws that join one half of the features with the permuted, readjusted rows of the other.

    Regressing out covariates shrinks the same distances in both halves. If rows were permuted without being adjusted
    again, their halves would not share this effect, and unrelated halves would seem stable.
    """

    request: Request
    partitions: Sequence[Draw]
    """The partitions of the score, which the draws use in turn."""

    @property
    def empty_null(self) -> Vector:
        """The null if the score is undefined for every partition."""
        return np.full(self.request.n_permutations, np.nan)

    def products(self, at: int, found: object) -> None:
        """Do nothing, because the draws do not use partitions of the data."""

    def null(self, products: object, visit: object) -> Vector:
        """Score each draw on as many partitions as the row-matching null uses."""
        request, known = self.request, self.request.covariates
        assert known is not None and isinstance(request.source, Rows)
        rows, orders = request.source.whole.rows, request.orders()
        together = partitions_per_matching(rows.shape[1], len(self.partitions))
        values = []
        for k, order in enumerate(track(orders, len(orders), "matchings")):
            moved = known.permute(rows, order)
            turn = [self.partitions[(k * together + offset) % len(self.partitions)] for offset in range(together)]
            scores = [self._score(rows, moved, np.asarray(partition), k) for partition in turn]
            values.append(float("nan") if np.isnan(scores).all() else float(np.nanmean(scores)))
        return np.array(values)

    def _score(self, rows: Matrix, moved: Matrix, features: Index, number: int) -> float:
        """Return the correlation between the first half of the features and the permuted second half."""
        metric: Metric = self.request.options["metric"]
        half, natural = len(features) // 2, np.arange(len(features))
        both = np.concatenate([rows[:, features[:half]], moved[:, features[half:]]], axis=1)
        if n_pairs(len(rows)) > PAIRS:
            rng = spawn(self.request.seed, ROTATING + number)
            masks, order = Masks.build([natural]), np.arange(len(rows))
            return float(row_matching_correlations(both / length_unit(both), PAIRS, metric, masks, [order], rng)[0])
        try:
            halves = SplitHalves.build(Representation(both, np.finfo(float).eps), metric=metric)
        except NotEstimable:
            return float("nan")
        return float(halves.visit([natural], lambda _, partition: partition.correlation)[0])
