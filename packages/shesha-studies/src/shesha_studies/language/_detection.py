"""Detection of drift: first alarms, losses detected, and correlations at equal damage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from shesha.studies.published_checks import Table
from shesha.support.types import Vector

NEVER = float("inf")


def first_detection(rows: Table, metric: str, bound: float, level: str = "level") -> float:
    """Return the lowest level whose drift passes the bound, or infinity."""
    hits = rows[rows[metric] > bound][level]
    return float(hits.min()) if len(hits) else NEVER


def firsts(rows: Table, metrics: Sequence[str], bounds: dict[str, Table], unit: list[str]) -> Table:
    """Return the first level beyond the bound for each unit and metric; bounds are indexed by unit."""
    detections = {
        key: {m: first_detection(group, m, float(bounds[m][key])) for m in metrics} for key, group in rows.groupby(unit)
    }
    table = pd.DataFrame.from_dict(detections, orient="index")
    table.index.names = unit
    return table


def contest(table: Table, one: str, other: str) -> tuple[int, int, int]:
    """Count the units in which the first score detects a change before, with and after the second score."""
    return (
        int((table[one] < table[other]).sum()),
        int((table[one] == table[other]).sum()),
        int((table[one] > table[other]).sum()),
    )


def area(scores: Vector, positive: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: how often a positive scores above a negative; ties count one half."""
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m))


def sensitivity(scores: Vector, positive: NDArray[np.bool_], false_alarms: float = 0.05) -> float:
    """Share of positives beyond a bound that at most this share of negatives exceeds."""
    negatives = np.sort(scores[~positive])
    if not len(negatives) or not positive.any():
        return float("nan")
    allowed = int(np.floor(false_alarms * len(negatives)))
    return float((scores[positive] > negatives[len(negatives) - 1 - allowed]).mean())


def correlation_within_groups(rows: Table, metric: str, by: list[str], unit: str) -> tuple[float, float]:
    """Return the mean rank correlation of drift and loss among units of equal damage, and its p-value.

    `by` names the columns that define groups of equal damage. Each group contains every unit (a layer, a model) once.
    The p-value is one-sided, from 999 permutations of the losses over units. Each permutation is the same in all
    groups.
    """
    rng = np.random.default_rng(0)
    tables = [rows.pivot_table(index=by, columns=unit, values=name) for name in (metric, "drop")]
    a, b = (_standard(table.rank(axis=1).to_numpy(dtype=np.float64)) for table in tables)
    orders = np.stack([np.arange(b.shape[1]), *(rng.permutation(b.shape[1]) for _ in range(999))])
    totals = np.array([(a * b[:, order]).sum(axis=1).mean() for order in orders])
    return float(totals[0]), float((totals >= totals[0] - 1e-12).mean())


def _standard(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre each row of ranks and scale it to length 1; rows with only ties become zero."""
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(np.divide(centred, length, out=np.zeros_like(centred), where=length > 0))
