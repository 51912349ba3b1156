"""What leaves the split scores alone, what changes them, and within which bounds they stay."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ortho_group

from shesha import NotEstimableWarning, basis_averaged_split, estimate, feature_split

METRICS = ["cosine", "correlation", "euclidean"]
DIRECTIONAL = ["cosine", "correlation"]
SPLITS = [feature_split, basis_averaged_split]
EXACT = 1e-9

seeds = st.integers(0, 2**32)
metrics = st.sampled_from(METRICS)
shapes = st.tuples(st.integers(4, 25), st.integers(6, 20))


@pytest.fixture(params=SPLITS)
def split(request):
    return request.param


def anisotropic(seed, shape, rank=3):
    """Rows with a common offset, a few strong directions and noise."""
    n, d = shape
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + rng.standard_normal((n, d)) + 0.4


@given(seeds, shapes, st.sampled_from(SPLITS), st.sampled_from(DIRECTIONAL))
def test_the_lengths_of_rows_do_not_matter_to_directional_metrics(seed, shape, split, metric):
    X = anisotropic(seed, shape)
    scales = np.random.default_rng(seed).lognormal(sigma=5, size=(len(X), 1))
    assert split(X * scales, 3, metric, seed=1) == pytest.approx(split(X, 3, metric, seed=1), abs=EXACT)


@given(seeds, shapes, st.sampled_from(SPLITS), metrics, st.sampled_from([1e-250, 1e-17, 1e-3, 3.0, 1e9, 1e250]))
def test_a_common_scale_does_not_matter(seed, shape, split, metric, scale):
    X = anisotropic(seed, shape)
    assert split(X * scale, 3, metric, seed=1) == pytest.approx(split(X, 3, metric, seed=1), abs=EXACT)


@given(seeds, shapes, st.sampled_from(SPLITS), metrics)
def test_the_order_of_rows_does_not_matter(seed, shape, split, metric):
    X = anisotropic(seed, shape)
    order = np.random.default_rng(seed).permutation(len(X))
    assert split(X[order], 3, metric, seed=1) == pytest.approx(split(X, 3, metric, seed=1), abs=EXACT)


@given(seeds, shapes, st.sampled_from(SPLITS))
def test_translation_does_not_matter_to_euclidean_distances(seed, shape, split):
    X = anisotropic(seed, shape)
    moved = X + 50 * np.random.default_rng(seed).standard_normal(X.shape[1])
    assert split(moved, 3, "euclidean", seed=1) == pytest.approx(split(X, 3, "euclidean", seed=1), abs=EXACT)


@given(seeds, shapes, st.sampled_from(SPLITS))
def test_a_common_offset_of_a_row_does_not_matter_to_correlation(seed, shape, split):
    X = anisotropic(seed, shape)
    offsets = np.random.default_rng(seed).standard_normal((len(X), 1))
    assert split(X + offsets, 3, "correlation", seed=1) == pytest.approx(split(X, 3, "correlation", seed=1), abs=EXACT)


@given(seeds, shapes, st.sampled_from(["cosine", "euclidean"]))
def test_basis_averaged_split_is_unchanged_by_any_rotation(seed, shape, metric):
    X = anisotropic(seed, shape)
    Q = ortho_group.rvs(X.shape[1], random_state=seed % 2**32)
    turned, value = (basis_averaged_split(rows, 3, metric, seed=1) for rows in (X @ Q, X))
    assert turned == pytest.approx(value, abs=EXACT)


@given(arrays(float, (6, 6), elements=st.sampled_from([0.0, 1.0, 2.0, -1e9])), st.sampled_from(SPLITS), metrics)
def test_awkward_data_give_a_correlation_a_reason_or_a_named_row(X, split, metric):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = split(X, 2, metric, seed=1)
        except ValueError as error:
            assert "rows" in str(error)
            return
    assert -1 <= value <= 1 or (np.isnan(value) and [one.category for one in caught] == [NotEstimableWarning])


def test_feature_split_does_not_know_the_order_of_features(low_rank, rng, metric):
    X = low_rank(40, 12, noise=2.0)
    shuffled = X[:, rng.permutation(12)]
    found, other = (estimate(rows, metric=metric, n_splits=300, n_bootstrap=0, seed=5) for rows in (X, shuffled))
    assert found.value != other.value
    assert abs(found.value - other.value) < 4 * np.hypot(found.monte_carlo_error, other.monte_carlo_error)


def test_more_noise_means_less_stability(low_rank, split, metric):
    scores = [split(low_rank(60, 24, noise=noise), metric=metric, seed=0) for noise in (0.0, 0.5, 1.0, 2.0, 4.0, 16.0)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.6
    assert abs(scores[-1]) < 0.1


def test_feature_split_is_changed_by_rotation_into_principal_axes(low_rank):
    X = low_rank(100, 32, rank=3, noise=0.3)
    principal = X @ np.linalg.svd(X, full_matrices=False).Vh.T
    assert feature_split(X, seed=0) > 0.8
    assert feature_split(principal, seed=0) < 0.3
    assert basis_averaged_split(principal, seed=0) == pytest.approx(basis_averaged_split(X, seed=0), abs=EXACT)


def test_rotation_of_isotropic_data_hides_that_axes_matter(rng):
    X = rng.standard_normal((100, 32))
    Q = ortho_group.rvs(32, random_state=0)
    assert feature_split(X @ Q, seed=0) == pytest.approx(feature_split(X, seed=0), abs=0.05)


def test_odd_features_leave_the_larger_half_second():
    X = np.random.default_rng(0).standard_normal((8, 5))
    order = np.random.default_rng(7).permutation(5)
    spoiled = X.copy()
    spoiled[3, order[2:]] = 0.0
    with pytest.raises(ValueError, match="zero halves in rows 3"):
        feature_split(spoiled, 1, seed=7)
    spoiled[3, order[2]] = 1.0
    assert -1 <= feature_split(spoiled, 1, seed=7) <= 1
