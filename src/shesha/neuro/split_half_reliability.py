"""Split-half reliability of the distances between conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import (
    agreement,
    centre_and_scale,
    compress_columns,
    condition_distances,
    half_sums,
)
from shesha.kernels.distances import METRICS, Metric
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.equal_trials import EqualTrials, Numbers, Use, unused_trials
from shesha.neuro.trial_halves import Halves, How
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.results import TrialScore
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.plurals import agree, count
from shesha.support.provenance import keep_statements
from shesha.support.seeds import spawn
from shesha.support.types import Labels, Matrix, Seed

FEWEST_CONDITIONS = 3


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
        agreements = agreement(*self.distances(codes))
        known = agreements[~np.isnan(agreements)]
        return float(known.mean()) if len(known) else float("nan")


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
    alpha: float = 0.05,
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
    split of trials (odd and even trials, 13 trials per condition): 0.9427, above
        chance
      chance 0.0202 +- 0.15 (6.11 sd above), p = 0.00995 (200 circular shifts)
      240 trials (84 unused in each draw) x 30 neurons, 6 conditions
      note: 84 of 240 trials are unused, because numbers of trials are equalised. To
        use more, leave out rare conditions (min_trials=), or pass
        trials_per_half='all'
    """
    check.choice(metric, METRICS, "metric")
    check.boolean(normalize, "normalize")
    trials = Trials.build(X, conditions, min_trials=check.count(min_trials, "min_trials"), missing=missing)
    halves = Halves.build(trials.n_trials, how, n_splits, n_blocks, spawn(seed, 1))
    orders = Orders.build(
        trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed
    )
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
            f"trials, but at least {FEWEST_CONDITIONS} are needed"
        )
    else:
        score = SplitScore.build(trials.rates, trials.n_conditions, halves, metric, normalize, equal)
        values = over_orders(lambda order: score.value(trials.codes[order]), orders)
        reason = "no split has three pairs of conditions with responses and unequal distances in both halves"
        odd, even = (set(trials.codes[start::2].tolist()) for start in (0, 1))
        if halves.how == "odd-even" and len(odd & even) < FEWEST_CONDITIONS:
            reason = "odd and even trials show different conditions; pass how='random' or how='blocks'"
        use = unused_trials(equal, trials, "half")
    reliability = {"reliability of all trials": float(2 * values[0] / (1 + values[0]))} if values[0] > 0 else {}
    return orders.summarise(
        f"split of trials ({halves.text}, {use.text})",
        values,
        trials,
        reason=reason,
        n_conditions=trials.n_conditions - len(use.dropped),
        n_unused=use.n_unused,
        dropped=use.dropped,
        notes=(*trials.notes, *_silence(trials), *use.notes),
        further=reliability if equal is None else {},
        options=options,
    )


def _silence(trials: Trials) -> tuple[str, ...]:
    n_silent = int(trials.silent.sum())
    n_empty = int((~trials.rates.any(axis=1)).sum())
    notes = [f"{n_silent} of {trials.n_neurons} neurons without any response"] if n_silent else []
    return (*notes, *([f"{count(n_empty, 'trial')} without any response"] if n_empty else []))
