"""What is no representation, no labels or no option is refused by every score, in words."""

import numpy as np
import pytest

from shesha.support.memory import MemoryBudgetError
from shesha_studies import transferability as transfer

N = 24
X = np.random.default_rng(0).standard_normal((N, 5))
TWO = np.arange(N) % 2
P = np.full((N, 4), 0.25)
LABELLED = {
    name: getattr(transfer, name)
    for name in (
        "bhattacharyya",
        "centroid_softmax",
        "fisher_discriminant",
        "gbc",
        "h_score",
        "logme",
        "margin_score",
        "silhouette",
    )
}


def changed(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


BAD_LABELS = {
    "too few": (TWO[:-1], "y must have one label for each of the 24 rows, got 23"),
    "3-D": (TWO[:, None, None], r"y must be 1-D, one label per row, got shape \(24, 1, 1\)"),
    "NaN": (changed(TWO, [5, 7], np.nan), "y must be free of NaN, got NaN or infinity in rows 5, 7"),
    "one class": (np.zeros(N), "y must contain at least 2 classes, got 1"),
}
BAD_ROWS = {
    "NaN": (changed(X, (3, 0), np.nan), "X must be finite, got NaN or infinity in rows 3"),
    "1-D": (X[:, 0], r"X must be 2-D \(n_samples, n_features\), got shape \(24,\)"),
    "few": (X[:3], "X must have at least 4 rows, got 3"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
@pytest.mark.parametrize("name", LABELLED)
def test_bad_labels(name, case):
    y, message = BAD_LABELS[case]
    with pytest.raises(ValueError, match=message):
        LABELLED[name](X, y)


@pytest.mark.parametrize("case", BAD_ROWS)
@pytest.mark.parametrize("name", [*LABELLED, "anisotropy", "logme_regression"])
def test_bad_rows(name, case):
    bad, message = BAD_ROWS[case]
    second = () if name == "anisotropy" else (TWO,)
    with pytest.raises(ValueError, match=message):
        getattr(transfer, name)(bad, *second)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (changed(P, (slice(2, 4), 0), -0.25), "P must contain probabilities, got negative numbers in rows 2, 3"),
        (changed(P, (4, 0), 0.5), "P must have rows that sum to 1, got other sums in rows 4"),
        (P * 4, "P must have rows that sum to 1, got other sums in rows 0, 1, 2, 3, 4 and 19 more"),
        (changed(P, 6, np.nan), "P must be finite, got NaN or infinity in rows 6"),
        (P[:, 0], r"P must be 2-D \(n_samples, n_features\), got shape \(24,\)"),
    ],
)
def test_bad_probabilities(probabilities, message):
    with pytest.raises(ValueError, match=message):
        transfer.leep(probabilities, TWO)


@pytest.mark.parametrize(("metric", "kind"), [("cosine", "zero"), ("correlation", "constant")])
def test_rows_without_direction_are_named(metric, kind):
    rows = changed(X, [2, 9], 0.0 if metric == "cosine" else 1.0)
    with pytest.raises(ValueError, match=f"no {kind} row under the {metric} metric, got {kind} rows 2, 9; remove them"):
        transfer.silhouette(rows, TWO, metric=metric)


@pytest.mark.parametrize("name", ["logme", "margin_score", "centroid_softmax", "silhouette"])
def test_work_beyond_the_memory_budget_is_refused(monkeypatch, name):
    monkeypatch.setenv("SHESHA_MEMORY", "1k")
    with pytest.raises(MemoryBudgetError, match="must fit the memory budget"):
        LABELLED[name](X, TWO)


@pytest.mark.parametrize("score", [*LABELLED.values(), transfer.leep, transfer.nce])
def test_named_rows_are_matched_by_position_and_by_keyword(score):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    first = {transfer.leep: rng.dirichlet([1, 1, 1], N), transfer.nce: np.arange(N) % 5}.get(score, X)
    name = {transfer.leep: "P", transfer.nce: "z"}.get(score, "X")
    index = [f"r{i}" for i in range(N)]
    named = (pd.DataFrame if np.ndim(first) == 2 else pd.Series)(first, index=index)
    labels = pd.Series(TWO, index=index)[::-1]
    expected = score(first, TWO)
    with pytest.warns(match="matched by name"):
        assert score(named, labels) == expected
    with pytest.warns(match="matched by name"):
        assert score(**{name: named, "y": labels}) == expected
