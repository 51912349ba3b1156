"""Comparison of the distances between conditions at every pair of times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, coordinate_values, table_values
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import Cube
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro._trials import Conditions, EqualTrials, Halves, How, Numbers, Trials, unused_trials
from shesha.neuro.split_half_reliability import FEWEST_CONDITIONS, SplitScore
from shesha.neuro.trial_order_null import Null, Orders
from shesha.nulls import summarise
from shesha.results import OverTime
from shesha.support.device_arrays import to_host
from shesha.support.draw_counts import N_PERMUTATIONS
from shesha.support.provenance import keep_statements
from shesha.support.seeds import spawn
from shesha.support.types import Labels, Matrix, Seed, Vector

_FEWEST_PAIRS = 3
"""Smallest number of pairs of conditions for which the rank correlation of distances is meaningful."""


@keep_statements
def over_time(
    X: Any,
    conditions: Conditions,
    *,
    times: ArrayLike | None = None,
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
) -> OverTime:
    """Rank correlation of the distances at every pair of times, computed from two halves of the trials.

    The diagonal shows when the geometry is reliable, and the other entries show whether it is the same at other times.
    To correct for multiple testing, each entry is compared with the largest entry under each permutation of the
    conditions.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording.
    conditions : array of shape (n_trials,) or (n_trials, n_columns), or names of coordinates of a DataArray
        The condition of each trial.
    times : array of shape (n_times,), optional
        The times, in any unit. Default: the times of a DataArray, or 0, 1, 2, ... for other arrays.
    how, metric, normalize, n_splits, n_blocks, trials_per_half, min_trials
        See `trial_split`. If a pair of conditions has no distance at some time, it gets the mean rank there.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`.
    missing
        See `crossnobis`.

    Returns
    -------
    OverTime
        Contains symmetric `values`, `chance` and corrected `p_values`, each of shape (n_times, n_times). NaN, with a
        reason and a warning, if fewer than three conditions have trials in both halves.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(8, size=200)
    >>> gain = np.array([0, 0, 1, 1])
    >>> rates = 2 + gain * rng.gamma(1, 2, size=(8, 20))[shown][:, :, None]
    >>> found = over_time(rng.poisson(rates), shown, times=[-100, 0, 100, 200], n_permutations=39)
    >>> found.argmax, found.significant
    ((100, 100), True)
    """
    return _result(
        *tables_over_orders(
            X,
            conditions,
            times=times,
            how=how,
            metric=metric,
            normalize=normalize,
            n_splits=n_splits,
            n_blocks=n_blocks,
            trials_per_half=trials_per_half,
            min_trials=min_trials,
            n_permutations=n_permutations,
            null=null,
            blocks=blocks,
            block_length=block_length,
            alpha=alpha,
            seed=seed,
            missing=missing,
        )
    )


def tables_over_orders(
    X: Any,
    conditions: Conditions,
    *,
    times: ArrayLike | None,
    metric: Metric,
    normalize: bool,
    n_permutations: int,
    alpha: float,
    seed: Seed,
    missing: MissingRows,
    how: How = "odd-even",
    n_splits: int = 20,
    n_blocks: int = 8,
    trials_per_half: Numbers = "equal",
    min_trials: int = 2,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
) -> tuple[Cube, str, dict[str, Any]]:
    """Return the correlations for the recorded order and each permutation, why some are missing, and result fields."""
    check.choice(metric, METRICS, "metric")
    check.boolean(normalize, "normalize")
    trials = Trials.build(X, conditions, min_trials=check.count(min_trials, "min_trials"), missing=missing)
    if trials.values.ndim != 3:
        raise ValueError(f"X must be (n_trials, n_neurons, n_times), got shape {trials.values.shape}")
    halves = Halves.build(trials.n_trials, how, n_splits, n_blocks, spawn(seed, 1))
    orders = Orders.build(
        trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed
    )
    named = times_of_trials(times, trials)
    options = {"how": how, "metric": metric, "normalize": bool(normalize), "null": null}
    fields: dict[str, Any] = {
        "times": named,
        "n_rows": trials.n_trials,
        "n_neurons": trials.n_neurons,
        "n_conditions": trials.n_conditions,
        "alpha": orders.alpha,
        "exchanged": orders.exchanged,
        "seed": orders.seed,
        "notes": trials.notes,
        "options": {**options, "trials_per_half": trials_per_half},
    }
    equal = EqualTrials.build(trials_per_half, halves, n_splits, seed)
    if trials.n_conditions < FEWEST_CONDITIONS:
        correlations = np.full((1, len(named), len(named)), np.nan)
        return correlations, "fewer than three conditions have enough trials", fields
    use = unused_trials(equal, trials, "half")
    fields |= {"n_conditions": trials.n_conditions - len(use.dropped), "notes": (*trials.notes, *use.notes)}
    scores = [
        SplitScore.build(trials.values[:, :, time], trials.n_conditions, halves, metric, normalize, equal)
        for time in range(len(named))
    ]
    with single_threaded_blas():
        correlations = np.array([_table(scores, trials.codes[order]) for order in orders.orders])
    reason = "no pair of times has three pairs of conditions with responses and unequal distances in both halves"
    return correlations, reason, fields


def times_of_trials(times: ArrayLike | None, trials: Trials) -> tuple[float, ...]:
    """Return the given times, those of a labelled array, or 0, 1, 2 and so on."""
    n = trials.values.shape[2]
    if times is None and trials.source is not None and trials.source.dims[2] in trials.source.coords:
        times = coordinate_values(trials.source, str(trials.source.dims[2]))[1]
    values = np.arange(n) if times is None else to_host(table_values(times, "times"), "times")
    if values.shape != (n,) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"times must contain one number for each of the {n} time points, got {values.dtype} {values.shape}"
        )
    return tuple(values.tolist())


def _table(scores: list[SplitScore], codes: Labels) -> Matrix:
    """Agreement between every two times, averaged over splits and over which half comes first."""
    both = [score.distances(codes) for score in scores]
    # The shape of each half is (n_splits, n_times, n_pairs).
    halves = [np.array([pair[side] for pair in both]).transpose(1, 0, 2) for side in (0, 1)]
    # A pair that has no distance at any time in one half is excluded, because it says nothing about agreement.
    shared = np.logical_and(*(np.isfinite(half).any(axis=1, keepdims=True) for half in halves))
    halves = [np.where(shared, half, np.nan) for half in halves]
    first, second = (np.array([centred_ranks(split) for split in half]) for half in halves)
    products = first @ second.transpose(0, 2, 1)
    jointly = np.isfinite(halves[0]).astype(np.float64) @ np.isfinite(halves[1]).astype(np.float64).transpose(0, 2, 1)
    known = ~np.isnan(products) & (jointly >= _FEWEST_PAIRS)
    total = np.where(known, products, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    mean = total / np.where(counts > 0, counts, np.nan)
    table: Matrix = (mean + mean.T) / 2
    return table


def _result(tables: Cube, reason: str, fields: dict[str, Any]) -> OverTime:
    observed = tables[0]
    largest = _largest(tables)
    if np.isnan(largest[0]):
        check.not_estimable(f"over time: {reason}")
    fields["reason"] = reason if np.isnan(largest[0]) else ""
    null = largest[1:]
    chance = _mean(tables[1:]) if len(null) else np.full(observed.shape, np.nan)
    p_values = np.full(observed.shape, np.nan)
    if len(null) and not np.isnan(largest[0]):
        for i, j in np.argwhere(~np.isnan(observed)):
            p_values[i, j] = summarise(float(observed[i, j]), null, "higher", fields["alpha"], 1.0).p_value
        summary = summarise(float(largest[0]), null, "higher", fields["alpha"], 1.0)
        fields |= summary.evidence()
    values, means, corrected = (tuple(map(tuple, matrix.tolist())) for matrix in (observed, chance, p_values))
    return OverTime(
        values=values,
        chances=means,
        p_values=corrected,
        value=float(largest[0]),
        null=tuple(null.tolist()),
        **(fields | {"n_draws": len(null)}),
    )


def _largest(tables: Cube) -> Vector:
    filled = np.where(np.isnan(tables), -np.inf, tables).max(axis=(1, 2))
    return np.where(np.isinf(filled), np.nan, filled)


def _mean(tables: Cube) -> Matrix:
    known = ~np.isnan(tables)
    counts = known.sum(axis=0)
    mean: Matrix = np.where(known, tables, 0.0).sum(axis=0) / np.where(counts > 0, counts, np.nan)
    return mean
