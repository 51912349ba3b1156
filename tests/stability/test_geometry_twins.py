"""Scores of two representations, and of an encoder, are what their definitions give, written out with SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, pdist
from scipy.stats import pearsonr, spearmanr

import shesha

CORRELATE = {"spearman": spearmanr, "pearson": pearsonr}


@pytest.fixture(params=list(CORRELATE))
def method(request):
    return request.param


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((40, 6)) + 0.5
    return X, X @ rng.standard_normal((6, 9)) + rng.standard_normal((40, 9))


def expected_similarity(X, Y, method, metric):
    return CORRELATE[method](pdist(X, metric), pdist(Y, metric)).statistic


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_compute_rdm_is_scipys_condensed_form(pair, metric, scale):
    expected = pdist(pair[0], metric) * (scale if metric == "euclidean" else 1.0)
    for normalize in (True, False):
        assert_allclose(shesha.compute_rdm(pair[0] * scale, metric, normalize), expected, rtol=1e-11)


def test_compute_rdm_of_two_rows_is_one_distance():
    assert_allclose(shesha.compute_rdm([[0, 0], [3, 4]], "euclidean"), [5.0])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_similarity_drift_and_replicates_are_one_correlation(pair, method, metric, scale):
    expected = expected_similarity(*pair, method, metric)
    pair = pair[0] * scale, pair[1]
    assert shesha.rdm_similarity(*pair, method, metric) == pytest.approx(expected, abs=1e-12)
    assert shesha.rdm_drift(*pair, method, metric) == pytest.approx(1 - expected, abs=1e-12)
    assert shesha.replicate_stability(*pair, metric=metric, method=method) == pytest.approx(expected, abs=1e-12)


def test_distances_that_are_equal_tie_whatever_their_rounding(rng):
    X, Y = rng.integers(0, 2, (30, 8)) * 1.0, rng.standard_normal((30, 3))
    # Sevenths are not exact in binary, so equal distances come out a little different.
    exact = spearmanr(np.rint(pdist(X, "sqeuclidean")), pdist(Y)).statistic
    assert shesha.rdm_similarity(X / 7 + 1 / 3, Y, metric="euclidean") == pytest.approx(exact, abs=1e-12)


def test_drift_path_is_the_drift_from_the_first_and_the_one_before(rng, method, metric):
    layers = {f"step {k}": rng.standard_normal((20, 4)) for k in range(4)}
    X = list(layers.values())
    path = shesha.drift_path(layers, method=method, metric=metric)
    with pytest.warns(shesha.CalibrationWarning, match="begins with checkpoint-1000 and is not that of the numbers"):
        shesha.drift_path({f"checkpoint-{k}": X for k, X in zip((1000, 2000, 500), layers.values(), strict=False)})
    assert path.names == tuple(layers)
    assert path.from_first[0] == path.from_previous[0] == 0
    assert_allclose(path.from_first[1:], [1 - expected_similarity(X[0], Y, method, metric) for Y in X[1:]], atol=1e-12)
    by_step = [1 - expected_similarity(X[k], X[k + 1], method, metric) for k in range(3)]
    assert_allclose(path.from_previous[1:], by_step, atol=1e-12)
    assert shesha.drift_path(X).names == ("0", "1", "2", "3")


@pytest.mark.parametrize("probes", [None, [30, 5, 9, 12, 39, 1]])
def test_anchor_profile_stability_is_the_mean_correlation_of_profiles(pair, method, metric, probes):
    anchors = [3, 17, 20]
    seen = np.setdiff1d(np.arange(40), anchors) if probes is None else probes
    profiles = [cdist(X[anchors], X[seen], metric) for X in pair]
    expected = np.mean([CORRELATE[method](a, b).statistic for a, b in zip(*profiles, strict=True)])
    found = shesha.anchor_profile_stability(*pair, anchors, probes, metric=metric, method=method)
    assert found == pytest.approx(expected, abs=1e-12)


def test_encoder_stability_is_its_definition(rng):
    X, W = rng.standard_normal((20, 5)), rng.standard_normal((5, 3))
    draw = np.random.default_rng(8)
    clean = X @ W
    clean /= np.linalg.norm(clean, axis=1, keepdims=True)
    moved = []
    for _ in range(4):
        output = (X + 0.3 * draw.standard_normal(X.shape)) @ W
        moved.append(np.linalg.norm(output / np.linalg.norm(output, axis=1, keepdims=True) - clean, axis=1).mean())
    expected = 1 / (1 + np.mean(moved))
    assert shesha.encoder_stability(lambda X: X @ W, X, 0.3, n=4, seed=8) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("encoder", "expected"),
    [(lambda X: X, 1 / 3), (np.square, 1.0), (lambda X: np.stack([X[:, 0], abs(X[:, 0])], axis=1), 1 / (1 + 2**0.5))],
    ids=["turned round", "blind to signs", "turned by a right angle"],
)
def test_encoder_stability_of_a_changed_sign(rng, encoder, expected):
    X = abs(rng.standard_normal((20, 5)))
    assert shesha.encoder_stability(encoder, X, lambda X: -X, n=2) == pytest.approx(expected, abs=1e-12)


def test_a_perturbation_with_an_optional_second_argument_is_called_with_one():
    X = np.eye(4)
    assert shesha.encoder_stability(lambda X: X, X, np.negative) == pytest.approx(1 / 3)
