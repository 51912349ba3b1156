"""Labels that were computed from the features are recognised, whatever their name; observed labels are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.vq import kmeans2

import shesha
from shesha.nulls.labels_from_features import are_labels_from_features
from shesha.steering import predictors
from shesha.support.warnings import CalibrationWarning


def clusters(X, n, seed):
    return kmeans2(X, n, minit="++", seed=seed)[1]


@pytest.mark.parametrize("n_features", [5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_noise_are_recognised(n_features, seed):
    X = np.random.default_rng(seed).standard_normal((500, n_features))
    assert are_labels_from_features(X.__getitem__, clusters(X, 5, seed))


@pytest.mark.parametrize("n_features", [5, 20, 50])
@pytest.mark.parametrize("distance", [0, 0.5, 1, 2, 4, 8])
def test_observed_labels_are_not(n_features, distance):
    """Normal classes around means of some length, from none to a wide gap."""
    rng = np.random.default_rng(7)
    labels, means = rng.integers(0, 4, 500), rng.standard_normal((4, n_features))
    means *= distance / np.linalg.norm(means, axis=1, keepdims=True)
    X = rng.standard_normal((500, n_features)) + means[labels]
    assert not are_labels_from_features(X.__getitem__, labels)


def test_the_headline_doubts_labels_that_follow_the_features():
    X = np.random.default_rng(0).standard_normal((400, 8))
    found = shesha.audit({"X": X}, clusters(X, 4, 0), n_bootstrap=20, n_permutations=19)
    assert "The labels follow the features of X even near the boundaries" in " ".join(str(found).split())
    assert found.representations[0].labels_from_features


TESTS = {
    "estimate": lambda X, y: shesha.estimate(X, y, "variance_ratio", n_bootstrap=0),
    "doubts": shesha.doubts,
    "predictors": lambda X, y: predictors(X, y, n_draws=19),
}


@pytest.mark.parametrize("kind", TESTS)
@pytest.mark.parametrize(("name", "sign"), [("leiden_0.5", "leiden_0.5 is named"), ("cell_type", "follow"), (None, "")])
def test_tests_of_labels_warn_of_clusters(kind, name, sign):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = rng.integers(0, 3, 300) if name is None else pd.Series(clusters(X, 3, 0), name=name)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = TESTS[kind](X, y)
    texts = [str(one.message) for one in found if one.category is CalibrationWarning]
    assert len(texts) == (name is not None) == any("clusters of the same data" in text for text in result.inputs)
    assert all(sign in text for text in texts)
