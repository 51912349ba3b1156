"""Measure the drift between the representations of an audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from shesha import runs
from shesha.auditing.fingerprinted_representation import Subject
from shesha.auditing.stored_audits import StoredValues
from shesha.kernels.distances import Metric
from shesha.results import DriftPath, RepresentationAudit
from shesha.stability.estimators.split_scores import exact_bytes
from shesha.stability.scores.rdm_drift import EQUAL, drift_of_ranks
from shesha.support.memory import memory_budget
from shesha.support.warnings import NotEstimable
from shesha.views import RankedRdm, representation_from

_MIN_ROWS = 4
DRIFTS = "drift"
"""Key under which a store keeps the drift between two representations."""


def measure_drift(
    subjects: Mapping[str, Subject], findings: Sequence[RepresentationAudit], metric: Metric, stored: StoredValues
) -> tuple[DriftPath | None, str]:
    """Return the drift from the first and from the previous representation, or the reason for none.

    At most three representations are in memory at a time.
    """
    if len(findings) < 2 or (reason := _obstacle(findings)):
        return None, "" if len(findings) < 2 else reason
    steps = _Steps(metric, stored)
    ordered = list(subjects.values())
    start = ordered[0]
    first, previous = [0.0], [0.0]
    try:
        for before, after in pairwise(ordered):
            steps.forget_all_but(start, before)
            previous.append(steps.drift(before, after))
            first.append(previous[-1] if before is start else steps.drift(start, after))
    except (OSError, ValueError, MemoryError) as error:
        return None, str(error) or type(error).__name__
    reasons = tuple(EQUAL if np.isnan([a, b]).any() else "" for a, b in zip(first, previous, strict=True))
    return DriftPath(tuple(subjects), tuple(first), tuple(previous), "spearman", metric, reasons), ""


class _Steps:
    """Computes drifts between representations; the distances of each are ranked only once."""

    def __init__(self, metric: Metric, stored: StoredValues) -> None:
        self._metric, self._stored = metric, stored
        self._ranked: dict[int, RankedRdm | None] = {}

    @cached_property
    def _request(self) -> str:
        return json.dumps([self._metric, runs.version_of_code(RankedRdm)])

    def forget_all_but(self, *subjects: Subject) -> None:
        """Free the memory of all other subjects."""
        needed = set(map(id, subjects))
        self._ranked = {key: view for key, view in self._ranked.items() if key in needed}

    def drift(self, a: Subject, b: Subject) -> float:
        """Return one minus the rank correlation of the distances; NaN if those of either side are all equal."""
        return self._stored.get(
            DRIFTS,
            lambda: f"{a.fingerprint} {b.fingerprint} {self._request}",
            lambda: drift_of_ranks(self._view(a), self._view(b)),
            float,
        )

    def _view(self, subject: Subject) -> RankedRdm | None:
        if id(subject) not in self._ranked:
            try:
                view = representation_from(subject.load()).view(RankedRdm, metric=self._metric)
            except NotEstimable:
                view = None
            self._ranked[id(subject)] = view
        return self._ranked[id(subject)]


def _obstacle(findings: Sequence[RepresentationAudit]) -> str:
    """Return why there is no drift, or an empty string."""
    if any(finding.reason for finding in findings):
        return "a representation could not be scored"
    n_rows = sorted({finding.n_rows for finding in findings})
    if len(n_rows) > 1:
        return f"the representations have different numbers of rows ({', '.join(map(str, n_rows))})"
    if exact_bytes(n_rows[0], 1) > memory_budget():
        return (
            f"the distances of {n_rows[0]:,} rows do not fit the memory budget; audit a subset of the rows to get the "
            "drift"
        )
    return ""
