"""Partial scores: what remains of a score after controlling for a covariate of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erfc, sqrt

import numpy as np

from shesha.doubting.target_score import Headline
from shesha.kernels.ranks import midranks
from shesha.support.types import Index, Labels, Matrix, Vector

_N_SHUFFLED = 19
"""Number of times a covariate is shuffled to obtain its p-value."""
_FEW_LEVELS = 8
"""Labels with up to this many values get one effect for each pair of values. Labels with more values get one effect for
equal labels, and one for each of the most frequent values.
"""


@dataclass(frozen=True)
class CovariateShare:
    """The part of a score that a covariate of the rows explains."""

    headline: Headline
    quantity: Vector | Labels
    name: str
    clusters: Index | None = None
    """Cluster labels of the rows; clusters are controlled for in addition to the covariate."""

    @cached_property
    def partial_score(self) -> float:
        """The score after controlling for the covariate (and the clusters)."""
        return self._residual_score(self.quantity)

    @cached_property
    def whole(self) -> float:
        """The score before controlling for the covariate, but controlling for clusters if there are any."""
        if self.clusters is None:
            return self.headline.value
        return self.headline.partial_score(functions(self.clusters))

    @property
    def effect(self) -> float:
        """The part of the score that the covariate explains; all of it if the partial score has the opposite sign."""
        return min(
            1.0, max(0.0, max(0.0, self._positive_sign(self.whole)) - max(0.0, self._positive_sign(self.partial_score)))
        )

    def p_value(self, rng: np.random.Generator) -> float:
        """Return the p-value of the explained part, compared with what shuffled covariates explain."""
        orders = [rng.permutation(len(self.quantity)) for _ in range(_N_SHUFFLED)]
        scores = np.array([self._positive_sign(self._residual_score(self.quantity[order])) for order in orders])
        spread = max(float(scores.std(ddof=1)) * sqrt(1 + 1 / _N_SHUFFLED), 1e-6)
        return 0.5 * erfc(float(scores.mean() - self._positive_sign(self.partial_score)) / spread / sqrt(2))

    def _residual_score(self, quantity: Vector | Labels) -> float:
        explaining = functions(quantity)
        if self.clusters is not None:
            explaining = np.concatenate([functions(self.clusters), explaining])
        return self.headline.partial_score(explaining)

    def _positive_sign(self, score: float) -> float:
        """Return the score times the sign of the target score."""
        return float(np.sign(self.headline.value)) * score


def functions(quantity: Vector | Labels) -> Matrix:
    """Return functions of row pairs, (functions, pairs), that model a covariate's effects on distances.

    A row that is noisier or shorter than others is farther from all of them in any half of the features. Each distance
    then contains effects of its two rows, which the halves share even if the data have no geometry.
    """
    i, j = np.triu_indices(len(quantity), k=1)
    if quantity.dtype.kind == "f":
        ranks = (midranks(quantity.astype(np.float64))[0] + 0.5) / len(quantity) - 0.5
        a, b = ranks[i], ranks[j]
        return np.stack([a + b, a**2 + b**2, a**3 + b**3, a * b, np.abs(a - b)])
    codes = np.unique(quantity, return_inverse=True)[1]
    n_levels = int(codes.max()) + 1
    if n_levels <= _FEW_LEVELS:
        low, high = np.minimum(codes[i], codes[j]), np.maximum(codes[i], codes[j])
        return _indicators(low * n_levels + high)
    levels = np.zeros((n_levels, len(i)))
    positions = np.arange(len(i))
    np.add.at(levels, (codes[i], positions), 1.0)
    np.add.at(levels, (codes[j], positions), 1.0)
    same = (codes[i] == codes[j]).astype(np.float64)
    return np.concatenate([same[None], levels[np.bincount(codes).argsort()[::-1][:_FEW_LEVELS]]])


def _indicators(codes: Index) -> Matrix:
    """Return one indicator row per code, except for the last, because all indicators sum to a constant."""
    values = np.unique(codes)[:-1]
    return (codes == values[:, None]).astype(np.float64) if len(values) else np.zeros((1, len(codes)))
