"""Calibrations of leading principal components are those of components by hand."""

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
    assert found.value == pytest.approx(expected.value, abs=1e-10)
    assert found.null == pytest.approx(expected.null, abs=1e-10)
    assert grid.null == pytest.approx(expected.null, abs=1e-10)
    assert calibrate(X, Y, name, truncate=6, n_permutations=K, seed=0).value == pytest.approx(
        calibrate(principal(X, 6), principal(Y, 5), name, n_permutations=K, seed=0).value, abs=1e-10
    )


@pytest.mark.parametrize("name", ["CKA", "OrthProc", "CCA", "RDM drift"])
def test_truncated_rows_may_come_in_any_order(pair, name):
    """Components have arbitrary signs, which must not matter."""
    X, Y = pair
    orders = [np.random.default_rng(k).permutation(40) for k in range(6)]
    found = [calibrate(X[o], Y[o], name, truncate=3, n_permutations=K, seed=0).value for o in orders]
    assert np.ptp(found) < 1e-10


@pytest.mark.parametrize("name", ["RSA", "HardCorr", "SoftCorr", "PermProc", "PWCCA"])
@pytest.mark.parametrize("layered", [False, True])
def test_measures_that_look_at_signs_are_not_truncated(pair, name, layered):
    X, Y = pair
    with pytest.raises(ValueError, match=f"truncate needs a measure that is invariant to rotations, got {name}"):
        calibrate_layers([X], [Y], name, truncate=3) if layered else calibrate(X, Y, name, truncate=3)


def test_truncation_by_share_of_the_variance(pair):
    X, Y = pair
    counts = []
    for side in pair:
        shares = np.linalg.svd(side - side.mean(axis=0), compute_uv=False) ** 2
        counts.append(int(np.argmax(np.cumsum(shares) / shares.sum() >= 0.6)) + 1)
    assert min(counts) > 1
    found = calibrate(X, Y, truncate=0.6, n_permutations=K, seed=0)
    assert found.value == pytest.approx(measures.cka(*map(principal, pair, counts)), abs=1e-10)


def test_a_truncated_comparison_says_so(pair):
    found = calibrate(*pair, truncate=np.int64(3), n_permutations=K, seed=0)
    assert json.loads(json.dumps(found.to_dict()))["options"] == {"truncate": 3}


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


@pytest.mark.parametrize("kind", ["equal rows", "distances"])
def test_truncation_of_what_has_no_components_has_a_reason(pair, kind):
    X, Y = pair
    flat = np.ones_like(X) if kind == "equal rows" else Rdm(np.linalg.norm(X[:, None] - X, axis=-1))
    with pytest.warns(NotEstimableWarning, match=r"all rows are equal|features are needed"):
        assert np.isnan(calibrate(flat, Y, "RDM drift", truncate=2, n_permutations=K).value)


def test_feature_maps_are_truncated_as_features(rng):
    maps = rng.standard_normal((2, 12, 4, 3, 3))
    found = calibrate(*maps, "CKA", truncate=2, n_permutations=K, seed=0)
    flat = calibrate(*maps.reshape(2, 12, 36), "CKA", truncate=2, n_permutations=K, seed=0)
    assert found.null == pytest.approx(flat.null, abs=1e-10)
    grid = calibrate_layers([maps[0]], [maps[1]], "CKA", truncate=2, n_permutations=K, seed=0)
    assert grid.null == pytest.approx(flat.null, abs=1e-10)


def test_functions_get_truncated_features(pair):
    own = calibrate(*pair, lambda a, b: measures.cka(a, b), truncate=2, n_permutations=K, seed=0)
    ours = calibrate(*pair, "CKA", truncate=2, n_permutations=K, seed=0)
    grid = calibrate_layers([pair[0]], [pair[1]], lambda a, b: measures.cka(a, b), truncate=2, n_permutations=K, seed=0)
    assert own.null == pytest.approx(ours.null, abs=1e-10)
    assert grid.null == pytest.approx(ours.null, abs=1e-10)
