"""Reliability of the distances between conditions in two halves of the trials: split halves and the whitened cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.condition_distances import (
    Noise,
    additive_residuals,
    agreement,
    centre_and_scale,
    centred_products,
    compress_columns,
    condition_distances,
    crossvalidated_products,
    estimate_noise,
    half_sums,
    residuals,
)
from shesha.kernels.distances import METRICS, Metric
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.neuro.trials import (
    FEWEST_CONDITIONS,
    Conditions,
    EqualTrials,
    Halves,
    How,
    Numbers,
    Trials,
    Use,
    describe_many_neurons,
    describe_use,
    mean_of_known,
)
from shesha.results import TrialScore
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, N_PERMUTATIONS, spawn
from shesha.support.types import Labels, Mask, Matrix, Seed
from shesha.support.warnings import MeasureWarning, warn
from shesha.support.wording import agree, count


@dataclass(frozen=True, eq=False)
class SplitScore:
    """Trials and their halves, prepared for computing scores under any labels."""

    rows: Matrix
    """Trials, with a last column of ones, whose sums are the numbers of trials."""
    n_conditions: int
    halves: Halves
    metric: Metric
    equal: EqualTrials | None = None

    @classmethod
    def build(
        cls,
        rates: Matrix,
        n_conditions: int,
        halves: Halves,
        metric: Metric,
        normalize: bool,
        equal: EqualTrials | None = None,
    ) -> SplitScore:
        """Normalise trials if requested, and reduce the columns to at most the number of trials."""
        rows = compress_columns(centre_and_scale(rates, unit=normalize, centred=metric == "correlation"))
        return cls(np.column_stack([rows, np.ones(len(rows))]), n_conditions, halves, metric, equal)

    def distances(self, codes: Labels) -> tuple[Matrix, Matrix]:
        """Distances between conditions in each half, each of shape (n_splits, n_pairs)."""
        if self.equal is None:
            sums = half_sums(self.rows, codes, self.n_conditions, self.halves.unit, self.halves.first)
        else:
            first_sums, other = self.equal.sums(self.rows, codes, self.n_conditions).transpose(1, 0, 2, 3)
            sums = first_sums, other
        first, second = (condition_distances(half[:, :, :-1], half[:, :, -1], self.metric) for half in sums)
        return first, second

    def value(self, codes: Labels) -> float:
        """Mean agreement over those splits that have a value."""
        return mean_of_known(agreement(*self.distances(codes)))


@keep_statements
def trial_split(
    X: Any,
    conditions: Conditions,
    *,
    how: How = "odd-even",
    metric: Metric = "cosine",
    normalize: bool = True,
    n_splits: int = 20,
    n_blocks: int = 8,
    trials_per_half: Numbers = "equal",
    min_trials: int = 2,
    n_permutations: int = N_PERMUTATIONS,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Stability of a recording: agreement between halves of the trials on distances between conditions.

    In each half, the mean response to each condition is computed. The distances between these means are rank-correlated
    between the two halves, and the correlations are averaged over splits. By default, each condition contributes the
    same number of trials to each half, because unequal numbers alone make the distances agree. The score is the
    reliability of the distances. It rises with the numbers of trials, neurons and spikes, so compare only areas for
    which these numbers are equal. Odd and even trials also share slow changes, which add to the distances if a
    condition is repeated in consecutive trials. The null distribution comes from shifting the conditions along the
    session by a random number of trials, which preserves slow changes and repeats.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Spike counts, rates, or other responses, with trials in the order of recording; they are averaged over time.
    conditions : array of shape (n_trials,) or (n_trials, n_columns), or names of coordinates of a DataArray
        The condition of each trial. With several columns, each combination of values is a condition.
    how : {'odd-even', 'random', 'blocks'}
        How to form the halves. 'odd-even': alternate trials, so that slow changes are the same in both halves.
        'random': random halves, which share slow changes as well. 'blocks': half of the consecutive blocks. With
        `n_blocks=2`, these are the first and the second half of the session, which share no slow changes.
    n_splits : int
        Number of random splits. With 'blocks', all choices of blocks are used if there are no more than this number.
    n_blocks : int
        Number of blocks, of nearly equal size, for 'blocks'.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between two mean responses.
    normalize : bool
        Whether to scale the response of each trial to unit length first, which removes its overall rate.
    trials_per_half : 'equal', 'all' or int
        Number of trials of each condition in each half. 'equal': as many as the rarest condition that has at least two
        in each half, chosen in `n_splits` random draws. A number: exactly that many; conditions with fewer trials are
        left out. 'all': all trials; unequal numbers then raise the value and its chance level, and can hide a neural
        code.
    min_trials : int
        Smallest number of trials per condition. Rarer conditions are left out and reported, which leaves more trials
        for the others.
    n_permutations : int
        Number of permutations of the conditions for the null distribution; 0 for none.
    null : {'shift', 'permute', 'stretches'}
        'shift': circular shifts of the conditions along the session. 'permute': permutations of single trials, which
        also separate repeats. 'stretches': permutations of stretches of `block_length` trials.
    blocks : array of shape (n_trials,), optional
        The part of the recording to which each trial belongs. Conditions are permuted within these parts. Default: a
        single part.
    block_length : int, optional
        Number of trials per stretch. Required for null='stretches', and not allowed otherwise.
    alpha : float
        Significance level of the threshold.
    seed : int, Generator or None
    missing
        See `crossnobis`.

    Returns
    -------
    TrialScore
        Value in [-1, 1]. `n_unused` and `dropped` report the trials and conditions that are excluded to equalise
        numbers. If all trials are used and the score is positive, `further` contains the reliability of both halves
        together (Spearman-Brown). NaN, with a reason and a warning, if fewer than three conditions have enough trials
        in both halves.

    Raises
    ------
    ValueError
        If X is not an array of finite responses, or if the conditions do not fit X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(6, size=240)
    >>> X = rng.poisson(rng.gamma(2, 2, size=(6, 30))[shown])
    >>> print(trial_split(X, shown, seed=0))
    split of trials (odd and even trials, 13 trials per condition) 0.9427, above
        chance at 0.05 (p = 0.00995)
    Read: conditions 0, 1, 2, 3, 4, 5.
      chance 0.02018 (200 draws, circular shifts)
      calibrated 0.9245, threshold 0.2409, null sd 0.15
      240 trials (84 unused in each draw) x 30 neurons, 6 conditions
      note: 84 of 240 trials are unused, because numbers of trials are equalised. To
        use more, leave out rare conditions (min_trials=), or pass
        trials_per_half='all'
    """
    check.choice(metric, METRICS, "metric")
    check.boolean(normalize, "normalize")
    trials = Trials.build(X, conditions, min_trials=check.count(min_trials, "min_trials"), missing=missing)
    halves = Halves.build(trials.n_trials, how, n_splits, n_blocks, spawn(seed, 1))
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    options = {"how": how, "metric": metric, "normalize": bool(normalize), "null": null}
    equal = EqualTrials.build(trials_per_half, halves, n_splits, seed)
    return split_score(trials, halves, orders, metric, normalize, options | {"trials_per_half": trials_per_half}, equal)


def split_score(
    trials: Trials,
    halves: Halves,
    orders: Orders,
    metric: Metric,
    normalize: bool,
    options: dict[str, Any],
    equal: EqualTrials | None = None,
) -> TrialScore:
    """Score trials that have been checked."""
    reason, values = "", np.full(1, np.nan)
    use = Use("no trials used")
    if trials.n_conditions < FEWEST_CONDITIONS:
        reason = (
            f"only {count(trials.n_conditions, 'condition')} {agree(trials.n_conditions, 'has', 'have')} enough "
            f"trials, but at least {FEWEST_CONDITIONS} are needed; crossnobis_test and discriminability compare two"
        )
    else:
        score = SplitScore.build(trials.rates, trials.n_conditions, halves, metric, normalize, equal)
        values = over_orders(lambda order: score.value(trials.codes[order]), orders)
        reason = "no split has three pairs of conditions with responses and unequal distances in both halves"
        if halves.how == "odd-even" and trials.alternate:
            reason = "odd and even trials show different conditions; pass how='random' or how='blocks'"
        use = describe_use(equal, trials, "half")
    reliability = {"reliability of all trials": float(2 * values[0] / (1 + values[0]))} if values[0] > 0 else {}
    n_silent, n_empty = int(trials.silent.sum()), int((~trials.rates.any(axis=1)).sum())
    silence = [f"{n_silent} of {trials.n_neurons} neurons without any response"] * (n_silent > 0)
    silence += [f"{count(n_empty, 'trial')} without any response"] * (n_empty > 0)
    return orders.summarise(
        f"split of trials ({halves.text}, {use.text})",
        values,
        trials,
        reason=reason,
        n_conditions=trials.n_conditions - len(use.dropped),
        n_unused=use.n_unused,
        dropped=use.dropped,
        notes=(*trials.notes, *silence, *use.notes),
        further=reliability if equal is None else {},
        options=options,
    )


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
        return mean_of_known(np.array([self._cosine(rows, codes, first) for first in self.halves.masks]))

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
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Whitened unbiased cosine between the distances among conditions in two halves of the trials.

    The trials of each half are whitened by the noise covariance of the other half. The distances in each half never
    multiply a trial with itself, so noise adds nothing on average. The cosine accounts for the covariance between
    distances that share a condition, and equals the cosine between the centred inner products (Diedrichsen et al.
    2021). Unlike the rank correlation of ordinary distances, it is not raised by conditions that are noisier than
    others in both halves. Without a code its mean is 0, even if neurons outnumber the trials. With a code, it rises
    with the number of neurons; a warning says if there are too many to whiten their noise.

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
    >>> round(found.value, 3), round(found.chance, 2), found.significant
    (0.987, 0.02, True)
    """
    check.boolean(normalize, "normalize")
    intensity = (
        None if isinstance(shrinkage, str) and shrinkage == "ledoit-wolf" else check.fraction(shrinkage, "shrinkage")
    )
    trials = Trials.build(X, conditions, min_trials=check.count(min_trials, "min_trials", minimum=2), missing=missing)
    halves = Halves.build(trials.n_trials, how, n_splits, n_blocks, spawn(seed, 1))
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    options = {"how": how, "normalize": bool(normalize), "shrinkage": shrinkage, "null": null}
    parts = None if blocks is None else trials.label_codes(X, blocks, "blocks")[0]
    found = wuc_score(trials, halves, orders, normalize, intensity, options, parts)
    if found.has_value and (note := _many_neurons(trials)):
        warn(note, MeasureWarning)
    return found


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
    score = WhitenedScore(rows, trials.n_conditions, trials.n_neurons, halves, shrinkage=shrinkage, parts=parts)
    enough = trials.n_conditions >= FEWEST_CONDITIONS
    values = over_orders(lambda order: score.value(trials.codes[order]), orders) if enough else np.full(1, np.nan)
    return orders.summarise(
        f"whitened unbiased cosine ({halves.text})",
        values,
        trials,
        reason="fewer than three conditions have two trials in both halves, or trials within conditions do not vary",
        n_conditions=trials.n_conditions,
        notes=(*trials.notes, *filter(None, [_many_neurons(trials)])),
        options=options,
    )


def _many_neurons(trials: Trials) -> str:
    effect = "noise is whitened only in part. Do not compare the value between recordings with other numbers of neurons"
    return describe_many_neurons(trials.n_neurons, trials.n_trials // 2 - trials.n_conditions, effect)
