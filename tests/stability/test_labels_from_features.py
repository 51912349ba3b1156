"""Labels that were computed from the features are recognised, whatever their name; observed labels are not."""

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes", "distance"),
    [(1000, 50, 10, 6), (150, 40, 25, 6), (64, 45, 4, 5), (1000, 30, 50, 6), (200, 500, 4, 6)],
)
def test_well_separated_classes_are_not(n_rows, n_features, n_classes, distance):
    """Many features, or fewer rows per class than neighbours, make each neighbour weak evidence about a row's class."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, n_classes, n_rows)
    means = distance / np.sqrt(2 * n_features) * rng.standard_normal((n_classes, n_features))
    X = means[labels] + rng.standard_normal((n_rows, n_features))
    assert not are_labels_from_features(Rows(X), labels)


def test_the_headline_doubts_labels_that_follow_the_features():
    X = np.random.default_rng(0).standard_normal((400, 8))
    found = shesha.audit({"X": X}, clusters(X, 4, 0), n_bootstrap=20, n_permutations=19)
    assert "Hardly any row of X lies beyond the plane between two classes" in " ".join(str(found).split())
    assert found.representations[0].labels_from_features


@pytest.mark.parametrize("variant", ["supervised_alignment", "variance_ratio"])
def test_an_estimate_says_that_its_labels_follow_the_features(variant):
    X = np.random.default_rng(0).standard_normal((400, 8))
    with pytest.warns(shesha.CalibrationWarning, match="hardly any row lies beyond the plane"):
        found = shesha.estimate(X, clusters(X, 4, 0), variant, n_bootstrap=20, n_permutations=19, seed=0)
    assert "says nothing about kinds of rows if the labels are clusters of the same data: hardly any row" in " ".join(
        str(found).split()
    )
    observed = np.random.default_rng(1).integers(0, 4, 400)
    shesha.estimate(X, observed, variant, n_bootstrap=20, n_permutations=19, seed=0)
    with pytest.warns(shesha.CalibrationWarning, match="they are named 'leiden'"):
        shesha.estimate(X, pd.Series(observed, name="leiden"), variant, n_bootstrap=20, n_permutations=19, seed=0)
