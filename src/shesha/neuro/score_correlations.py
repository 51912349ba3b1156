"""Rank correlation between two scores over areas and sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy.stats import rankdata, spearmanr
from scipy.stats import t as student

from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.results import Association, SessionTable
from shesha.support import argument_types as kinds
from shesha.support.types import Array, Matrix, Vector

Interval = tuple[float, float]
UNKNOWN: Interval = (float("nan"), float("nan"))


def mean_interval(values: Vector, clusters: Sequence[str], confidence: float) -> Interval:
    """Confidence interval for the mean of clustered observations; NaN for a single cluster.

    The interval uses Student's t with n_clusters - 1 degrees of freedom, which makes it wide if there are few clusters.
    A bootstrap over as few as four animals would give far too narrow an interval.
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1 if len(codes) else 0
    if n_clusters < 2:
        return UNKNOWN
    sums = np.bincount(codes, values - values.mean())
    error = np.sqrt(n_clusters / (n_clusters - 1) * float(sums @ sums)) / len(values)
    margin = float(student.ppf((1 + confidence) / 2, n_clusters - 1) * error)
    return float(values.mean()) - margin, float(values.mean()) + margin


def jackknife_correlation(
    score: Callable[[Vector], float], clusters: Sequence[str], confidence: float
) -> tuple[Interval, float]:
    """Confidence interval and p-value of a correlation, from a jackknife over clusters.

    Parameters
    ----------
    score : callable
        Function that takes a mask of the observations to use and returns a correlation.
    clusters : sequence of str
        Cluster of each observation.
    confidence : float

    Returns
    -------
    interval, p-value
        Both are computed from Student's t on Fisher's scale; NaN if there are fewer than three clusters.
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n = int(codes.max()) + 1 if len(codes) else 0
    estimate = _fisher(score(np.ones(len(codes), dtype=bool)))
    if n < 3 or np.isnan(estimate):
        return UNKNOWN, float("nan")
    rest = np.array([_fisher(score(codes != code)) for code in range(n)])
    error = float(np.sqrt((n - 1) / n * ((rest - rest.mean()) ** 2).sum()))
    if is_constant(rest, n_terms=len(codes)):
        return UNKNOWN, float("nan")
    margin = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    return (float(np.tanh(estimate - margin)), float(np.tanh(estimate + margin))), float(
        2 * student.sf(abs(estimate) / error, n - 1)
    )


def _fisher(correlation: float) -> float:
    return float(np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12)))


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
    >>> found.n_rows, found.n_clusters, found.low < 0 < found.high
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
        n_rows=len(values),
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
