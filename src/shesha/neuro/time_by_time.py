"""Distances between conditions at every pair of times, and clusters of times at which they are reliable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, NamedRows, Names, coordinate_values, table_values, validation as check
from shesha.kernels.condition_distances import Cube, centre_and_scale, condition_distances
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.searchlight import permute_model
from shesha.neuro.split_half_reliability import SplitScore
from shesha.neuro.trial_order_null import Null, Orders
from shesha.neuro.trials import (
    FEWEST_CONDITIONS,
    Conditions,
    EqualTrials,
    Halves,
    How,
    Numbers,
    Trials,
    describe_use,
    means_of_known,
    require_conditions,
)
from shesha.nulls import summarise
from shesha.nulls.null_summary import number_against_null
from shesha.results import OverTime, sentence_parts as say
from shesha.results.base import draws_axes
from shesha.results.number import TIE, Number, NumberTable
from shesha.support.device_arrays import to_host
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import ALPHA, N_PERMUTATIONS, number, spawn
from shesha.support.types import Array, Index, Labels, Matrix, Seed, Vector
from shesha.support.wording import count, first_and_last, join_items
from shesha.views import Rdm, select_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    alpha: float = ALPHA,
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
    # Only the arguments are local variables here.
    return _result(*tables_over_orders(**locals()))


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
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    named = times_of_trials(times, trials)
    options = {"how": how, "metric": metric, "normalize": bool(normalize), "null": null}
    fields: dict[str, Any] = {
        "times": named,
        "n_rows": trials.n_trials,
        "n_neurons": trials.n_neurons,
        "column_noun": trials.column_noun,
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
    use = describe_use(equal, trials, "half")
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
    if times is None and hasattr(trials.given, "get_data"):
        times = getattr(trials.given, "times", None)
    elif times is None and trials.source is not None and trials.source.dims[2] in trials.source.coords:
        times = coordinate_values(trials.source, str(trials.source.dims[2]))[1]
    values = np.arange(n) if times is None else to_host(table_values(times, "times"), "times")
    if values.shape != (n,) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"times must contain one number for each of the {n} time points, got {values.dtype} {values.shape}"
            + "; the axes of X are trials, neurons and times" * (values.shape == trials.values.shape[1:2])
        )
    # Sums of steps miss 0 by a rounding error.
    near_zero = np.abs(values) <= _ROUNDING * np.abs(values).max(initial=0.0)
    return tuple(np.where(near_zero, 0, values).tolist())


_ROUNDING = 1e-12
"""Largest rounding error of a time, relative to the largest time."""


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
    mean = means_of_known(np.where(known, products, np.nan))
    table: Matrix = (mean + mean.T) / 2
    return table


def _result(tables: Cube, reason: str, fields: dict[str, Any]) -> OverTime:
    observed = tables[0]
    largest = _largest(tables)
    if np.isnan(largest[0]):
        check.not_estimable(f"over time: {reason}")
    fields["reason"] = reason if np.isnan(largest[0]) else ""
    null = largest[1:]
    chance = means_of_known(tables[1:]) if len(null) else np.full(observed.shape, np.nan)
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


def standardise_over_draws(draws: Array, alpha: float) -> tuple[Array, Array]:
    """Return draws in standard deviations, and for each entry the value that a share alpha of its draws exceeds.

    The observed values, which come first, count as a draw, so that the test stays valid.

    Parameters
    ----------
    draws : array of shape (n_draws + 1, ...)
        The observed values, then those of each draw.
    alpha : float
    """
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(spread > TIE * np.abs(draws).max(axis=0), (draws - mean) / spread, 0.0)
    z = np.where(np.isnan(draws).any(axis=0), np.nan, z)
    return z, np.quantile(z, 1 - alpha, axis=0, method="higher")


def grid_clusters(draws: Array, threshold: Any) -> tuple[Index, Vector, Vector]:
    """Find clusters of neighbouring entries above a threshold, and compare their masses with those of the draws.

    Parameters
    ----------
    draws : array of shape (n_draws + 1, ...)
        Statistics of each entry of a grid of one or more dimensions: observed, then of each draw. NaN entries belong to
        no cluster. Entries are neighbours if they differ by 1 in one dimension.
    threshold : float, or array with one value per entry
        Entries above it form clusters.

    Returns
    -------
    labels : array of int
        For each entry, the number of its cluster from 1, or 0.
    masses : array of shape (n_clusters,)
        Sum of the statistic over each cluster.
    null : array of shape (n_draws,)
        Largest mass of each draw, 0 without clusters.

    Examples
    --------
    >>> draws = np.array([[0.0, 3, 4, 0, 3], [0, 0, 5, 0, 0], [3, 3, 3, 0, 0]])
    >>> labels, masses, null = grid_clusters(draws, 2.0)
    >>> labels.tolist(), masses.tolist(), null.tolist()
    ([0, 1, 1, 0, 2], [7.0, 3.0], [5.0, 9.0])
    """
    from scipy.ndimage import generate_binary_structure, label

    structure = generate_binary_structure(draws.ndim, 1)
    # Entries of different draws are not neighbours.
    structure[[0, 2]] = False
    above = draws > threshold
    labels: Any
    labels, n = label(above, structure)
    masses: Any = np.bincount(labels[above], weights=draws[above], minlength=n + 1)
    draw = np.zeros(n + 1, dtype=np.intp)
    draw[labels] = np.arange(len(draws)).reshape(-1, *[1] * (draws.ndim - 1))
    largest = np.zeros(len(draws))
    np.maximum.at(largest, draw[1:], masses[1:])
    n_observed = int(labels[0].max(initial=0))
    return labels[0], masses[1 : n_observed + 1], largest[1:]


@dataclass(frozen=True, kw_only=True)
class TimeCluster(Number):
    """A cluster of neighbouring times. Its value is its mass: the sum of z-scores over its entries."""

    n_entries: int = 0
    """Number of times, or of pairs of times."""
    first: float = 0.0
    last: float = 0.0
    peak: float = 0.0
    """Largest correlation in the cluster."""
    entries: tuple[tuple[int, int], ...] = ()
    """Places of its entries among all pairs of times; empty for times of each time with itself."""


_ENOUGH = 5
"""How many draws, with the given order, for each entry above its threshold suffice to form clusters."""


@dataclass(frozen=True, kw_only=True)
class TimeClusters(NumberTable):
    """Clusters of neighbouring times, each compared with the largest cluster of every draw from the null."""

    numbers: tuple[TimeCluster, ...]
    """The clusters, the largest mass first."""
    times: tuple[float, ...]
    values: tuple[float, ...]
    """Correlation at each time, of each time with itself."""
    chances: tuple[float, ...]
    """Mean of the null at each time."""
    forming: float
    """Level of the single entries that form clusters."""
    alpha: float
    what: str
    """What was correlated."""
    n_draws: int
    exchanged: str
    null: tuple[float, ...] = ()
    """Largest mass of each draw."""
    seed: int | None = None
    table: tuple[tuple[float, ...], ...] = ()
    """Correlation at each pair of times; empty for times of each time with itself."""

    WHAT: ClassVar[str] = "clusters of times"
    NAMES: ClassVar[tuple[str, ...]] = ("first", "last", "peak", "n_entries")

    @property
    def headline(self) -> str:
        """Which times belong to clusters above chance."""
        found = self.significant
        where = f": {join_items(each.name for each in found)}" if found else ""
        # A few draws that repeat the given order may exceed the threshold of a time alone.
        few = not self.numbers and self.n_draws + 1 < _ENOUGH / self.forming
        return (
            f"{count(len(found), 'cluster')} of times above chance ({self.alpha:g}, corrected for all times){where} "
            f"({self.what})"
            + f"; {self.n_draws} draws are too few to exclude one, pass n_permutations={_ENOUGH / self.forming - 1:.0f}"
            * few
            + "."
        )

    def _claim(self) -> str:
        return say.listing(
            self.headline,
            [f"{say.clause(each)}, largest correlation {say.format_number(each.peak)}" for each in self.numbers],
            f"mass of clusters of times with p below {self.forming:g}, p from the largest cluster in "
            f"{say.draws(self.n_draws, self.exchanged)}",
            others="clusters",
        )

    @property
    def _significant(self) -> list[TimeCluster]:
        return [each for each in self.numbers if each.significant]

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the correlation at each time or pair of times, and the clusters above chance."""
        from shesha.charts import curves, frame_cell, full_range, heat_map

        if self.table:
            names, values = [f"{time:.3g}" for time in self.times], np.array(self.table)
            ax = heat_map(values, names, names, title=self.what, limits=full_range(values, "higher"), ax=ax)
            for i, j in {place for each in self._significant for pair in each.entries for place in (pair, pair[::-1])}:
                frame_cell(ax, i, j)
            ax.set(xlabel="time of one half", ylabel="time of the other half")
            return ax
        ax = curves(self.times, {"measured": self.values, "chance": self.chances}, labels=("time", self.what), ax=ax)
        for each in self._significant:
            ax.axvspan(each.first, each.last, color="#b9c7d6", alpha=0.5, linewidth=0)
        ax.set_ylim(top=1.02)
        return ax


@keep_statements
def time_clusters(
    X: Any,
    conditions: Conditions,
    *,
    model: ArrayLike | Rdm | None = None,
    times: ArrayLike | None = None,
    pairs: Literal["same time", "all"] = "same time",
    forming: float = 0.05,
    metric: Metric = "cosine",
    normalize: bool = True,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
    **options: Any,
) -> TimeClusters:
    """Find clusters of times at which distances between conditions are reliable, or match a model.

    Neighbouring times at which the correlation exceeds most of its null form a cluster. The mass of each cluster is
    compared with the largest mass of every draw (Maris and Oostenveld 2007). If an effect lasts for several times, this
    test has more power than the maximum over times, which `over_time` uses.

    Parameters
    ----------
    X, conditions, times
        See `over_time`.
    model : array of shape (n_conditions, n_conditions), its condensed triangle, or Rdm, optional
        Distances of a model. If it has names of the conditions, as a data frame or `Rdm` can, these are matched.
        Otherwise it must be in the order of the conditions: sorted, or as the categories of a data frame. At every
        time they are rank-correlated with the distances between the mean responses, and their conditions are permuted
        for the null. Default: reliability of the distances between halves of the trials, whose null permutes trials.
    pairs : {'same time', 'all'}
        Whether to correlate the halves at the same time only, or at all pairs of times (temporal generalisation).
    forming : float
        Level of the single times that form clusters. It changes which effects are found (a low level finds short and
        strong ones), but not the rate of false claims. Choose it before you see the data.
    metric, normalize
        See `trial_split`.
    n_permutations : int
        Number of permutations, at least 1 / alpha - 1.
    alpha : float
        Significance level of the clusters.
    seed : int, Generator or None
    missing
        See `crossnobis`.
    **options
        Further options of `over_time`, such as ``null`` and ``how``; none of them applies to a model.

    Returns
    -------
    TimeClusters

    Notes
    -----
    A significant cluster says that there is an effect, not when it begins: the first and the last time of a cluster
    have no error rate (Sassenhagen and Draschkow 2019). To claim single times, use the p-values of `over_time`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(8, size=240)
    >>> gain = np.array([0, 0, 1, 1, 1, 0])
    >>> rates = 2 + gain * rng.gamma(1, 2, size=(8, 20))[shown][:, :, None]
    >>> found = time_clusters(rng.poisson(rates), shown, times=range(0, 600, 100), n_permutations=99)
    >>> found.headline
    '1 cluster of times above chance (0.05, corrected for all times): 200 to 400 (reliability of distances).'
    """
    check.fraction(forming, "forming", closed=False)
    check.choice(pairs, ("same time", "all"), "pairs")
    if model is None:
        tables, reason, fields = tables_over_orders(
            X,
            conditions,
            times=times,
            metric=metric,
            normalize=normalize,
            n_permutations=check.count(n_permutations, "n_permutations"),
            alpha=alpha,
            seed=seed,
            missing=missing,
            **options,
        )
        if np.isnan(tables[0]).all():
            raise ValueError(f"X must have distances in both halves of the trials, got none: {reason}")
        draws = np.diagonal(tables, axis1=1, axis2=2)
        if pairs == "all":
            # The tables are symmetric.
            draws = np.where(np.triu(np.ones(tables.shape[1:], dtype=bool)), tables, np.nan)
        return _clusters(np.asarray(draws), fields, forming, "reliability of distances")
    if options or pairs != "same time":
        raise ValueError(f"model must be None for {join_items(options or ['pairs'])}, got a model")
    check.choice(metric, METRICS, "metric")
    trials = Trials.build(X, conditions, min_trials=1, missing=missing)
    if trials.values.ndim != 3:
        raise ValueError(f"X must be (n_trials, n_neurons, n_times), got shape {trials.values.shape}")
    state(f"conditions of the model: {first_and_last(trials.names)}")
    distances = _mean_distances(trials, metric, check.boolean(normalize, "normalize"))
    draws, exchanged = _model_correlations(distances, model, trials.names, n_permutations, alpha, seed)
    fields = {
        **{"times": times_of_trials(times, trials), "alpha": alpha, "exchanged": exchanged},
        **{"seed": number(seed), "notes": trials.notes},
    }
    return _clusters(draws, fields, forming, "correlation with the model")


def _mean_distances(trials: Trials, metric: Metric, normalize: bool) -> Matrix:
    """Return the distances (n_times, n_pairs) between the mean responses to all conditions."""
    member = (trials.codes[None] == np.arange(trials.n_conditions)[:, None]).astype(np.float64)
    rows = []
    for time in range(trials.values.shape[2]):
        rates = np.asarray(trials.values[:, :, time], dtype=np.float64)
        rows.append(member @ centre_and_scale(rates, unit=normalize, centred=metric == "correlation"))
    counts = np.broadcast_to(member.sum(axis=1), (len(rows), trials.n_conditions))
    return condition_distances(np.array(rows), counts, metric)


def _model_correlations(
    distances: Matrix, model: ArrayLike | Rdm, names: Sequence[str], n_permutations: int, alpha: float, seed: Seed
) -> tuple[Array, str]:
    """Return correlations (n_draws + 1, n_times) with the model and with its permutations."""
    n, rdm = len(names), model if isinstance(model, Rdm) else Rdm(model, "model")
    shown = NamedRows(np.zeros((n, 1)), Names.build(np.array(names, dtype=object)))
    if rdm.names is not None and rdm.n_rows > n:
        # Conditions of the model that were not recorded are left out by name, and stated.
        rdm = select_rows({"conditions": shown, "model": rdm}, rows="shared")[0]["model"]
    require_conditions(rdm, names)
    if rdm.n_rows != n or rdm.n_missing:
        got = "missing distances" if rdm.n_rows == n else f"{rdm.n_rows}"
        raise ValueError(
            f"model must have all distances between the {n} conditions {check.join_items(names)}, got {got}"
        )
    rdm = select_rows({"conditions": shown, "model": rdm}, align=True)[0]["model"]
    ranks = centred_ranks(rdm.condensed[None])[0]
    models, exchanged = permute_model(ranks, n, n_permutations, alpha, None, seed)
    complete = ~np.isnan(distances).any(axis=1, keepdims=True)
    scores = models @ np.where(complete, centred_ranks(distances), np.nan).T
    return scores, "the conditions of the model" if exchanged == "all rows" else exchanged


def _span_name(spans: list[tuple[float, float]]) -> str:
    """Return the first and last time of a cluster, on both axes if they differ."""
    names = [f"{first:g} to {last:g}" if last > first else f"{first:g}" for first, last in spans]
    return " with ".join(dict.fromkeys(names))


def _clusters(draws: Array, fields: dict[str, Any], forming: float, what: str) -> TimeClusters:
    z, threshold = standardise_over_draws(draws, forming)
    pairs = draws.ndim == 3
    labels, masses, null = grid_clusters(z, threshold)
    times, alpha = np.asarray(fields["times"]), fields["alpha"]
    shared = {"exchanged": fields["exchanged"], "seed": fields["seed"]}
    clusters = []
    for place in np.argsort(-masses, kind="stable"):
        inside = labels == place + 1
        spans = [(float(times[places].min()), float(times[places].max())) for places in np.nonzero(inside)]
        numbers: dict[str, Any] = {
            "n_entries": int(inside.sum()),
            "first": spans[0][0],
            "last": spans[-1][1],
            "peak": float(draws[0][inside].max()),
            "entries": tuple(zip(*(places.tolist() for places in np.nonzero(inside)), strict=True)) if pairs else (),
        }
        one = number_against_null(
            _span_name(spans),
            float(masses[place]),
            null,
            alpha=alpha,
            kind=TimeCluster,
            **shared,
            **numbers,
        )
        # The draws are the largest masses, so the p-value is corrected for all clusters.
        clusters.append(replace(one, corrected_p_value=one.p_value, null=()))
    same = [table if table.ndim == 1 else np.diagonal(table) for table in (draws[0], draws[1:].mean(axis=0))]
    return TimeClusters(
        numbers=tuple(clusters),
        times=tuple(fields["times"]),
        values=tuple(same[0].tolist()),
        chances=tuple(same[1].tolist()),
        forming=forming,
        alpha=alpha,
        what=what,
        n_draws=len(null),
        exchanged=fields["exchanged"],
        null=tuple(null.tolist()),
        seed=fields["seed"],
        table=tuple(map(tuple, np.fmax(draws[0], draws[0].T).tolist())) if pairs else (),
        notes=tuple(fields["notes"]),
    )
