"""Correlations over areas, sessions or trials: between two scores, and between responses and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from shesha.inputs import MissingRows, align_labels, table_values
from shesha.inputs import validation as check
from shesha.inputs.class_labels import state_suspicious_classes
from shesha.kernels.mean_intervals import t_margin
from shesha.kernels.ranks import centred_ranks, partial_rank_correlations
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.neuro._trials import Trials, numbers_of_objects
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.results import Correlation, SessionTable, TrialScore
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE
from shesha.support.types import Array, Mask, Seed, Vector

Interval = tuple[float, float]
UNKNOWN: Interval = (float("nan"), float("nan"))


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


CLUSTERS = ("session", "animal")


def association(
    table: SessionTable,
    first: str,
    second: str,
    *,
    covariates: Sequence[str] = (),
    clusters: Literal["session", "animal"] = "session",
    confidence: float = CONFIDENCE,
) -> Correlation:
    """Rank correlation of two columns over areas and sessions, with an interval over whole sessions.

    The areas of one session share trials and behaviour, so they are not independent. The interval and the p-value
    therefore come from a jackknife over sessions (or animals). Both columns may increase with the numbers of neurons or
    spikes, which alone makes them correlated; control for these numbers with `covariates`.

    Parameters
    ----------
    table : SessionTable
        Result of `session_table`.
    first, second : str
        Columns of `table.to_frame()`.
    covariates : sequence of str
        Columns whose ranks are regressed out of the ranks of `first` and `second`.
    clusters : {'session', 'animal'}
        Units that are treated as independent; an interval needs at least three of them.
    confidence : float
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Correlation
        `unit` and `n_units` are the clusters; `p_value` comes from Student's t with as many units, and `naive_p` treats
        lines as independent.

    Examples
    --------
    >>> import numpy as np
    >>> from shesha.neuro import Session, session_table
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(4, size=80)
    >>> areas = np.repeat(["A", "B", "C"], 12)
    >>> days = [Session(rng.poisson(2, (80, 36)), shown, areas, rng.random(80)) for _ in range(5)]
    >>> table = session_table(days, scores=["trial_split", "behaviour_coupling"], n_permutations=0)
    >>> found = association(table, "trial_split", "behaviour_coupling")
    >>> found.n_rows, found.n_units, found.low < 0 < found.high
    (15, 5, True)
    """
    check.choice(clusters, CLUSTERS, "clusters")
    check.fraction(confidence, "confidence", closed=False)
    frame = kinds.instance(table, SessionTable, "table", "a SessionTable, as `session_table` returns").to_frame()
    numeric = tuple(str(name) for name in frame.columns if frame[name].dtype.kind in "fi")
    columns = [
        check.choice(name, numeric, "columns") for name in (first, second, *kinds.sequence(covariates, "covariates"))
    ]
    known = frame.dropna(subset=columns)
    values = known[columns].to_numpy(dtype=np.float64)
    if len(values) < 4:
        raise ValueError(f"table must have at least 4 lines with {first} and {second}, got {len(values)}")

    def score(rows: Array) -> float:
        return float(partial_rank_correlations(values[rows], 0, range(2, values.shape[1]))[1])

    named = known[clusters].astype(str).tolist()
    (low, high), p_value = jackknife_correlation(score, named, confidence)
    value = score(np.ones(len(values), dtype=bool))
    free = len(values) - 2 - len(covariates)
    with np.errstate(divide="ignore"):
        naive = float(2 * student.sf(abs(value) * np.sqrt(free / (1 - value**2)), free))
    return Correlation(
        name=f"{first} and {second}",
        first=first,
        second=second,
        covariates=tuple(covariates),
        value=value,
        low=low,
        high=high,
        p_value=p_value,
        naive_p=naive,
        n_rows=len(values),
        n_units=len(set(named)),
        unit=clusters,
        closer="either",
        confidence=confidence,
    )


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
    comes from shifting the outcomes along the session, which preserves the slow changes of both.

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
    values = trials.take(check_outcome(align_labels(X, outcome, "outcome"), trials.n_total))
    trials = trials.keep(~np.isnan(values), "without an outcome")
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    return coupling_score(trials, values[~np.isnan(values)], orders)


def coupling_score(trials: Trials, outcome: Vector, orders: Orders) -> TrialScore:
    """Score the coupling for trials and outcomes that have been checked."""
    # Sizes that differ only by rounding, such as those of unit-length responses, count as ties.
    size, other = centred_ranks(np.stack([np.linalg.norm(trials.rates, axis=1), outcome]))
    return orders.summarise(
        "coupling between response size and outcome",
        over_orders(lambda order: float(size @ other[order]), orders),
        trials,
        closer="either",
        best=None,
        reason="the outcome or the response size is constant over trials",
    )


def check_outcome(outcome: ArrayLike, n_trials: int, name: str = "outcome") -> Vector:
    """Check that the outcome has one number per trial, and return it; NaN marks a trial without an outcome."""
    array = to_host(table_values(outcome, name))
    if array.dtype.kind == "O":
        array = numbers_of_objects(array, name)
    if array.shape != (n_trials,) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be one number for each of the {n_trials} trials, got {array.dtype} of shape {array.shape}"
        )
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        rows = check.join_items(np.flatnonzero(np.isinf(values)))
        raise ValueError(f"{name} must be finite, got infinity in rows {rows}")
    # Outcomes are often coded -1 and 1.
    state_suspicious_classes(values[values != -1], name)
    return values
