"""The published drift scores, tests of a loss of performance, and detection of losses by drift."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm, rankdata

from shesha.measures import get
from shesha.support.types import Labels, Matrix, Vector
from shesha_studies.external_data import sklearn
from shesha_studies.framework.published_checks import Table

METRICS = ("shesha", "cka", "procrustes", "squared", "pearson", "wasserstein")
"""Columns of `drifts`; the published tables have the first three."""
NAMES = {
    "shesha": "Shesha (RDM)",
    "cka": "CKA",
    "procrustes": "Procrustes",
    "squared": "Procrustes, squared",
    "pearson": "RDM-Pearson",
    "wasserstein": "Wasserstein",
}
NAMED = {name: NAMES[name] for name in ("shesha", "cka", "procrustes", "squared")}
"""Of the numbers of causal models."""
BOUND = 0.05
"""Published detection bound, which is the same for all scores."""
NEVER = float("inf")


def drifts(before: Matrix, after: Matrix) -> dict[str, float]:
    """Return the drift by each score: a distance, or 1 minus a similarity; 0 means no change.

    The text of the paper defines Procrustes similarity as 1 - |X - YR|^2 / (|X|^2 + |YR|^2). The column "squared" is 1
    minus this similarity. The published tables agree with the distance |X - YR| of centred matrices with norm 1.
    It is the square root of twice "squared", and is the column "procrustes".
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    return {
        "shesha": get("RDM drift").score(x, y),
        "cka": 1.0 - get("unbiased CKA").score(x, y),
        "procrustes": get("OrthProc").score(x, y),
        "squared": 1.0 - get("Procrustes similarity").score(x, y),
        "pearson": get("RDM drift(method=pearson)").score(x, y),
        "wasserstein": get("sliced Wasserstein(seed=320)").score(x, y),
    }


def answers(rows: Matrix, labels: Labels) -> NDArray[np.bool_]:
    """Return which rows a logistic regression classifies correctly, by five-fold cross-validation with fixed folds."""
    selection = sklearn("model_selection")
    folds = selection.StratifiedKFold(5, shuffle=True, random_state=0)
    probe = sklearn("linear_model").LogisticRegression(max_iter=1000)
    predictions = selection.cross_val_predict(probe, rows, labels, cv=folds)
    return np.asarray(predictions == labels)


def fewer_right(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> float:
    """p-value of a loss, by McNemar's exact one-sided test of the answers that changed."""
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    return float(binomtest(lost, lost + won, 0.5, "greater").pvalue) if lost + won else 1.0


def less_correlated(before: Vector, after: Vector, scores: Vector) -> float:
    """One-sided p-value of a loss of rank correlation with the scores, from the jackknife error of the difference."""
    ranks = [np.asarray(rankdata(values), dtype=np.float64) for values in (before, after, scores)]
    difference = _leave_one_out(ranks[0], ranks[2]) - _leave_one_out(ranks[1], ranks[2])
    n = len(scores)
    error = np.sqrt((n - 1) / n * ((difference - difference.mean()) ** 2).sum())
    estimate = np.corrcoef(ranks[0], ranks[2])[0, 1] - np.corrcoef(ranks[1], ranks[2])[0, 1]
    return float(norm.sf(estimate / error)) if error else 1.0


def _leave_one_out(a: Vector, b: Vector) -> Vector:
    """Correlation without each entry in turn; ranks are those of all entries, which is faster and changes little."""
    n = len(a) - 1
    sums = [term.sum() - term for term in (a, b, a * a, b * b, a * b)]
    sa, sb, saa, sbb, sab = sums
    return np.asarray((sab - sa * sb / n) / np.sqrt((saa - sa**2 / n) * (sbb - sb**2 / n)))


def firsts(rows: Table, bounds: Table, unit: list[str]) -> Table:
    """Return the lowest level at which each score passes its bound, or infinity; one line per unit."""
    scores = rows.set_index(unit)
    beyond = scores[bounds.columns] > bounds.reindex(scores.index)
    return beyond.apply(lambda column: scores.level.where(column)).groupby(level=unit).min().fillna(NEVER)


def contest(table: Table, one: str, other: str) -> tuple[int, int, int]:
    """Count the units in which the first score detects a change before, with and after the second score."""
    first, second = table[one], table[other]
    return int((first < second).sum()), int((first == second).sum()), int((first > second).sum())


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
