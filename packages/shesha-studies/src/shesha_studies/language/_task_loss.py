"""Tests of whether a changed model does its task worse: fewer right answers, or similarities that fit less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm, rankdata

from shesha.support.types import Labels, Matrix, Vector
from shesha_studies.external_data import sklearn


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


def likeness(first: Matrix, second: Matrix) -> Vector:
    """Cosine similarities of the two sentences of each pair, from rows of length 1."""
    return np.asarray(np.einsum("ij,ij->i", first, second), dtype=np.float64)


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
