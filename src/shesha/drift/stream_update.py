"""Update a stream with one batch of new inputs."""

from __future__ import annotations

from math import log10
from typing import Any

import numpy as np

from shesha.drift.canary_reference import Reference
from shesha.drift.row_dependence import dependence_text, group_means
from shesha.drift.stream_evidence import RECENT, ReferenceDistribution, Stream
from shesha.inputs import Names, split_names
from shesha.inputs import validation as check
from shesha.results import StreamVerdict
from shesha.results.drift.verdict import State
from shesha.support.types import Matrix

FEWEST = 20
"""Minimum number of reference rows for a stream: half of them are fitted, the others start the stream."""
_STRANGEST = 5
_FIT, _TIES = 1, 2
_DEPENDED = (
    "neighbouring rows of the stream depended on each other at the alarm. Acknowledge the alarm, and pass groups= "
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
        if (groups is None) != (self._reference.groups is None):
            both = "a group for each new row, as the reference has groups" if groups is None else "None, as the "
            raise ValueError(f"groups must be {both}{'' if groups is None else 'reference has no groups'}")
        if groups is not None and not len(broken):
            array = group_means(array, check.labels(groups, len(array), "groups", min_classes=1)[0])
        return array, reason if len(broken) else ""

    def _require_new(self, array: Matrix, names: Names | None) -> None:
        """Refuse rows of the reference itself, for which `check` is meant."""
        reference = self._reference
        again = "batch must contain new inputs, got {}; for the same inputs encoded again, use check"
        if len(array) == reference.n_rows and np.array_equal(array, reference.rows):  # type: ignore[arg-type]
            raise ValueError(again.format("the rows of the reference"))
        if names is not None and reference.names is not None and "text" == names.kind == reference.names.kind:
            shared = np.intersect1d(names.values, reference.names.values)
            if len(shared):
                raise ValueError(again.format(f"rows with names of the reference ({check.join_items(shared)})"))

    def apply(self, stream: Stream, rows: Matrix) -> StreamVerdict:
        """Add new rows to the stream, and return the verdict."""
        scores = self._typical.scores(rows)
        # The seed depends on the number of earlier rows, so that another process breaks ties in the same way.
        p = stream.p_values(scores, np.random.default_rng([_TIES, self._seed, stream.n_seen]))
        stream.bet(p, self.threshold)
        order = np.argsort(-scores, kind="stable")[:_STRANGEST]
        stream.remember(self._typical.leading(rows))
        sample = rows if len(rows) > RECENT else stream.recent
        unit = "row" if self._reference.groups is None else "group"
        self._dependence = self._reference.dependence or dependence_text(sample, "stream", unit)
        stream.dependent |= bool(stream.alarm_since and self._dependence)
        return self._verdict(stream, len(rows), float(p.mean()), tuple(order.tolist()))

    def broken(self, stream: Stream, n_rows: int, reason: str) -> StreamVerdict:
        """Return the verdict for a batch with invalid rows, which is not added to the stream."""
        verdict = self._verdict(stream, n_rows, float("nan"), ())
        return StreamVerdict(**{**verdict.__dict__, "state": "not estimable", "reason": reason})

    @property
    def threshold(self) -> float:
        """Alarm threshold as a power of ten; unchanged rows reach 1 / alpha with probability at most alpha."""
        return -log10(self._alpha)

    def _verdict(self, stream: Stream, n_rows: int, mean: float, strangest: tuple[int, ...]) -> StreamVerdict:
        near = stream.log10_martingale >= self.threshold - 1
        dependence = self._dependence or (_DEPENDED if stream.dependent else "")
        alarm: State = "not estimable" if dependence else "alert"
        return StreamVerdict(
            state=alarm if stream.alarm_since else "watch" if near else "ok",
            n_rows=n_rows,
            n_seen=stream.n_seen,
            alpha=self._alpha,
            log10_martingale=stream.log10_martingale,
            log10_highest=stream.log10_highest,
            log10_threshold=self.threshold,
            mean_p_value=mean,
            strangest=strangest,
            alarm_since=stream.alarm_since,
            reason=dependence if stream.alarm_since else "",
            dependence=dependence,
            unit="row" if self._reference.groups is None else "group",
        )
