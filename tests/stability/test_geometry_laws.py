"""What leaves the similarity of two geometries alone."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import squareform
from scipy.stats import ortho_group

import shesha

METRICS = ["cosine", "correlation", "euclidean"]
EXACT = 1e-9

seeds = st.integers(0, 2**32)
metrics = st.sampled_from(METRICS)
methods = st.sampled_from(["spearman", "pearson"])


def two(seed, n=15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)) + 0.3
    return X, X @ rng.standard_normal((5, 7)) + rng.standard_normal((n, 7)), rng


def similarity(X, Y, method, metric):
    return shesha.rdm_similarity(X, Y, method=method, metric=metric)


@given(seeds, methods, metrics)
def test_similarity_is_symmetric_bounded_and_one_with_itself(seed, method, metric):
    X, Y, _ = two(seed)
    assert similarity(X, Y, method, metric) == pytest.approx(similarity(Y, X, method, metric), abs=1e-14)
    assert -1 <= similarity(X, Y, method, metric) <= 1
    assert similarity(X, X, method, metric) == pytest.approx(1.0, abs=1e-15)


@given(seeds, methods, metrics)
def test_drift_is_one_minus_similarity(seed, method, metric):
    X, Y, _ = two(seed)
    assert shesha.rdm_drift(X, Y, method=method, metric=metric) == 1 - similarity(X, Y, method, metric)


@given(seeds, methods, metrics)
def test_similarity_needs_the_match_of_rows_but_not_their_order(seed, method, metric):
    X, Y, rng = two(seed)
    order = rng.permutation(len(X))
    value = similarity(X, Y, method, metric)
    assert similarity(X[order], Y[order], method, metric) == pytest.approx(value, abs=EXACT)
    assert similarity(X, Y[np.roll(np.arange(15), 1)], method, metric) != pytest.approx(value, abs=1e-3)


@given(seeds, methods, st.sampled_from(["cosine", "euclidean"]))
def test_similarity_is_unchanged_by_rotation(seed, method, metric):
    X, Y, _ = two(seed)
    Q = ortho_group.rvs(7, random_state=seed % 2**32)
    assert similarity(X, Y @ Q, method, metric) == pytest.approx(similarity(X, Y, method, metric), abs=EXACT)


@given(seeds, methods, metrics, st.sampled_from([1e-200, 1e-3, 7.0, 1e200]))
def test_similarity_is_unchanged_by_scale(seed, method, metric, scale):
    X, Y, _ = two(seed)
    assert similarity(X * scale, Y, method, metric) == pytest.approx(similarity(X, Y, method, metric), abs=EXACT)


@given(seeds, methods)
def test_similarity_is_unchanged_by_what_the_metric_ignores(seed, method):
    X, Y, rng = two(seed)
    moved = X + 20 * rng.standard_normal(5)
    stretched = X * rng.lognormal(size=(15, 1))
    shifted = stretched + rng.standard_normal((15, 1))
    for other, metric in ((moved, "euclidean"), (stretched, "cosine"), (shifted, "correlation")):
        assert similarity(other, Y, method, metric) == pytest.approx(similarity(X, Y, method, metric), abs=EXACT)


def test_spearman_does_not_see_a_monotone_change_of_distances():
    a, b = np.array([[0.0], [1], [3], [7]]), np.array([[0.0], [1], [4], [20]])
    assert similarity(a, b, "spearman", "euclidean") == 1.0
    assert similarity(a, b, "pearson", "euclidean") < 0.99


@given(seeds, metrics)
def test_profiles_of_all_anchors_agree_wherever_the_geometry_does(seed, metric):
    X, Y, rng = two(seed)
    anchors = rng.permutation(15)[:4]
    assert shesha.anchor_profile_stability(X, 2 * X, anchors, metric=metric) == pytest.approx(1.0)
    assert -1 <= shesha.anchor_profile_stability(X, Y, anchors, metric=metric) <= 1


@given(arrays(float, (8, 3), elements=st.floats(-1e3, 1e3)), st.integers(0, 7))
def test_euclidean_distances_obey_the_triangle_inequality(X, middle):
    distances = squareform(shesha.compute_rdm(X, "euclidean"))
    assert (distances <= distances[:, [middle]] + distances[middle] + 1e-9).all()


@given(seeds, st.sampled_from([0.01, 0.1, 1.0]))
def test_an_encoder_is_more_stable_under_less_noise(seed, sd):
    X = np.random.default_rng(seed).standard_normal((40, 6))
    scores = [shesha.encoder_stability(np.tanh, X, size, n=5, seed=seed) for size in (sd, 3 * sd)]
    assert 1 / 3 <= scores[1] < scores[0] <= 1
