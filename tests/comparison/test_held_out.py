"""Held-out values: fitted on training rows, judged on test rows, as netrep does and as the definitions say."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from shesha import Rdm, compare
from shesha.measures import as_measure
from shesha.measures.cca import measures_held_out, score_held_out_rows
from shesha.support.warnings import CalibrationWarning
from shesha.views import deal_folds

SHAPES = ("OrthProc", "AngShape", "ProcDist", "Procrustes similarity", "AlignCos")


def pair(seed, n=60, p=6, q=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    return X, X @ rng.standard_normal((p, q)) + rng.standard_normal((n, q))


def cosine(a, b):
    return np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)


def padded(X, width):
    return np.pad(X, ((0, 0), (0, width - X.shape[1])))


@pytest.mark.parametrize("seed", range(8))
def test_rotations_are_those_of_the_training_rows(seed):
    X, Y = pair(seed)
    fold = np.arange(60) % 3
    inner, norms = 0.0, np.zeros(2)
    for k in range(3):
        train, test = fold != k, fold == k
        x, y = (padded(one - one[train].mean(axis=0), 6) for one in (X, Y))
        moved = x[test] @ orthogonal_procrustes(x[train], y[train])[0]
        inner += np.sum(moved * y[test])
        norms += np.sum(x[test] ** 2), np.sum(y[test] ** 2)
    similarity = inner / np.sqrt(norms.prod())
    expected = {
        "Procrustes similarity": similarity,
        "OrthProc": np.sqrt(2 - 2 * similarity),
        "AngShape": np.arccos(similarity),
        "ProcDist": np.sqrt(norms.sum() - 2 * inner),
    }
    for name, value in expected.items():
        assert score_held_out_rows(as_measure(name), X, Y, fold) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_regression_is_that_of_the_training_rows(seed):
    X, Y = pair(seed)
    fold = np.arange(60) % 4
    errors = spread = 0.0
    for k in range(4):
        train, test = fold != k, fold == k
        design = [np.column_stack([np.ones(part.sum()), Y[part]]) for part in (train, test)]
        errors += np.sum((X[test] - design[1] @ np.linalg.lstsq(design[0], X[train], rcond=None)[0]) ** 2)
        spread += np.sum((X[test] - X[train].mean(axis=0)) ** 2)
    assert score_held_out_rows(as_measure("LinReg"), X, Y, fold) == pytest.approx(1 - errors / spread, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_canonical_variates_are_those_of_the_training_rows(seed):
    X, Y = pair(seed)
    fold, correlations = np.arange(60) % 3, []
    for k in range(3):
        train, test = fold != k, fold == k
        (q, r), (p, s) = (np.linalg.qr(one[train] - one[train].mean(axis=0)) for one in (X, Y))
        u, _, vt = np.linalg.svd(q.T @ p, full_matrices=False)
        x, y = X[test] @ np.linalg.solve(r, u), Y[test] @ np.linalg.solve(s, vt.T)
        correlations += [np.corrcoef(a, b)[0, 1] for a, b in zip(x.T, y.T, strict=True)]
    assert score_held_out_rows(as_measure("CCA"), X, Y, fold) == pytest.approx(np.mean(correlations), rel=1e-9)


@pytest.mark.parametrize("seed", range(16))
def test_one_fold_is_what_netrep_scores(seed):
    """Rotations by `score`; canonical variates by `transform`, correlated over the test rows."""
    metrics = pytest.importorskip("netrep.metrics")
    rng = np.random.default_rng(seed)
    p, q = (int(one) for one in rng.integers(2, 9, 2))
    X, Y = pair(seed, 60, p, q)
    train, test = np.arange(60) < 45, np.arange(60) >= 45
    split = (X[train], Y[train]), (X[test], Y[test])
    rotation = metrics.LinearMetric(alpha=1.0, score_method="angular").fit(*split[0])
    one_fold = _only(test)
    assert one_fold("AngShape", X, Y) == pytest.approx(rotation.score(*split[1]), abs=1e-7)
    if p == q:
        x, y = metrics.LinearMetric(alpha=0.0).fit(*split[0]).transform(*split[1])
        expected = np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(x.T, y.T, strict=True)])
        assert one_fold("CCA", X, Y) == pytest.approx(expected, abs=1e-7)


def _only(test):
    """Judge on one part of the rows alone."""
    from shesha.measures.cca import _FORMS, RowSplit

    def score(name, X, Y):
        form = _FORMS[name]
        return form.value(form.sums(RowSplit(X[~test], Y[~test], X[test], Y[test]), {}))

    return score


@pytest.mark.parametrize("name", measures_held_out())
def test_what_a_map_relates_stays_related_held_out(name):
    """A rotation of the rows, which every one of these measures finds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5))
    turned = X @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    found = compare(X, turned, name, folds=5)[name]
    assert found.held_out == pytest.approx(found.value, abs=2e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_unrelated_wide_data_are_near_chance_held_out(name):
    """60 rows of 100 features: on all rows the best rotation finds half of the size; on others nothing."""
    none = {"OrthProc": np.sqrt(2), "AngShape": np.pi / 2, "Procrustes similarity": 0.0, "AlignCos": 0.0}
    if name not in none:
        pytest.skip("in the units of the data")
    rng = np.random.default_rng(1)
    found = [
        compare(rng.standard_normal((60, 100)), rng.standard_normal((60, 80)), name, folds=5)[name] for _ in range(8)
    ]
    assert abs(np.mean([one.value for one in found]) - none[name]) > 0.5
    assert np.mean([one.held_out for one in found]) == pytest.approx(none[name], abs=0.03)


def test_groups_stay_in_one_fold():
    """Copies of rows leak into training unless they are one group."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 3)
    X, Y = (rng.standard_normal((20, 12))[groups] for _ in range(2))
    X, Y = (one + 0.01 * rng.standard_normal(one.shape) for one in (X, Y))
    with pytest.warns(CalibrationWarning, match=r"held-out values may be too high.*pass groups="):
        alone = compare(X, Y, "LinReg", folds=5)["LinReg"].held_out
    together = compare(X, Y, "LinReg", folds=5, groups=groups)["LinReg"].held_out
    assert alone > 0.3 > 0 > together
    fold = deal_folds(60, 5, None, 0)
    assert np.bincount(fold).tolist() == [12] * 5


def test_values_stand_beside_those_of_all_rows(tmp_path):
    X, Y = pair(0)
    found = compare(X, Y, ["CCA", "CKA"], folds=5)
    assert "Held out, 5 folds" in str(found)
    assert found["CKA"].held_out is None
    assert compare(X, Y, ["CCA", "CKA"])["CCA"].held_out is None
    assert compare(X, Y, "CCA", folds=5, seed=1)["CCA"].held_out != found["CCA"].held_out
    found.save_html(tmp_path / "page.html")
    assert "Held out" in (tmp_path / "page.html").read_text()
    both = compare(X, Y, "CCA", folds=5, calibrate=True, n_permutations=19)["CCA"]
    assert both.held_out == found["CCA"].held_out
    assert both.p_value == 0.05


def test_what_cannot_be_held_out_has_a_note():
    X, Y = pair(0, 12, 9, 9)
    found = compare(X, Y, ["CCA", "LinReg"], folds=6)
    assert found["CCA"].held_out is None
    assert "no held-out value: canonical correlations are all 1" in found["CCA"].notes[0]
    distances = compare(Rdm(np.abs(np.subtract.outer(np.arange(12), np.arange(12)))), X, ["RSA", "CCA"], folds=3)
    assert distances["CCA"].held_out is None
