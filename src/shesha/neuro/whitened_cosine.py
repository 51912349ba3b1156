"""Whitened unbiased cosine between the geometries in two halves of the trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import centre_and_scale, compress_columns
from shesha.kernels.crossnobis import centred_products, crossvalidated_products
from shesha.kernels.noise_covariance import Noise, additive_residuals, estimate_noise, residuals
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.split_half_reliability import FEWEST_CONDITIONS
from shesha.neuro.trial_halves import Halves, How
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.results import TrialScore
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.provenance import keep_statements
from shesha.support.seeds import spawn
from shesha.support.types import Labels, Mask, Matrix, Seed

_ROUNDING = 1e-12
"""If the centred products are below this share of the uncentred ones, they are rounding errors."""


@dataclass(frozen=True, eq=False)
class WhitenedScore:
    """Trials and their halves, prepared for computing scores under any labels."""

    rows: Matrix
    n_conditions: int
    n_channels: int
    halves: Halves
    shrinkage: float | None
    parts: Labels | None = None
    """Part of the recording of each trial; a constant that is added to all trials of a part changes nothing."""

    def value(self, codes: Labels) -> float:
        """Mean cosine over those splits that have a value.

        The trials of each half are whitened by the noise of the other half. With a common estimate, the products of
        trials with one another would be larger than by chance, because the same trials make up the noise.
        """
        rows = self.rows if self.parts is None else additive_residuals(self.rows, codes, self.parts)[2]
        cosines = [self._cosine(rows, codes, first[self.halves.unit]) for first in self.halves.first]
        known = [value for value in cosines if value == value]
        return float(np.mean(known)) if known else float("nan")

    def _cosine(self, rows: Matrix, codes: Labels, first: Mask) -> float:
        sums = []
        for half, other in ((first, ~first), (~first, first)):
            noise = self._noise(np.where(other, codes, -1)) or self._noise(codes)
            if noise is None:
                return float("nan")
            white = noise.whitened(rows[half])
            squares = np.einsum("ij,ij->i", white, white)
            indicator = (codes[half] == np.arange(self.n_conditions)[:, None]).astype(np.float64)
            sums.append(indicator @ np.column_stack([white, squares, np.ones(len(white))]))
        return _cosine(*sums)

    def _noise(self, codes: Labels) -> Noise | None:
        if not (codes >= 0).any():
            return None
        if self.parts is None:
            deviations, dof = residuals(self.rows, codes)
        else:
            deviations, dof, _ = additive_residuals(self.rows, codes, self.parts)
        return estimate_noise(deviations, dof, self.n_channels, self.shrinkage) if dof > 0 else None


def _cosine(first: Matrix, second: Matrix) -> float:
    """Cosine between two halves' centred products, over conditions with at least two trials in each half."""
    kept = (first[:, -1] > 1) & (second[:, -1] > 1)
    if kept.sum() < FEWEST_CONDITIONS:
        return float("nan")
    products = [
        crossvalidated_products(half[kept, :-2], half[kept, :-2], half[kept, -2], half[kept, -1])
        for half in (first, second)
    ]
    product, other = (centred_products(both) for both in products)
    length, scale = (float(np.prod([np.linalg.norm(both) for both in pair])) for pair in ((product, other), products))
    return float(np.einsum("ij,ij->", product, other)) / length if length > _ROUNDING * scale else float("nan")


@keep_statements
def wuc(
    X: Any,
    conditions: Conditions,
    *,
    how: How = "odd-even",
    normalize: bool = True,
    shrinkage: float | Literal["ledoit-wolf"] = "ledoit-wolf",
    n_splits: int = 20,
    n_blocks: int = 8,
    min_trials: int = 4,
    n_permutations: int = N_PERMUTATIONS,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = 0.05,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Whitened unbiased cosine between the distances among conditions in two halves of the trials.

    The trials of each half are whitened by the noise covariance of the other half. The distances in each half never
    multiply a trial with itself, so noise adds nothing on average. The cosine accounts for the covariance between
    distances that share a condition, and equals the cosine between the centred inner products (Diedrichsen et al.
    2021). Unlike the rank correlation of ordinary distances, it is not raised by conditions that are noisier than
    others in both halves.

    Parameters
    ----------
    X, conditions, how, normalize, n_splits, n_blocks
        See `trial_split`.
    shrinkage : 'ledoit-wolf' or float
        How much to shrink the noise covariance towards equal variances: the intensity of Ledoit and Wolf (2004), or a
        number in (0, 1].
    min_trials : int
        Smallest number of trials per condition. In each split, a condition also needs two trials in each half.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`. The noise is estimated again for each permutation. With `blocks`, a constant that is added to
        all trials of a block changes nothing.
    missing
        See `crossnobis`.

    Returns
    -------
    TrialScore
        Value in [-1, 1]; NaN, with a reason and a warning, if fewer than three conditions have two trials in both
        halves, or if trials within conditions do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(6, size=240)
    >>> X = rng.poisson(rng.gamma(2, 2, size=(6, 30))[shown])
    >>> found = wuc(X, shown, seed=0)
    >>> round(found.observed, 3), round(found.null_mean, 2), found.significant
    (0.987, 0.02, True)
    """
    check.boolean(normalize, "normalize")
    intensity = (
        None if isinstance(shrinkage, str) and shrinkage == "ledoit-wolf" else check.fraction(shrinkage, "shrinkage")
    )
    trials = Trials.build(X, conditions, min_trials=check.count(min_trials, "min_trials", minimum=2), missing=missing)
    halves = Halves.build(trials.n_trials, how, n_splits, n_blocks, spawn(seed, 1))
    orders = Orders.build(
        trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed
    )
    options = {"how": how, "normalize": bool(normalize), "shrinkage": shrinkage, "null": null}
    parts = None if blocks is None else trials.codes_of(X, blocks, "blocks")[0]
    return wuc_score(trials, halves, orders, normalize, intensity, options, parts)


def wuc_score(
    trials: Trials,
    halves: Halves,
    orders: Orders,
    normalize: bool,
    shrinkage: float | None,
    options: dict[str, Any],
    parts: Labels | None = None,
) -> TrialScore:
    """Score trials that have been checked."""
    rows = centre_and_scale(trials.rates, unit=normalize, centred=False)
    # The mean over all trials does not affect distances, but products of large numbers would lose digits.
    rows = compress_columns(rows - rows.mean(axis=0))
    score = WhitenedScore(rows, trials.n_conditions, trials.n_neurons, halves, shrinkage, parts)
    enough = trials.n_conditions >= FEWEST_CONDITIONS
    values = over_orders(lambda order: score.value(trials.codes[order]), orders) if enough else np.full(1, np.nan)
    return orders.summarise(
        f"whitened unbiased cosine ({halves.text})",
        values,
        trials,
        reason="fewer than three conditions have two trials in both halves, or trials within conditions do not vary",
        n_conditions=trials.n_conditions,
        notes=trials.notes,
        options=options,
    )
