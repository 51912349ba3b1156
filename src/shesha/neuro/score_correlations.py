"""Rank correlation between two scores over areas and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.stats import rankdata, spearmanr
from scipy.stats import t as student

from shesha.inputs import validation as check
from shesha.neuro.clustered_intervals import jackknife_correlation
from shesha.results import Association, SessionTable
from shesha.support import argument_types as kinds
from shesha.support.types import Array, Matrix, Vector

CLUSTERS = ("session", "animal")


def association(
    table: SessionTable,
    first: str,
    second: str,
    *,
    covariates: Sequence[str] = (),
    clusters: Literal["session", "animal"] = "session",
    confidence: float = 0.95,
) -> Association:
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
    Association

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
    >>> found.n, found.n_clusters, found.low < 0 < found.high
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
        part = values[rows]
        return partial_rank_correlation(part[:, 0], part[:, 1], part[:, 2:])

    named = known[clusters].astype(str).tolist()
    (low, high), p_value = jackknife_correlation(score, named, confidence)
    value = score(np.ones(len(values), dtype=bool))
    naive = (
        float(spearmanr(values[:, 0], values[:, 1]).pvalue)
        if not covariates
        else _naive(value, len(values), len(covariates))
    )
    return Association(
        first=first,
        second=second,
        covariates=tuple(covariates),
        value=value,
        low=low,
        high=high,
        p_value=p_value,
        naive_p=naive,
        n=len(values),
        n_clusters=len(set(named)),
        clusters=clusters,
        confidence=confidence,
    )


def _naive(correlation: float, n: int, n_given: int) -> float:
    free = n - 2 - n_given
    return float(2 * student.sf(abs(correlation) * np.sqrt(free / (1 - correlation**2)), free))


def partial_rank_correlation(first: Vector, second: Vector, covariates: Matrix) -> float:
    """Partial Spearman correlation; NaN if the covariates explain everything."""
    columns = [np.ones(len(first)), *(rankdata(column) for column in covariates.T)]
    known = np.column_stack(columns)
    a, b = (ranks - known @ np.linalg.lstsq(known, ranks)[0] for ranks in (rankdata(first), rankdata(second)))
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length > 1e-9 * len(first) else float("nan")
