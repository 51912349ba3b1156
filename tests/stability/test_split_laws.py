"""What changes the split scores, and within which bounds they stay; test_declared has what leaves them alone."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from shesha import NotEstimableWarning, basis_averaged_split, estimate, feature_split

METRICS = ["cosine", "correlation", "euclidean"]
SPLITS = [feature_split, basis_averaged_split]
EXACT = 1e-9

metrics = st.sampled_from(METRICS)


@pytest.fixture(params=SPLITS)
def split(request):
    return request.param


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


def test_odd_features_leave_the_larger_half_second():
    X = np.random.default_rng(0).standard_normal((8, 5))
    order = np.random.default_rng(7).permutation(5)
    spoiled = X.copy()
    spoiled[3, order[2:]] = 0.0
    with pytest.raises(ValueError, match="zero halves in rows 3"):
        feature_split(spoiled, 1, seed=7)
    spoiled[3, order[2]] = 1.0
    assert -1 <= feature_split(spoiled, 1, seed=7) <= 1
