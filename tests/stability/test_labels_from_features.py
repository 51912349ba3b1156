"""Labels that were computed from the features are recognised, whatever their name; observed labels are not."""

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

import shesha
from shesha.stability.labels_from_features import are_labels_from_features
from shesha.views import Rows


def clusters(X, n, seed):
    return kmeans2(X, n, minit="++", seed=seed)[1]


@pytest.mark.parametrize("n_features", [5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_noise_are_recognised(n_features, seed):
    X = np.random.default_rng(seed).standard_normal((500, n_features))
    assert are_labels_from_features(Rows(X), clusters(X, 5, seed))


@pytest.mark.parametrize("n_features", [5, 20, 50])
@pytest.mark.parametrize("distance", [0, 0.5, 1, 2, 4, 8])
def test_observed_labels_are_not(n_features, distance):
    """Normal classes around means of some length, from none to a wide gap."""
    rng = np.random.default_rng(7)
    labels, means = rng.integers(0, 4, 500), rng.standard_normal((4, n_features))
    means *= distance / np.linalg.norm(means, axis=1, keepdims=True)
    X = rng.standard_normal((500, n_features)) + means[labels]
    assert not are_labels_from_features(Rows(X), labels)


def test_the_headline_doubts_labels_that_follow_the_features():
    X = np.random.default_rng(0).standard_normal((400, 8))
    found = shesha.audit({"X": X}, clusters(X, 4, 0), n_bootstrap=20, n_permutations=19)
    assert "The labels follow the features of X even near the boundaries" in " ".join(str(found).split())
    assert found.representations[0].labels_from_features


@pytest.mark.parametrize("variant", ["supervised_alignment", "variance_ratio"])
def test_an_estimate_says_that_its_labels_follow_the_features(variant):
    X = np.random.default_rng(0).standard_normal((400, 8))
    with pytest.warns(shesha.CalibrationWarning, match="labels follow the features even near the boundaries"):
        found = shesha.estimate(X, clusters(X, 4, 0), variant, n_bootstrap=20, n_permutations=19, seed=0)
    assert "may say nothing about kinds of rows: labels follow the features" in " ".join(str(found).split())
    shesha.estimate(X, np.random.default_rng(1).integers(0, 4, 400), variant, n_bootstrap=20, n_permutations=19, seed=0)
