"""Update a stream with one batch of new inputs."""

from __future__ import annotations

from math import log10
from typing import Any

import numpy as np

from shesha.drift.canary_reference import Reference
from shesha.drift.stream_evidence import ReferenceDistribution, Stream
from shesha.inputs import Names, split_names
from shesha.inputs import validation as check
from shesha.results import StreamVerdict
from shesha.support.types import Matrix

FEWEST = 20
"""Minimum number of reference rows for a stream: half of them are fitted, the others start the stream."""
_STRANGEST = 5
_FIT, _TIES = 1, 2


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
        if reference.n_rows < FEWEST:
            raise ValueError(f"reference must have at least {FEWEST} rows for a stream, got {reference.n_rows}")
        self._reference, self._alpha, self._seed = reference, alpha, seed
        order = np.random.default_rng([_FIT, seed]).permutation(reference.n_rows)
        half = reference.n_rows // 2
        self._typical = ReferenceDistribution.build(reference.rows[order[:half]])
        self._kept = order[half:]

    def begin(self) -> Stream:
        """Return a new stream that contains only that half of the reference that was not fitted."""
        assert self._reference.rows is not None
        stream = Stream()
        scores = self._typical.scores(self._reference.rows[self._kept])
        stream.p_values(scores, np.random.default_rng(0))
        return stream

    def check_rows(self, batch: Any) -> tuple[Matrix, str]:
        """Check new rows, and return them with a description of invalid rows (empty if there are none)."""
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
        return StreamVerdict(
            state="alert" if stream.alarm_since else "watch" if near else "ok",
            n_rows=n_rows,
            n_seen=stream.n_seen,
            alpha=self._alpha,
            log10_martingale=stream.log10_martingale,
            log10_highest=stream.log10_highest,
            log10_threshold=self.threshold,
            mean_p_value=mean,
            strangest=strangest,
            alarm_since=stream.alarm_since,
        )
