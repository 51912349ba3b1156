"""Calibrations of leading principal components are those of components by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shesha.measures as measures
from shesha import NotEstimableWarning, Rdm, calibrate, calibrate_layers

K = 39


def principal(X, count):
    """The leading principal components, by hand."""
    centred = X - X.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    return centred @ directions[:, np.argsort(values)[::-1][:count]]


@pytest.mark.parametrize("name", ["CKA", "CCA", "ProcDist", "RDM drift"])
def test_truncation_leaves_the_leading_components(pair, name):
    X, Y = pair
    expected = calibrate(principal(X, 3), principal(Y, 3), name, n_permutations=K, seed=0)
    found = calibrate(X, Y, name, truncate=3, n_permutations=K, seed=0)
    grid = calibrate_layers([X], [Y], name, truncate=3, n_permutations=K, seed=0)
    assert found.observed == pytest.approx(expected.observed, abs=1e-10)
    assert found.null == pytest.approx(expected.null, abs=1e-10)
    assert grid.null == pytest.approx(expected.null, abs=1e-10)
    assert calibrate(X, Y, name, truncate=6, n_permutations=K, seed=0).observed == pytest.approx(
        calibrate(principal(X, 6), principal(Y, 5), name, n_permutations=K, seed=0).observed, abs=1e-10
    )


SIGNED = pytest.mark.xfail(strict=True, reason="components have arbitrary signs, which these measures look at")


@pytest.mark.parametrize(
    "name",
    ["CKA", "OrthProc", "CCA", "RDM drift"]
    + [pytest.param(name, marks=SIGNED) for name in ("RSA", "HardCorr", "SoftCorr", "PermProc")],
)
def test_truncated_rows_may_come_in_any_order(pair, name):
    X, Y = pair
    found = set()
    for k in range(6):
        order = np.random.default_rng(k).permutation(40)
        try:
            one = calibrate(X[order], Y[order], name, truncate=3, n_permutations=19, seed=0)
        except ValueError as error:
            assert "truncate must" in str(error)
            return
        found.add(round(one.observed, 8))
    assert len(found) == 1


def test_truncation_by_share_of_the_variance(pair):
    X, Y = pair
    counts = []
    for side in pair:
        shares = np.linalg.svd(side - side.mean(axis=0), compute_uv=False) ** 2
        counts.append(int(np.argmax(np.cumsum(shares) / shares.sum() >= 0.6)) + 1)
    assert min(counts) > 1
    found = calibrate(X, Y, truncate=0.6, n_permutations=K, seed=0)
    assert found.observed == pytest.approx(measures.cka(*map(principal, pair, counts)), abs=1e-10)


@pytest.mark.xfail(strict=True, reason="the result has no place for it")
def test_a_truncated_comparison_says_so(pair):
    assert "truncate" in json.dumps(calibrate(*pair, truncate=3, n_permutations=K, seed=0).to_dict())


@pytest.mark.parametrize(
    ("truncate", "error", "said"),
    [
        (0, ValueError, "truncate must be at least 1, got 0"),
        (1.5, ValueError, r"truncate must be in \(0, 1\], got 1.5"),
        (True, TypeError, "truncate must be a number, got True"),
        ("3", TypeError, "truncate must be a number, got '3'"),
    ],
)
def test_truncations_that_are_none_are_refused(either, truncate, error, said):
    with pytest.raises(error, match=said):
        either(truncate=truncate)


@pytest.mark.xfail(strict=True, reason="components are looked for before the data are asked whether they have any")
@pytest.mark.parametrize("kind", ["equal rows", "distances"])
def test_truncation_of_what_has_no_components_has_a_reason(pair, kind):
    X, Y = pair
    flat = np.ones_like(X) if kind == "equal rows" else Rdm(np.linalg.norm(X[:, None] - X, axis=-1))
    with pytest.warns(NotEstimableWarning, match=r"all rows are equal|needs the features"):
        assert np.isnan(calibrate(flat, Y, "RSA", truncate=2, n_permutations=K).observed)


@pytest.mark.xfail(strict=True, reason="components are looked for before positions become features")
def test_feature_maps_are_truncated_or_refused_in_words(rng):
    maps = rng.standard_normal((2, 12, 4, 3, 3))
    try:
        found = calibrate(*maps, "CKA", truncate=2, n_permutations=K)
    except ValueError as error:
        assert "truncate must" in str(error)
    else:
        assert found.n_rows == 12
