"""The split scores are what their definitions give, written out with SciPy."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group, spearmanr

from shesha import anchor_stability, basis_averaged_split, estimate, feature_split, sample_split


def correlation(X, Y, metric):
    return spearmanr(pdist(X, metric), pdist(Y, metric)).statistic


def split_by_hand(X, n_splits, metric, seed, max_samples=None):
    rng = np.random.default_rng(seed)
    if max_samples and len(X) > max_samples:
        X = X[rng.choice(len(X), max_samples, replace=False)]
    half = X.shape[1] // 2
    orders = [rng.permutation(X.shape[1]) for _ in range(n_splits)]
    return np.mean([correlation(X[:, order[:half]], X[:, order[half:]], metric) for order in orders])


@pytest.mark.parametrize(("n", "d"), [(4, 6), (5, 9), (40, 12), (30, 31)])
def test_feature_split_is_its_definition(low_rank, metric, n, d):
    X = low_rank(n, d) + 0.5
    assert feature_split(X, 4, metric, seed=3) == pytest.approx(split_by_hand(X, 4, metric, 3), abs=1e-12)


def test_feature_split_of_more_rows_than_the_limit_uses_a_subset_drawn_first(low_rank, metric):
    X = low_rank(50, 8)
    expected = split_by_hand(X, 3, metric, 11, max_samples=20)
    assert feature_split(X, 3, metric, seed=11, max_samples=20) == pytest.approx(expected, abs=1e-12)


def test_feature_split_of_whole_numbers_ties_distances_that_are_equal(rng):
    X = rng.integers(0, 2, (30, 12))
    expected = split_by_hand(X * 1.0, 5, "euclidean", 0)
    assert feature_split(X, 5, "euclidean", seed=0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("d", [9, 10])
def test_basis_averaged_split_is_the_mean_over_uniform_rotations(low_rank, metric, d):
    X = low_rank(20, d, noise=0.5) * np.geomspace(1, 10, d)
    rows = X - X.mean(axis=1, keepdims=True) if metric == "correlation" else X
    inner = "cosine" if metric == "correlation" else metric
    turned = [rows @ Q for Q in ortho_group.rvs(d, size=400, random_state=1)]
    by_hand = np.array([correlation(R[:, : d // 2], R[:, d // 2 :], inner) for R in turned])
    found = estimate(X, variant="basis_averaged_split", metric=metric, n_draws=400, n_bootstrap=0, seed=0)
    error = np.hypot(found.monte_carlo_error, by_hand.std() / 20)
    assert abs(found.value - by_hand.mean()) < 4 * error
    assert error < 0.02
    assert basis_averaged_split(X, 400, metric, seed=0) == pytest.approx(found.value, abs=1e-12)


@pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")
def test_sample_split_correlates_by_position(low_rank, metric):
    X = low_rank(40, 6)
    rng = np.random.default_rng(5)
    pairs = [[rng.choice(40, 12, replace=False) for _ in range(2)] for _ in range(3)]
    expected = np.mean([correlation(X[a], X[b], metric) for a, b in pairs])
    assert sample_split(X, 3, 0.3, metric, seed=5) == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")
@pytest.mark.parametrize("rank_normalize", [True, False])
def test_anchor_stability_correlates_by_position(low_rank, metric, rank_normalize):
    from scipy.spatial.distance import cdist
    from scipy.stats import rankdata

    X = low_rank(70, 6)
    rng = np.random.default_rng(5)
    anchors = rng.choice(70, 10, replace=False)
    others = np.setdiff1d(np.arange(70), anchors)
    scores = []
    for _ in range(3):
        order = rng.permutation(others)
        profiles = [cdist(X[anchors], X[probes], metric) for probes in (order[:25], order[25:50])]
        if rank_normalize:
            profiles = [rankdata(profile, axis=1) for profile in profiles]
        scores.append(spearmanr(*(profile.ravel() for profile in profiles)).statistic)
    found = anchor_stability(X, 3, 10, 25, metric, rank_normalize, seed=5)
    assert found == pytest.approx(np.mean(scores), abs=1e-12)
