"""Correlations over clusters, with a jackknife, and over trials, between responses and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import f as f_ratio, t as student

from shesha.doubting import describe_code
from shesha.inputs import MissingRows, align_labels, table_values, validation as check
from shesha.inputs.class_labels import state_suspicious_classes
from shesha.kernels.mean_intervals import t_margin
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.rounding_and_scaling import is_constant, safe_unit
from shesha.neuro.trial_order_null import Null, Orders, null_evidence, over_orders, state_dependence
from shesha.neuro.trials import Trials, numbers_of_objects
from shesha.nulls.design_warnings import p_value_within_design
from shesha.results import TrialScore
from shesha.results.doubts import LEVEL
from shesha.support.device_arrays import to_host
from shesha.support.provenance import keep_statements, state_warning
from shesha.support.seeds import ALPHA
from shesha.support.types import Mask, Matrix, Seed, Vector

Interval = tuple[float, float]
UNKNOWN: Interval = (float("nan"), float("nan"))
_SHIFTED = "circular shifts"
_DETRENDED = "correlation without the trends over the session"
_ROUNDING = 1e-6
"""Length, relative to that of a series, below which what is left of it is rounding."""


def jackknife_correlation(
    score: Callable[[Mask], float], clusters: Sequence[str] | range, confidence: float
) -> tuple[Interval, float]:
    """Confidence interval and p-value of a correlation, from a jackknife over clusters.

    Parameters
    ----------
    score : callable
        Function that takes a mask of the observations to use and returns a correlation.
    clusters : sequence of str
        Cluster of each observation.
    confidence : float

    Returns
    -------
    interval, p-value
        Both are computed from Student's t on Fisher's scale; NaN if there are fewer than three clusters.
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n = int(codes.max()) + 1 if len(codes) else 0
    estimate = _fisher(score(np.ones(len(codes), dtype=bool)))
    if n < 3 or np.isnan(estimate):
        return UNKNOWN, float("nan")
    rest = np.array([_fisher(score(codes != code)) for code in range(n)])
    error = float(np.sqrt((n - 1) / n * ((rest - rest.mean()) ** 2).sum()))
    if is_constant(rest, n_terms=len(codes)):
        return UNKNOWN, float("nan")
    margin = float(t_margin(error, n - 1, confidence))
    return (float(np.tanh(estimate - margin)), float(np.tanh(estimate + margin))), float(
        2 * student.sf(abs(estimate) / error, n - 1)
    )


def _fisher(correlation: float) -> float:
    return float(np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12)))


@keep_statements
def behaviour_coupling(
    X: Any,
    outcome: ArrayLike,
    *,
    n_permutations: int = 500,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Rank correlation, over trials, between the size of the population response and the outcome.

    Both change slowly along a session (arousal, satiety), which alone makes them correlated. The null distribution
    comes from shifting the outcomes along the session, which preserves the slow changes of both, except those over the
    whole session, because a shift moves its end to its beginning. Therefore, circular shifts come with a second test,
    of the correlation without cubic trends, with shifts along the outcomes and their reflection. The larger p-value
    decides (`corrected_p_value`). Other nulls come with a warning if both depend on the order that these permute. In
    400 simulations of 72 trials, independent random walks were significant in 11 % with shifts alone and in 2 % with
    both tests, and independent rises over the session in 100 % and 7 %.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording; they are averaged over time.
    outcome : array of shape (n_trials,)
        One number per trial, such as a reaction time, or 1 for correct and 0 for wrong.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`.
    missing
        See `crossnobis`. Trials without an outcome (NaN) are always left out and counted.

    Returns
    -------
    TrialScore
        Value in [-1, 1], with a two-sided p-value; NaN, with a reason and a warning, if the outcome or the size of the
        response is constant over trials.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> aroused = rng.random(200) < 0.5
    >>> found = behaviour_coupling(rng.poisson(np.where(aroused, 3, 2)[:, None], (200, 20)), aroused)
    >>> round(found.value, 2), found.significant
    (0.82, True)
    """
    trials = Trials.from_responses(X, missing=missing)
    values = trials.take(check_outcome(align_labels(X, outcome, "outcome"), trials))
    trials = trials.keep(~np.isnan(values), "without an outcome")
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    return coupling_score(trials, values[~np.isnan(values)], orders)


def coupling_score(trials: Trials, outcome: Vector, orders: Orders) -> TrialScore:
    """Score the coupling for trials and outcomes that have been checked."""
    # Sizes that differ only by rounding, such as those of unit-length responses, count as ties.
    rates = trials.rates / safe_unit(trials.rates)
    size, other = centred_ranks(np.stack([np.linalg.norm(rates, axis=1), outcome]))
    score = orders.summarise(
        "coupling between response size and outcome",
        over_orders(lambda order: float(size @ other[order]), orders),
        trials,
        closer="either",
        best=None,
        reason="the outcome or the response size is constant over trials",
    )
    if not score.has_null:
        return score
    if orders.exchanged != _SHIFTED:
        p_value = _order_p_value(size, other, orders)
        state_dependence("response size and outcome", f"p = {p_value:.1g}" if p_value <= LEVEL else "")
        return score
    value, p_value = _without_trends(size, other, orders.alpha)
    note = (
        f"Two series that change over the whole session are correlated by that alone, and circular shifts do not "
        f"reproduce this. Without cubic trends of both over the session, the correlation is {value:.2f} "
        f"(p = {p_value:.2g}). The larger p-value decides"
    )
    return replace(
        score,
        corrected_p_value=max(score.p_value, p_value),
        notes=(*score.notes, note) if p_value > score.p_value else score.notes,
        further=score.further | {_DETRENDED: value},
    )


def _order_p_value(size: Vector, other: Vector, orders: Orders) -> float:
    """Smaller p-value of similar neighbours and of a trend in both series, if the permutations remove these."""
    # Shifts within blocks keep neighbours.
    if orders.design is None or _SHIFTED in orders.exchanged:
        return 1.0
    similar = p_value_within_design(orders.design, size[:, None], other[:, None])
    trends = _trends(len(size))
    n_free = len(size) // (orders.design.block_length or 1) - trends.shape[1]
    if np.ptp(orders.design.block) > 0 or n_free < 1:
        return similar
    share = min(float(((trends.T @ side) ** 2).sum()) for side in (size, other))
    ratio = share / max(1 - share, _ROUNDING) * n_free / (trends.shape[1] - 1)
    return min(similar, float(f_ratio.sf(ratio, trends.shape[1] - 1, n_free)))


def _trends(n: int) -> Matrix:
    """Orthonormal cubic trends: ranks of a line among noise follow an S, which has square and cubic terms."""
    return np.asarray(np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, n), 4))[0])


def _without_trends(first: Vector, second: Vector, alpha: float) -> tuple[float, float]:
    """Return the correlation of two series without their trends, and its two-sided p-value.

    The second series is shifted along itself and its reflection, which join without a jump.
    """
    trends = _trends(len(first))

    def rest(side: Vector) -> Vector:
        left = side - trends @ (trends.T @ side)
        length = float(np.linalg.norm(left))
        return np.asarray(left / length if length > _ROUNDING else 0.0 * left)

    fixed = rest(first)
    around = np.concatenate([second, second[::-1], second])
    values = [float(fixed @ rest(around[start : start + len(first)])) for start in range(2 * len(first))]
    return values[0], float(null_evidence(values[0], np.array(values[1:]), "either", alpha, None)["p_value"])


def check_outcome(outcome: ArrayLike, trials: Trials, name: str = "outcome") -> Vector:
    """Check that the outcome has one number per trial, and return it; NaN marks a trial without an outcome."""
    array = to_host(table_values(outcome, name))
    if array.dtype.kind == "O":
        array = numbers_of_objects(array, name)
    if array.shape != (trials.n_total,) or array.dtype.kind not in "fiub":
        turned = array.shape == (trials.n_neurons,)
        raise ValueError(
            f"{name} must be one number for each of the {trials.n_total} trials, got {array.dtype} of shape "
            f"{array.shape}{'; if the rows of the responses are neurons, pass X.T' if turned else ''}"
        )
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        rows = check.join_items(np.flatnonzero(np.isinf(values)))
        raise ValueError(f"{name} must be finite, got infinity in rows {rows}")
    if text := describe_code(values[~np.isnan(values)], "trial"):
        state_warning(f"{name}: {text}. If so, replace it by NaN: trials without an outcome are left out and counted")
    else:
        # Outcomes are often coded -1 and 1.
        state_suspicious_classes(values[values != -1], name)
    return values
