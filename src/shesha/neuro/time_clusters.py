"""Clusters of times at which distances between conditions are reliable, or match a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.condition_distances import centre_and_scale, condition_distances
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.ranks import centred_ranks
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.time_by_time import tables_over_orders, times_of_trials
from shesha.nulls import draw_permutations, identity_first
from shesha.nulls.grid_clusters import grid_clusters, standardise_over_draws
from shesha.nulls.null_summary import number_against_null
from shesha.results import sentence_parts as say
from shesha.results.base import draws_axes
from shesha.results.number import Number, NumberTable
from shesha.results.paper_sentences import claim
from shesha.support.draw_counts import N_PERMUTATIONS
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import number
from shesha.support.types import Array, Matrix, Seed
from shesha.support.wording import count, join_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class TimeCluster(Number):
    """A cluster of neighbouring times. Its value is its mass: the sum of z-scores over its entries."""

    n_entries: int = 0
    """Number of times, or of pairs of times."""
    first: float = 0.0
    last: float = 0.0
    peak: float = 0.0
    """Largest correlation in the cluster."""


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

    WHAT: ClassVar[str] = "clusters of times"
    NAMES: ClassVar[tuple[str, ...]] = ("first", "last", "peak", "n_entries")

    @property
    def headline(self) -> str:
        """Which times belong to clusters above chance."""
        found = self.significant
        where = f": {join_items(each.name for each in found)}" if found else ""
        return (
            f"{count(len(found), 'cluster')} of times above chance ({self.alpha:g}, corrected for all times){where} "
            f"({self.what})."
        )

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the correlation at each time, its chance level, and the clusters above chance."""
        from shesha.charts import curves

        ax = curves(self.times, {"measured": self.values, "chance": self.chances}, labels=("time", self.what), ax=ax)
        for each in self.significant:
            ax.axvspan(each.first, each.last, color="#b9c7d6", alpha=0.5, linewidth=0)  # type: ignore[attr-defined]
        return ax


@claim.register
def _claim(result: TimeClusters) -> str:
    clauses = [
        f"{each.name} (mass {say.format_number(each.value)}, largest correlation {say.format_number(each.peak)}, p = "
        f"{say.format_p(each.corrected_p_value)})"
        for each in result.numbers
    ]
    clusters = f": {say.join_clauses(clauses, 'clusters')}" if clauses else ""
    return (
        f"{len(result.significant)} of {say.count(len(result), 'cluster')} of times exceeded chance at "
        f"{result.alpha:g} ({result.what}; clusters of times with p below {result.forming:g}, p of the mass from the "
        f"largest cluster in {say.draws(result.n_draws, result.exchanged)}){clusters}"
    )


@keep_statements
def time_clusters(
    X: Any,
    conditions: Conditions,
    *,
    model: ArrayLike | None = None,
    times: ArrayLike | None = None,
    pairs: Literal["same time", "all"] = "same time",
    forming: float = 0.05,
    metric: Metric = "cosine",
    normalize: bool = True,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
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
    model : array of shape (n_conditions, n_conditions), or its condensed triangle, optional
        Distances of a model, in the order of the conditions: sorted, or as the categories of a data frame. At every
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
    state(f"conditions of the model: {join_items(trials.names)}")
    distances = _mean_distances(trials, metric, check.boolean(normalize, "normalize"))
    draws, exchanged = _model_correlations(distances, model, trials.n_conditions, n_permutations, alpha, seed)
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
    distances: Matrix, model: ArrayLike, n: int, n_permutations: int, alpha: float, seed: Seed
) -> tuple[Array, str]:
    """Return correlations (n_draws + 1, n_times) with the model and with its permutations."""
    condensed, n_model = check.rdm(model, "model")
    if n_model != n or np.isnan(condensed).any():
        got = "missing distances" if n_model == n else f"{n_model}"
        raise ValueError(f"model must have all distances between the {n} conditions, got {got}")
    drawn, exchanged = draw_permutations(n, check.count(n_permutations, "n_permutations"), alpha, design={}, seed=seed)
    whole, (i, j) = square(centred_ranks(condensed[None])[0], n), np.triu_indices(n, k=1)
    models = np.array([whole[order[i], order[j]] for order in identity_first(drawn)])
    complete = ~np.isnan(distances).any(axis=1, keepdims=True)
    scores = models @ np.where(complete, centred_ranks(distances), np.nan).T
    return scores, "the conditions of the model" if exchanged == "all rows" else exchanged


def _span_name(spans: list[tuple[float, float]]) -> str:
    """Return the first and last time of a cluster, on both axes if they differ."""
    names = [f"{first:g} to {last:g}" if last > first else f"{first:g}" for first, last in spans]
    return " with ".join(dict.fromkeys(names))


def _clusters(draws: Array, fields: dict[str, Any], forming: float, what: str) -> TimeClusters:
    z, threshold = standardise_over_draws(draws, forming)
    labels, masses, null = grid_clusters(z, threshold)
    times, alpha = np.asarray(fields["times"]), fields["alpha"]
    shared = {"exchanged": fields["exchanged"], "seed": fields["seed"]}
    clusters = []
    for place in np.argsort(-masses, kind="stable"):
        inside = labels == place + 1
        spans = [(float(times[places].min()), float(times[places].max())) for places in np.nonzero(inside)]
        numbers = {
            "n_entries": int(inside.sum()),
            "first": spans[0][0],
            "last": spans[-1][1],
            "peak": float(draws[0][inside].max()),
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
        notes=tuple(fields["notes"]),
    )
