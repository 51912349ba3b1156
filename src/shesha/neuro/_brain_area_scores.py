"""The scores of a single area in a single session."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from shesha.kernels.condition_distances import centre_and_scale
from shesha.kernels.distances import Metric
from shesha.neuro._trials import Trials
from shesha.neuro.coupling_with_behaviour import coupling_score
from shesha.neuro.equal_trials import EqualTrials, Numbers
from shesha.neuro.split_half_reliability import split_score
from shesha.neuro.trial_halves import Halves, How
from shesha.neuro.trial_order_null import Null, Orders
from shesha.neuro.whitened_cosine import wuc_score
from shesha.neuro.within_session_drift import drift_score
from shesha.results import AreaScore, TrialScore
from shesha.support.seeds import spawn
from shesha.support.types import Index, Vector
from shesha.support.warnings import NotEstimableWarning


@dataclass(frozen=True)
class AreaOptions:
    """Options for scoring areas."""

    scores: tuple[str, ...]
    how: How
    metric: Metric
    normalize: bool
    n_splits: int
    n_blocks: int
    trials_per_half: Numbers
    n_neurons: int | None
    n_draws: int
    n_permutations: int
    null: Null
    drift_null: Null
    alpha: float
    seed: int

    def orders(self, n_trials: int, null: Null) -> Orders:
        """Permutations of the trials, which are the same for all areas of a session."""
        return Orders.build(n_trials, self.n_permutations, null, alpha=self.alpha, seed=self.seed)

    def halves(self, n_trials: int) -> Halves:
        """Halves of the trials, which are the same for all areas of a session."""
        return Halves.build(n_trials, self.how, self.n_splits, self.n_blocks, spawn(self.seed, 1))

    def neurons(self, n: int) -> list[Index]:
        """Return which neurons to score: all of them, or several random draws of `n_neurons`."""
        if self.n_neurons is None or self.n_neurons == n:
            return [np.arange(n)]
        rng = spawn(self.seed, 2)
        return [np.sort(rng.choice(n, self.n_neurons, replace=False)) for _ in range(self.n_draws)]


Scorer = Callable[[Trials, Vector | None, AreaOptions], TrialScore]


def _split(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    orders, halves = options.orders(trials.n_trials, options.null), options.halves(trials.n_trials)
    equal = EqualTrials.build(options.trials_per_half, halves, options.n_splits, options.seed)
    return split_score(trials, halves, orders, options.metric, options.normalize, {}, equal)


def _wuc(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    orders, halves = options.orders(trials.n_trials, options.null), options.halves(trials.n_trials)
    return wuc_score(trials, halves, orders, options.normalize, None, {})


def _drift(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    rows = centre_and_scale(trials.rates, unit=options.normalize, centred=False)
    return drift_score(rows, trials, options.orders(trials.n_trials, options.drift_null))


def _coupling_score(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    if outcome is None:
        orders = options.orders(trials.n_trials, options.null)
        return orders.summarise("coupling", np.full(1, np.nan), trials, reason="the session has no trial outcomes")
    known = ~np.isnan(outcome)
    trials = trials.keep(known, "without an outcome")
    return coupling_score(trials, outcome[known], options.orders(trials.n_trials, options.null))


ALL: Mapping[str, Scorer] = {
    "trial_split": _split,
    "centroid_drift": _drift,
    "wuc": _wuc,
    "behaviour_coupling": _coupling_score,
}


def score_area(trials: Trials, outcome: Vector | None, options: AreaOptions) -> dict[str, AreaScore]:
    """Compute the requested scores of an area, averaged over draws of neurons if `n_neurons` is set."""
    drawn = [trials.take_neurons(neurons) for neurons in options.neurons(trials.n_neurons)]
    with warnings.catch_warnings():
        # The reasons are stored with the scores, so the warnings would only repeat them.
        warnings.simplefilter("ignore", NotEstimableWarning)
        return {name: _mean([ALL[name](draw, outcome, options) for draw in drawn], options) for name in options.scores}


def _mean(scores: list[TrialScore], options: AreaOptions) -> AreaScore:
    """Average the score and its permuted values over draws of neurons, which share their permutations."""
    known = [score for score in scores if score.observed == score.observed]
    if not known:
        return AreaScore(value=float("nan"), reason=scores[0].reason)
    first = known[0]
    if len(scores) == 1 or not first.null:
        return replace(_plain(first), value=float(np.mean([score.observed for score in known])))
    values = np.array([[score.observed, *score.null] for score in known]).mean(axis=0)
    orders = replace(options.orders(first.n_trials, "permute"), exchanged=first.exchanged)
    trials = Trials(np.zeros((first.n_trials, 1)), np.zeros(first.n_trials, dtype=np.intp), ("",))
    summary = orders.summarise(first.name, values, trials, closer=first.closer, best=None)
    return _plain(replace(summary, n_unused=first.n_unused, dropped=first.dropped))


def _plain(score: TrialScore) -> AreaScore:
    fields = ("null_mean", "null_sd", "threshold", "score", "p_value", "n_unused", "dropped")
    return AreaScore(value=score.observed, reason=score.reason, **{name: getattr(score, name) for name in fields})
