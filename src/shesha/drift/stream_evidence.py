"""A stream of new inputs or of checks: its evidence of a change, and alarms at a requested mean run length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite, isnan, log, log10
from typing import Any

import numpy as np

from shesha.doubting import warn_of_row_doubts
from shesha.doubting.row_lengths import describe_lengths
from shesha.drift.canary_reference import Reference
from shesha.drift.row_dependence import (
    ShortHashes,
    dependence_text,
    group_means,
    n_equal_hashes,
    n_equal_rows,
    short_hashes,
)
from shesha.inputs import Names, split_names, validation as check
from shesha.kernels.condition_distances import ledoit_wolf
from shesha.kernels.rounding_and_scaling import is_constant, length_unit
from shesha.results import CheckSequence, StreamVerdict
from shesha.results.drift import State
from shesha.support.sqlite import StoreError
from shesha.support.types import Index, Matrix, Vector

MOST_COUNT = 2**62
"""Largest count that a valid state may contain."""


def state_fields(text: str, names: Sequence[str], later: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values of a state, which must have exactly these fields; earlier versions did not save `later`.

    Examples
    --------
    >>> state_fields('{"number": 3}', ["number"])
    {'number': 3}
    """
    try:
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise state_error(f"no JSON ({error})") from error
    plain = {**(later or {}), **plain} if isinstance(plain, dict) else plain
    if not isinstance(plain, dict) or set(plain) != {*names, *(later or ())}:
        raise state_error(f"{str(text)[:60]!r} instead of {', '.join(names)}")
    return plain


def count_field(plain: Mapping[str, Any], name: str, most: int = MOST_COUNT) -> int:
    """Return a field that must be a non-negative integer."""
    value = plain[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise state_error(f"{name} = {str(value)[:40]}")
    return value


def number_field(plain: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Return a field that must be a finite number between two limits."""
    value = plain[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise state_error(f"{name} = {str(value)[:40]}")
    return float(value)


def list_field(plain: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the items of a field that must be a list, each as a field of this name."""
    value = plain[name]
    if not isinstance(value, list):
        raise state_error(f"{name} = {str(value)[:40]}")
    return [{name: item} for item in value]


def state_error(got: str) -> StoreError:
    """Return the error for a damaged state, whose message says what to do."""
    return StoreError(
        f"the evidence of earlier checks must be undamaged, got {got}; run `shesha monitor acknowledge` (or call "
        "`acknowledge()`) to restart the evidence"
    )


_STEP = 0.01
"""Width of the Markov chain's states, on the scale log(1 + evidence)."""
_CLOSE = 1.005
"""Largest accepted ratio of the run length that a threshold gives to the requested run length."""
_LONGEST = 1e9
"""Longest run length, in checks, for which a threshold is computed; beyond it, they are set equal."""
_TRIES = 15


@dataclass(frozen=True)
class AlarmRule:
    """How evidence accumulates over checks, and when it raises the alarm.

    If the model is unchanged, the rank of a check among K re-encodings is uniform. For any data, the evidence is
    therefore a Markov chain, from which the mean number of checks until an alarm follows. The threshold is the smallest
    for which this mean is `run_length`. The value `run_length` itself would be a valid threshold (Shin, Ramdas and
    Rinaldo 2023), but would delay alarms, because the last check carries the sum far beyond the threshold.

    Attributes
    ----------
    run_length : float
        Mean number of checks until a false alarm.
    n_nulls : int
        Number K of re-encodings.

    Examples
    --------
    >>> rule = AlarmRule(100, 99)
    >>> round(rule.e_value(0.01), 2), rule.e_value(float("nan")), round(rule.threshold)
    (5.38, 1.0, 68)
    """

    run_length: float
    n_nulls: int

    def e_value(self, p_value: float) -> float:
        """Return p^(-1/2) divided by its null mean, so that the e-value has null mean 1; 1 if p is NaN."""
        return 1.0 if isnan(p_value) else p_value**-0.5 / _mean_root(self.n_nulls)

    @property
    def threshold(self) -> float:
        """Evidence at which the alarm is raised."""
        return _threshold(self.run_length, self.n_nulls)


@lru_cache(maxsize=64)
def _mean_root(n_nulls: int) -> float:
    return float(np.mean((np.arange(1, n_nulls + 2) / (n_nulls + 1)) ** -0.5))


@lru_cache(maxsize=64)
def _threshold(run_length: float, n_nulls: int) -> float:
    e_values = (np.arange(1, n_nulls + 2) / (n_nulls + 1)) ** -0.5 / _mean_root(n_nulls)
    length = run_length
    # For longer run lengths, the chain has too many states to be worth a slightly lower threshold.
    for _ in range(_TRIES if run_length <= _LONGEST else 0):
        ratio = least_run_length(length, e_values) / run_length
        if 1 <= ratio <= _CLOSE:
            return length
        # The sum minus the number of checks is a martingale, so a threshold equal to the run length always suffices.
        length = min(run_length, length / ratio * (1 + 1e-4))
    return run_length


def least_run_length(threshold: float, e_values: Vector) -> float:
    """Return a lower bound on the mean number of checks until the Shiryaev-Roberts sum reaches it.

    Each check multiplies one plus the sum by one of the e-values, which are equally likely. The states of the chain are
    intervals of the sum. Each step rounds up to the end of an interval, so the chain never falls below the true sum.

    Parameters
    ----------
    threshold : float
    e_values : array of shape (n_ranks,)
        The e-value of each rank.

    Examples
    --------
    >>> round(least_run_length(3.0, np.array([1.5, 0.5])), 2)
    3.97
    """
    top = np.log1p(threshold)
    n_states = int(np.ceil(top / _STEP))
    ends = np.exp(np.linspace(0.0, top, n_states + 1))
    sums = ends[:, None] * e_values
    staying = sums < threshold
    states = np.minimum(np.ceil(np.log1p(sums) / top * n_states - 1e-9).astype(np.intp), n_states)
    moves: Matrix = np.zeros((n_states + 1, n_states + 1))
    rows = np.broadcast_to(np.arange(n_states + 1)[:, None], states.shape)
    np.add.at(moves, (rows[staying], states[staying]), 1 / len(e_values))
    return float(np.linalg.solve(np.eye(n_states + 1) - moves, np.ones(n_states + 1))[0])


MOST = 1e300
"""Upper limit of the evidence, which keeps sums finite."""


@dataclass(frozen=True)
class StreamEvidence:
    """Evidence from the checks so far: the Shiryaev-Roberts statistic (which raises the alarm) and CUSUM.

    All checks of a monitor share the reference and the nulls, so the run length is a mean over many monitors, not the
    mean for a single monitor.

    Examples
    --------
    >>> rule = AlarmRule(100, 99)
    >>> evidence = StreamEvidence().update(0.01, rule).update(0.01, rule).update(0.02, rule)
    >>> round(evidence.shiryaev_roberts, 1), round(evidence.cusum, 1), evidence.alarm_since
    (134.3, 110.1, 3)
    """

    number: int = 0
    shiryaev_roberts: float = 0.0
    cusum: float = 0.0
    alarm_since: int = 0
    last: float = -1.0
    """Drift of the last check, by which its encoding is recognised; -1 if there is none."""

    def update(self, p_value: float, rule: AlarmRule, drift: float = -1.0) -> StreamEvidence:
        """Return the evidence after one more check; without a p-value, the check is only counted."""
        drift = drift if isfinite(drift) else -1.0
        if isnan(p_value):
            return replace(self, number=self.number + 1, last=drift)
        e = rule.e_value(p_value)
        updated = StreamEvidence(
            self.number + 1,
            min(MOST, (1.0 + self.shiryaev_roberts) * e),
            min(MOST, max(self.cusum, 1.0) * e),
            self.alarm_since,
            drift,
        )
        # An alarm remains until it is acknowledged, so that a lasting change is not overlooked.
        reached = not self.alarm_since and updated.shiryaev_roberts >= rule.threshold * (1 - 1e-12)
        return replace(updated, alarm_since=updated.number) if reached else updated

    def as_text(self) -> str:
        """Return the evidence as JSON."""
        return json.dumps(vars(self))

    @classmethod
    def from_text(cls, text: str | None) -> StreamEvidence:
        """Restore evidence from the output of `as_text`; None means no evidence yet.

        Raises
        ------
        StoreError
            If the text is damaged.
        """
        if text is None:
            return cls()
        plain = state_fields(text, ("number", "shiryaev_roberts", "cusum", "alarm_since"), {"last": -1.0})
        number = count_field(plain, "number")
        sums = number_field(plain, "shiryaev_roberts", 0.0, MOST), number_field(plain, "cusum", 0.0, MOST)
        return cls(number, *sums, count_field(plain, "alarm_since", number), number_field(plain, "last", -1.0, MOST))

    @classmethod
    def restart(cls, text: str | None) -> StreamEvidence:
        """Return the number of checks in a stored text without their evidence; damaged text counts as none."""
        try:
            return cls(cls.from_text(text).number)
        except StoreError:
            return cls()

    def as_sequence(self, p_value: float, rule: AlarmRule) -> CheckSequence:
        """Return a summary of the checks so far, for a verdict."""
        sums = self.shiryaev_roberts, self.cusum, self.alarm_since
        return CheckSequence(self.number, rule.run_length, rule.e_value(p_value), *sums, rule.threshold)


LOWEST, HIGHEST, BINS = 1e-3, 1e5, 16384
"""Range and number of the bins for scores. A row at the typical distance from the centre has score 1."""
JUMP = 0.01
"""Share of the capital that is redistributed over the bets at each row."""
BETS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
_FAR = 1e12
"""Largest absolute log10 of the evidence that a saved stream may contain."""
RECENT, RECENT_AXES = 128, 8
"""Number of the last rows that are kept, and of the reference's leading directions in which they are kept."""
_KNOWN = 4096
"""Number of the last rows that are recognised if a later batch contains them again."""
_SMALLEST = 1e-290
"""Smallest size of values of a reference, whose covariance is inverted."""
_FIELDS = (
    *("bins", "counts", "n_seen", "capital", "log10_martingale", "log10_highest", "alarm_since", "recent"),
    *("recent_width", "dependent"),
)


@dataclass(frozen=True)
class ReferenceDistribution:
    """The centre and covariance of the reference, from which the rows of a stream are scored."""

    centre: Vector
    whitening: Matrix

    @classmethod
    def build(cls, rows: Matrix) -> ReferenceDistribution:
        """Fit the centre and covariance to rows, with the covariance shrunk towards equal variances."""
        n, d = rows.shape
        fixed = is_constant(rows)
        if fixed.all():
            raise ValueError(
                f"reference must have rows that differ, got {n} equal rows; pass a sample of typical inputs"
            )
        unit = length_unit(rows)
        if not _SMALLEST <= unit <= 1 / _SMALLEST:
            limits = f"above {_SMALLEST:.0e} and below {1 / _SMALLEST:.0e}"
            raise ValueError(f"reference must contain values {limits}, got {unit:.0e}; multiply all rows")
        centre = rows.mean(axis=0)
        # Constant columns are set to 0, because their rounding errors would otherwise count as variance.
        centred = np.where(fixed, 0.0, rows / unit - centre / unit)
        products = centred.T @ centred
        share = max(1e-4, ledoit_wolf(centred, products, d))
        variances, axes = np.linalg.eigh(products / n)
        scale = max(float(variances.mean()), np.finfo(float).tiny)
        shrunk = (1 - share) * np.maximum(variances, 0.0) + share * scale
        # The lower limit prevents directions in which the reference has no variance from dominating the scores.
        shrunk = np.maximum(shrunk, 1e-6 * scale)
        return cls(centre, axes / np.sqrt(shrunk * d) / unit)

    def leading(self, rows: Matrix) -> Matrix:
        """Return the rows in the leading directions of the reference."""
        # Variances are in ascending order.
        leading: Matrix = (rows - self.centre) @ self.whitening[:, -RECENT_AXES:]
        return leading

    def scores(self, rows: Matrix) -> Vector:
        """Return each row's squared distance from the centre, relative to the typical squared distance."""
        white = (rows - self.centre) @ self.whitening
        scores: Vector = np.einsum("ij,ij->i", white, white)
        return scores


def score_bins(scores: Vector) -> Index:
    """Return the bin of each score; bins are equally wide on a log scale, whatever the data."""
    steps = np.log(np.clip(scores, LOWEST, HIGHEST) / LOWEST) / log(HIGHEST / LOWEST)
    return np.minimum((steps * BINS).astype(np.intp), BINS - 1)


@dataclass
class Stream:
    """All earlier scores, and a test martingale on the ranks of new scores among them.

    If rows come in random order, the p-value of each score among all earlier scores is uniform and independent of the
    others (Vovk, Gammerman and Shafer 2005). Ties are broken at random. Scores in the same bin are ties, so only the
    count per bin is stored, whatever the number of rows. The martingale is the simple jumper (Algorithm 8.1 of the
    book's second edition), which bets on both small and large p-values.
    """

    counts: Index = field(default_factory=lambda: np.zeros(BINS, dtype=np.intp))
    n_seen: int = 0
    capital: Vector = field(default_factory=lambda: np.full(len(BETS), 1 / len(BETS)))
    """Capital on each bet, as a share of the martingale."""
    log10_martingale: float = 0.0
    log10_highest: float = 0.0
    alarm_since: int = 0
    recent: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    """The last rows, in the leading directions of the reference."""
    dependent: bool = False
    """Whether rows depended on each other when there was an alarm."""
    known: ShortHashes = field(default_factory=lambda: np.zeros(0, dtype="<u4"))
    """Short hashes of the last rows."""

    def require_new(self, rows: Matrix) -> None:
        """Refuse rows of earlier batches, which would count twice, and keep hashes of the new rows."""
        hashes = short_hashes(rows)
        if n_equal := n_equal_hashes(self.known, hashes):
            raise ValueError(
                f"batch must contain new inputs, got {n_equal:,} of {len(rows):,} rows equal to rows of earlier "
                "batches, as in an export of all rows so far; pass only the rows that are new"
            )
        self.known = np.concatenate([self.known, hashes])[-_KNOWN:]

    def remember(self, rows: Matrix) -> None:
        """Keep the last rows, with as many digits as the search for dependence needs."""
        kept = np.concatenate([self.recent, rows]) if self.recent.size else rows
        self.recent = np.clip(kept[-RECENT:], -_FAR, _FAR).round(4)

    def p_values(self, scores: Vector, rng: np.random.Generator) -> Vector:
        """Return the p-value of each new score among all earlier ones, and add the scores to the stream."""
        values = np.empty(len(scores))
        # A batch has few rows, so summing the counts above a bin is cheaper than keeping a tree of counts up to date.
        for i, (place, part) in enumerate(zip(score_bins(scores), rng.random(len(scores)), strict=True)):
            self.counts[place] += 1
            above = int(self.counts[place + 1 :].sum())
            values[i] = (above + part * int(self.counts[place])) / int(self._total + 1)
            self._total += 1
        return values

    def __post_init__(self) -> None:
        """Count the earlier rows."""
        self._total = int(self.counts.sum())

    def bet(self, p_values: Vector, log10_threshold: float) -> None:
        """Update the martingale with each p-value in turn, and record when it first reaches the threshold."""
        for p in p_values:
            self.n_seen += 1
            mixed = (1 - JUMP) * self.capital + JUMP / len(BETS)
            mixed *= 1 + BETS * (p - 0.5)
            total = float(mixed.sum())
            self.capital = mixed / total
            self.log10_martingale += log10(total)
            self.log10_highest = max(self.log10_highest, self.log10_martingale)
            if not self.alarm_since and self.log10_highest >= log10_threshold - 1e-12:
                self.alarm_since = self.n_seen

    def as_text(self) -> str:
        """Return the state as JSON, with numbers exact to the last bit."""
        filled = np.flatnonzero(self.counts)
        return json.dumps(
            {
                "bins": filled.tolist(),
                "counts": self.counts[filled].tolist(),
                "n_seen": self.n_seen,
                "capital": self.capital.tolist(),
                "log10_martingale": self.log10_martingale,
                "log10_highest": self.log10_highest,
                "alarm_since": self.alarm_since,
                "recent": self.recent.ravel().tolist(),
                "recent_width": self.recent.shape[1],
                "dependent": int(self.dependent),
                "known": self.known.tobytes().hex(),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Stream:
        """Restore the stream from the output of `as_text`.

        Raises
        ------
        StoreError
            If the text is damaged.
        """
        plain = state_fields(text, _FIELDS, {"known": ""})
        bins = [count_field(item, "bins", BINS - 1) for item in list_field(plain, "bins")]
        filled = [count_field(item, "counts") for item in list_field(plain, "counts")]
        capital = [number_field(item, "capital", 0.0, 1.0) for item in list_field(plain, "capital")]
        if len(bins) != len(filled) or len(capital) != len(BETS):
            raise state_error(f"{len(filled)} counts for {len(bins)} bins, and {len(capital)} bets")
        counts = np.zeros(BINS, dtype=np.intp)
        counts[bins] = filled
        n_seen = count_field(plain, "n_seen")
        now, highest = (number_field(plain, name, -_FAR, _FAR) for name in ("log10_martingale", "log10_highest"))
        recent = np.array([number_field(item, "recent", -_FAR, _FAR) for item in list_field(plain, "recent")])
        width = count_field(plain, "recent_width", RECENT_AXES)
        if len(recent) % max(1, width) or bool(width) != bool(len(recent)):
            raise state_error(f"{len(recent)} numbers in rows of {width}")
        since = count_field(plain, "alarm_since", n_seen)
        kept = recent.reshape(-1, width) if width else recent.reshape(0, 0)
        return cls(
            counts,
            n_seen,
            np.array(capital),
            log10_martingale=now,
            log10_highest=highest,
            alarm_since=since,
            recent=kept,
            dependent=bool(count_field(plain, "dependent", 1)),
            known=_hashes_field(plain),
        )


def _hashes_field(plain: Mapping[str, Any]) -> ShortHashes:
    text = plain["known"]
    try:
        return np.frombuffer(bytes.fromhex(text), dtype="<u4")[-_KNOWN:]
    except (TypeError, ValueError) as error:
        raise state_error(f"known = {str(text)[:40]}") from error


FEWEST = 20
"""Minimum number of reference rows for a stream: half of them are fitted, the others start the stream."""
_STRANGEST = 5
_FIT, _TIES = 1, 2
_DEPENDED = (
    "consecutive rows of the stream depended on each other at the alarm. Acknowledge the alarm, and pass groups= "
    "(--groups) or fewer rows of each document, clip or session"
)


class Updates:
    """The reference distribution of a stream, fitted once in the encoder's own axes.

    Parameters
    ----------
    reference : Reference
        Reference with its rows, not only their geometry.
    alpha : float
        Maximum probability of ever raising an alarm if nothing changed.
    seed : int
        Seed of tie-breaking and of the random split of the reference, of which one half is fitted and the other starts
        the stream.
    """

    def __init__(self, reference: Reference, alpha: float, seed: int) -> None:
        if reference.rows is None:
            raise ValueError(
                "update needs the rows of the reference, which were not saved; save the monitor with keep_rows=True"
            )
        n_units, unit = len(reference.units), "rows" if reference.groups is None else "groups"
        if n_units < FEWEST:
            raise ValueError(f"reference must have at least {FEWEST} {unit} for a stream, got {n_units}")
        self._reference, self._alpha, self._seed = reference, alpha, seed
        order = np.random.default_rng([_FIT, seed]).permutation(n_units)
        half = n_units // 2
        self._typical = ReferenceDistribution.build(reference.units[order[:half]])
        self._kept = order[half:]
        self._dependence = reference.dependence

    def begin(self) -> Stream:
        """Return a new stream that contains only that half of the reference that was not fitted."""
        assert self._reference.rows is not None
        stream = Stream()
        scores = self._typical.scores(self._reference.units[self._kept])
        stream.p_values(scores, np.random.default_rng(0))
        return stream

    def check_rows(self, batch: Any, groups: Any = None) -> tuple[Matrix, str]:
        """Check new rows, and return them, or the means of groups, with a description of invalid rows (or '')."""
        values, names = split_names(batch, "batch")
        array = np.asarray(check.raw_matrix(values, "batch", min_rows=1), dtype=np.float64)
        if array.shape[1] != self._reference.n_features:
            raise ValueError(
                f"batch must have the {self._reference.n_features} features of the reference, got {array.shape[1]}; "
                "for another encoder, encode the canaries again and use check"
            )
        self._require_new(array, names)
        broken = np.flatnonzero(~np.isfinite(array).all(axis=1))
        reason = f"batch has NaN or infinity in {len(broken):,} of {len(array):,} rows: {check.join_items(broken)}"
        if not len(broken):
            warn_of_row_doubts(self._reference.rows, "the reference", but=("offset",))
            # The verdict names the strangest new rows.
            warn_of_row_doubts(array, "the batch", but=("few rows", "offset"))
        if groups is None and self._reference.groups is not None:
            raise ValueError("groups must be a group for each new row, as the reference has groups")
        if groups is not None and self._reference.groups is None:
            raise ValueError("groups must be None, as the reference has no groups")
        if groups is not None and not len(broken):
            array = group_means(array, check.labels(groups, len(array), "groups", min_classes=1)[0])
        return array, reason if len(broken) else ""

    def _require_new(self, array: Matrix, names: Names | None) -> None:
        """Refuse rows of the reference itself, for which `check` is meant."""
        reference = self._reference
        again = "batch must contain new inputs, got {}; for the same inputs encoded again, use check"
        if len(array) == reference.n_rows and np.array_equal(array, reference.rows):  # type: ignore[arg-type]
            raise ValueError(again.format("the rows of the reference"))
        if names is not None and reference.names is not None and names.certain and reference.names.certain:
            known = (one.as_text().values for one in (names, reference.names) if not one.counts_rows)
            shared = np.intersect1d(both[0], both[1]) if len(both := list(known)) == 2 else np.empty(0)
            if len(shared):
                raise ValueError(again.format(f"rows with names of the reference ({check.join_items(shared)})"))
        if n_equal := n_equal_rows(reference.rows, array):
            raise ValueError(again.format(f"{n_equal:,} of {len(array):,} rows equal to rows of the reference"))

    def apply(self, stream: Stream, rows: Matrix) -> StreamVerdict:
        """Add new rows to the stream, and return the verdict; rows of earlier batches are refused."""
        stream.require_new(rows)
        scores = self._typical.scores(rows)
        # The seed depends on the number of earlier rows, so that another process breaks ties in the same way.
        p = stream.p_values(scores, np.random.default_rng([_TIES, self._seed, stream.n_seen]))
        # Unchanged rows reach 1 / alpha with probability at most alpha.
        stream.bet(p, -log10(self._alpha))
        order = np.argsort(-scores, kind="stable")[:_STRANGEST]
        stream.remember(self._typical.leading(rows))
        sample = rows if len(rows) > RECENT else stream.recent
        unit = "row" if self._reference.groups is None else "group"
        self._dependence = self._reference.dependence or dependence_text(sample, "stream", unit)
        stream.dependent |= bool(stream.alarm_since and self._dependence)
        return self._verdict(stream, len(rows), float(p.mean()), tuple(order.tolist()))

    def describe_lengths(self, rows: Matrix) -> str:
        """Describe how the lengths of new rows differ from those of the reference; empty if they do not."""
        return describe_lengths(self._reference.units, rows, paired=False)

    def broken(self, stream: Stream, n_rows: int, reason: str) -> StreamVerdict:
        """Return the verdict for a batch with invalid rows, which is not added to the stream."""
        verdict = self._verdict(stream, n_rows, float("nan"), ())
        return replace(verdict, state="not estimable", reason=reason)

    def _verdict(self, stream: Stream, n_rows: int, mean: float, strangest: tuple[int, ...]) -> StreamVerdict:
        return stream_verdict(
            stream.log10_martingale,
            stream.alarm_since,
            self._alpha,
            self._dependence or (_DEPENDED if stream.dependent else ""),
            n_rows=n_rows,
            n_seen=stream.n_seen,
            log10_highest=stream.log10_highest,
            mean_p_value=mean,
            strangest=strangest,
            unit="row" if self._reference.groups is None else "group",
        )


def stream_verdict(
    log10_martingale: float, alarm_since: int, alpha: float, dependence: str, **fields: Any
) -> StreamVerdict:
    """Return the verdict on a stream; if rows depend on each other, an alarm is not estimable."""
    threshold = -log10(alpha)
    alarm: State = "not estimable" if dependence else "alert"
    return StreamVerdict(
        state=alarm if alarm_since else "watch" if log10_martingale >= threshold - 1 else "ok",
        alpha=alpha,
        log10_martingale=log10_martingale,
        log10_threshold=threshold,
        alarm_since=alarm_since,
        reason=dependence if alarm_since else "",
        dependence=dependence,
        **fields,
    )
