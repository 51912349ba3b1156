"""CKA of sampled features: what its numerator and norms estimate does not depend on how many were sampled."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.linalg import hadamard

import shesha.measures as measures
from shesha import NotEstimableWarning, calibrate, noise_ceiling
from shesha.support.warnings import NotEstimable


def unbiased_hsic(K, L):
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    shared = (K * L).sum() + K.sum() * L.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (K @ L).sum()
    return shared / (n * (n - 3))


def own_size(X):
    pairs = permutations([np.outer(x, x) for x in X.T], 2)
    return np.mean([unbiased_hsic(K, L) for K, L in pairs])


def shared(X, Y):
    return unbiased_hsic(X @ X.T / X.shape[1], Y @ Y.T / Y.shape[1])


def sample(rng, n, d):
    return rng.standard_normal((n, d)) + rng.standard_normal((n, 1)) + 1


def test_every_sample_of_features_and_rows_counts_alike(rng):
    """Over all samples of 3 of 5 features, and of 5 of 6 rows, numerator and norms have the mean of the whole."""
    X, Y = sample(rng, 6, 5), sample(rng, 6, 4)
    features = [list(some) for some in combinations(range(5), 3)]
    rows = [list(some) for some in combinations(range(6), 5)]
    assert np.mean([own_size(X[:, some]) for some in features]) == pytest.approx(own_size(X), rel=1e-12)
    assert np.mean([own_size(X[some]) for some in rows]) == pytest.approx(own_size(X), rel=1e-12)
    assert np.mean([shared(X[:, some], Y) for some in features]) == pytest.approx(shared(X, Y), rel=1e-12)
    assert np.mean([shared(X[some], Y[some]) for some in rows]) == pytest.approx(shared(X, Y), rel=1e-12)
    if min(own_size(X), own_size(Y)) > 0:
        expected = shared(X, Y) / np.sqrt(own_size(X) * own_size(Y))
        assert measures.sampled_cka(X, Y) == pytest.approx(expected, rel=1e-10)


def test_few_features_lower_other_ckas_but_not_this_one():
    """Measured over 60 draws with 200 rows and a share of 2,000 features: 0.754 with 40, 0.745 with 160 features."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal((6, 1000))
    second = first[:, ::-1] * np.array([1, 1, 1, 0.2, 0.2, 0.2])[:, None]
    found = {p: [] for p in (40, 200)}
    for p, values in found.items():
        for _ in range(12):
            latent = rng.standard_normal((80, 6))
            X, Y = (
                latent @ loadings[:, rng.choice(1000, p, replace=False)] + rng.standard_normal((80, p))
                for loadings in (first, second)
            )
            values.append([measures.get(name).score(X, Y) for name in ("CKA", "unbiased CKA", "sampled CKA")])
    few, many = (np.mean(found[p], axis=0) for p in (40, 200))
    assert (few < many - 0.05)[:2].all()
    assert few[2] == pytest.approx(many[2], abs=0.04)


@pytest.mark.parametrize("widths", [(6, 5), (40, 8), (50, 60)])
def test_null_and_grid_take_the_same_value(rng, widths):
    """Narrow, mixed and wide data go through cross-products of features and through kernel matrices."""
    X, Y = (sample(rng, 24, d) for d in widths)
    found = calibrate(X, Y, "sampled CKA", n_permutations=19, seed=0)
    assert found.value == pytest.approx(measures.sampled_cka(X, Y), rel=1e-10)
    orders = np.array([rng.permutation(24) for _ in range(19)])
    null = calibrate(X, Y, "sampled CKA", n_permutations=19, permutations=orders).null
    assert null == pytest.approx([measures.sampled_cka(X, Y[order]) for order in orders], rel=1e-9, abs=1e-12)


def test_features_that_do_not_agree_say_nothing_of_others(rng):
    at_right_angles = hadamard(8)[:, 1:5]
    with pytest.warns(NotEstimableWarning, match="different features are unrelated, so the norm of all features"):
        assert np.isnan(measures.sampled_cka(at_right_angles, sample(rng, 8, 3)))
    with pytest.raises(NotEstimable, match="a sample of features needs at least 2 features, got 1"):
        measures.get("sampled CKA").score(sample(rng, 8, 1), sample(rng, 8, 3))


def test_repeats_are_averaged_as_features(rng):
    """Repeats have the same features, which do not become more of them side by side."""
    truth = sample(rng, 30, 6)
    repeats = truth + 0.5 * rng.standard_normal((3, 30, 6))
    expected = np.mean([measures.sampled_cka(one, repeats.mean(axis=0)) for one in repeats])
    assert noise_ceiling(repeats, "sampled CKA").upper == pytest.approx(expected, rel=1e-10)
