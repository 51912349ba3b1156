"""How many trials per condition the distances between conditions need to be reliable."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.condition_distances import (
    agreement,
    centre_and_scale,
    compress_columns,
    condition_distances,
    equal_sums,
)
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.score_correlations import jackknife_correlation
from shesha.neuro.trial_order_null import Null, Orders
from shesha.neuro.trials import FEWEST_CONDITIONS, Conditions, Trials, mean_of_known
from shesha.nulls.null_summary import number_against_null
from shesha.results import sentence_parts as say
from shesha.results.base import draws_axes
from shesha.results.number import NAN, Number, NumberTable
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, number, spawn
from shesha.support.types import Index, Labels, Mask, Matrix, Seed
from shesha.support.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST_FOR_INTERVAL = 5
"""Smallest number of conditions for an interval, whose jackknife leaves out one condition at a time."""


@dataclass(frozen=True, kw_only=True)
class ReliabilityAtTrials(Number):
    """Reliability of the distances with a number of trials per condition, and what the largest number predicts."""

    n_trials: int = 0
    """Number of trials per condition."""
    spearman_brown: float = NAN
    """Prediction by the Spearman-Brown formula from the reliability with the largest number of trials."""


@dataclass(frozen=True, kw_only=True)
class TrialsNeeded(NumberTable):
    """Number of trials per condition for a reliability, with the reliabilities at the numbers that were recorded."""

    numbers: tuple[ReliabilityAtTrials, ...]
    """Reliability with few trials up to half of those recorded; the last one is compared with chance."""
    needed: Number
    """Number of trials per condition that reaches the target reliability."""
    target: float
    n_recorded: int
    """Number of trials that the rarest condition has."""
    n_conditions: int
    n_neurons: int
    column_noun: str = "neurons"

    WHAT: ClassVar[str] = "numbers of trials"
    NAMES: ClassVar[tuple[str, ...]] = ("n_trials", "spearman_brown")

    @property
    def reliability(self) -> ReliabilityAtTrials:
        """The reliability with the largest number of trials that both halves of the recording have."""
        return self.numbers[-1]

    @property
    def headline(self) -> str:
        """How many trials per condition are needed."""
        now, each = self.reliability, "trials per condition"
        if not self.needed.has_value:
            return f"The number of trials that are needed cannot be predicted: {self.needed.reason}."
        if now.has_null and not now.significant:
            return (
                f"The number of trials that are needed cannot be predicted: with {now.n_trials} {each}, the distances "
                f"are not reliable above chance at {now.alpha:g} (p = {say.format_p(now.p_value)})."
            )
        limits = ""
        if self.needed.has_interval:
            high = f"{ceil(self.needed.high)}" if isfinite(self.needed.high) else "no upper limit"
            limits = f" ({say.format_share(self.needed.confidence)} interval {ceil(self.needed.low)} to {high})"
        tested = f"; now above chance at {now.alpha:g}" if now.has_null else ""
        return (
            f"A reliability of {self.target:g} needs {ceil(self.needed.value)} {each}{limits}; {self.n_recorded} "
            f"were recorded{tested}."
        )

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the reliability against the number of trials, as measured and as predicted."""
        from shesha.charts import curves

        lines = {
            "measured": [each.value for each in self.numbers],
            "Spearman-Brown": [each.spearman_brown for each in self.numbers],
        }
        places = [each.n_trials for each in self.numbers]
        return curves(places, lines, labels=("trials per condition", "reliability"), ax=ax)

    def _claim(self) -> str:
        now = self.reliability
        subject = f"{self.headline} With {now.n_trials} trials per condition, the reliability of the distances"
        over = f"{count(self.n_conditions, 'condition')} and {self.n_neurons:,} {self.column_noun}"
        return say.statement(now, subject, f"{over} (Spearman-Brown formula)")


@keep_statements
def trials_needed(
    X: Any,
    conditions: Conditions,
    *,
    target: float = 0.8,
    metric: Metric = "cosine",
    normalize: bool = True,
    n_splits: int = 20,
    min_trials: int = 4,
    n_permutations: int = N_PERMUTATIONS,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialsNeeded:
    """Predict how many trials per condition make the distances between conditions reliable.

    The reliability with m trials is the rank correlation between the distances from m trials of each condition and
    those from m other trials. It is measured with half of the recorded trials, and extrapolated by the Spearman-Brown
    formula. The same formula predicts the reliability with fewer trials, which is measured as well, as a check.

    Parameters
    ----------
    X, conditions
        See `trial_split`.
    target : float
        The reliability to reach, in (0, 1).
    metric, normalize
        See `trial_split`.
    n_splits : int
        Number of random divisions of the trials; their reliabilities are averaged.
    min_trials : int
        Smallest number of trials per condition, at least 4. Rarer conditions are left out, because the rarest condition
        limits how many trials each half has.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`.
    missing
        See `crossnobis`.

    Returns
    -------
    TrialsNeeded
        `needed` has an interval for other trials and other conditions of the same kind, from a jackknife over
        conditions; its upper end is infinite if the reliability may be 0. Each row of the table compares the measured
        reliability with the prediction. A note says where the prediction is outside the interval.

    References
    ----------
    Spearman 1910 and Brown 1910: with k times as many trials, a reliability r becomes k r / (1 + (k - 1) r).

    Notes
    -----
    Below a reliability of about 0.3, distances become reliable faster than the formula says, so that fewer trials may
    suffice. Random halves share slow changes of the recording, which more trials do not average out.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.permutation(np.tile(np.arange(20), 12))
    >>> X = rng.poisson(2 + rng.gamma(1, 1, size=(20, 30))[shown])
    >>> print(*trials_needed(X, shown, n_permutations=39).headline.split("; "), sep="\\n")
    A reliability of 0.8 needs 51 trials per condition (95 % interval 24 to 187)
    12 were recorded
    now above chance at 0.05.
    """
    check.choice(metric, METRICS, "metric")
    check.fraction(target, "target", closed=False)
    n_splits = check.count(n_splits, "n_splits")
    fewest = check.count(min_trials, "min_trials", minimum=4)
    trials = Trials.build(X, conditions, min_trials=fewest, missing=missing)
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    if trials.n_conditions < FEWEST_CONDITIONS:
        raise ValueError(
            f"conditions must include at least {FEWEST_CONDITIONS} with {fewest} trials, got {trials.n_conditions}"
        )
    recorded = int(np.bincount(trials.codes[trials.codes >= 0]).min())
    halves = _RandomHalves(trials, metric, check.boolean(normalize, "normalize"), n_splits, spawn(seed, 1))
    largest = recorded // 2
    sizes = sorted({size for size in (largest // 8, largest // 4, largest // 2, largest) if size > 0})
    with single_threaded_blas():
        drawn = np.array([halves.value(trials.codes[order], largest) for order in orders.orders])
        measured = {size: halves.distances(trials.codes, size) for size in sizes}
    now = float(drawn[0])
    reason = "" if now == now else "too few pairs of conditions have responses and unequal distances in both halves"
    shared: dict[str, Any] = {"alpha": orders.alpha, "n_rows": trials.n_trials, "seed": number(seed)}
    numbers = []
    for size, distances in measured.items():
        value = mean_of_known(agreement(*distances))
        limits = _interval(*distances, trials.n_conditions)
        fields: dict[str, Any] = {
            "n_trials": size,
            "spearman_brown": _spearman_brown(now, size / largest),
            **limits,
            **shared,
        }
        fields |= {"reason": reason} if value != value else {}
        null_values = drawn[1:] if size == largest else np.empty(0)
        name = count(size, "trial")
        numbers.append(
            number_against_null(
                name, value, null_values, best=1.0, kind=ReliabilityAtTrials, exchanged=orders.exchanged, **fields
            )
        )
    last = numbers[-1]
    return TrialsNeeded(
        numbers=tuple(numbers),
        needed=_extrapolate_trials(last, target, largest, shared),
        target=target,
        n_recorded=recorded,
        n_conditions=trials.n_conditions,
        n_neurons=trials.n_neurons,
        column_noun=trials.column_noun,
        notes=(*trials.notes, *_misfits(numbers)),
    )


class _RandomHalves:
    """Random divisions of the trials of each condition into halves of equal size."""

    def __init__(
        self, trials: Trials, metric: Metric, normalize: bool, n_splits: int, rng: np.random.Generator
    ) -> None:
        rates = centre_and_scale(trials.rates, unit=normalize, centred=metric == "correlation")
        self.rows = compress_columns(rates)
        self.n_conditions, self.metric = trials.n_conditions, metric
        self.keys = rng.random((n_splits, trials.n_trials))

    def distances(self, codes: Labels, size: int) -> tuple[Matrix, Matrix]:
        """Distances (n_splits, n_pairs) from some trials of each condition, and from as many other trials."""
        sums = equal_sums(
            self.rows, codes, self.n_conditions, self._parts(codes), self.keys, np.full(len(self.keys), size)
        )
        counts = np.full(sums.shape[::2], float(size))
        first, second = (condition_distances(sums[:, side], counts, self.metric) for side in (0, 1))
        return first, second

    def value(self, codes: Labels, size: int) -> float:
        """Reliability, averaged over splits."""
        return mean_of_known(agreement(*self.distances(codes, size)))

    def _parts(self, codes: Labels) -> Index:
        """Alternate the trials of each condition, in random order, between the halves."""
        order = np.lexsort((-self.keys, np.broadcast_to(codes, self.keys.shape)), axis=-1)
        place = np.arange(len(codes)) - np.searchsorted(np.sort(codes), np.sort(codes))
        parts = np.empty(self.keys.shape, dtype=np.intp)
        np.put_along_axis(parts, order, np.broadcast_to(place % 2, self.keys.shape), axis=1)
        return parts


def _interval(first: Matrix, second: Matrix, n_conditions: int) -> dict[str, float]:
    """Return an interval of the reliability, from leaving out one condition at a time; {} if there is none."""
    if n_conditions < _FEWEST_FOR_INTERVAL:
        return {}
    i, j = np.triu_indices(n_conditions, k=1)

    def reliability(kept: Mask) -> float:
        pairs = kept[i] & kept[j]
        return mean_of_known(agreement(first[:, pairs], second[:, pairs]))

    (low, high), _ = jackknife_correlation(reliability, range(n_conditions), CONFIDENCE)
    return {} if np.isnan(low) else {"low": low, "high": high, "confidence": CONFIDENCE}


def _spearman_brown(reliability: float, factor: float) -> float:
    """Reliability with this many times as many trials."""
    bottom = 1 + (factor - 1) * reliability
    return factor * reliability / bottom if bottom > 0 else NAN


def _trials(reliability: float, target: float, n: int) -> float:
    """Number of trials that reaches the target, if n trials have this reliability."""
    if reliability != reliability:
        return NAN
    return n * target * (1 - reliability) / (reliability * (1 - target)) if reliability > 0 else float("inf")


def _extrapolate_trials(now: Number, target: float, n: int, shared: dict[str, Any]) -> Number:
    value = _trials(now.value, target, n)
    name = "trials per condition"
    if not isfinite(value):
        reason = now.reason or f"with {n} trials per condition, the reliability is {now.value:.3g}"
        return Number(name=name, value=NAN, reason=reason, **shared)
    low, high = _trials(now.high, target, n), _trials(now.low, target, n)
    return Number(name=name, value=value, low=low, high=high, confidence=now.confidence, closer="lower", **shared)


def _misfits(numbers: list[ReliabilityAtTrials]) -> list[str]:
    """Say where the formula misses the measured reliability."""
    return [
        f"with {each.name} per condition, the reliability is {each.value:.2g}, but the formula predicts "
        f"{each.spearman_brown:.2g}: extrapolate with caution"
        for each in numbers[:-1]
        if each.has_interval and not each.low <= each.spearman_brown <= each.high
    ]
