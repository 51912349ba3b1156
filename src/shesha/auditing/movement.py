"""Drift along the representations of an audit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from shesha._memory import memory_budget
from shesha._warnings import NotEstimableWarning
from shesha.auditing.findings import size, undirected
from shesha.kernels.distances import Metric
from shesha.results import DriftPath, RepresentationAudit
from shesha.stability.drift import drift_path
from shesha.stability.split_estimator import exact_bytes
from shesha.views import Rdm, Rows

_MIN_ROWS = 4


def movement(
    named: Mapping[str, Rows | Rdm], found: Sequence[RepresentationAudit], metric: Metric
) -> tuple[DriftPath | None, str]:
    """Return the drift from the first and step by step, or why there is none."""
    if len(named) < 2:
        return None, ""
    if any(one.reason for one in found):
        return None, "a representation could not be scored"
    n_rows = {size(X) for X in named.values()}
    if len(n_rows) > 1:
        return None, f"the representations have different numbers of rows ({', '.join(map(str, sorted(n_rows)))})"
    n = n_rows.pop()
    if exact_bytes(n, 1) > memory_budget():
        return None, f"the distances of {n:,} rows do not fit the memory budget; audit a subset of the rows for it"
    bad = np.unique(
        np.concatenate(
            [
                undirected(X, one.faults, metric) if isinstance(X, Rows) else np.empty(0, dtype=np.intp)
                for X, one in zip(named.values(), found, strict=True)
            ]
        )
    )
    kept = np.delete(np.arange(n), bad)
    if len(kept) < _MIN_ROWS:
        return None, f"only {len(kept)} rows have a direction in all representations"
    rows = {name: _at(X, kept) if len(bad) else X for name, X in named.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEstimableWarning)
        return drift_path(rows, metric=metric), ""


def _at(X: Rows | Rdm, kept: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Rows | Rdm:
    return X.at(kept) if isinstance(X, Rows) else X.rows_at(kept)
