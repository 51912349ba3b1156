"""Clusters are those of MNE, and of a search that follows the definition one entry at a time."""

from itertools import product

import numpy as np
import pytest

from shesha.neuro.time_by_time import grid_clusters, standardise_over_draws
from shesha.nulls.null_summary import number_against_null


def clusters_one_by_one(values, threshold):
    """Grow clusters from single entries."""
    left = {place for place in np.ndindex(values.shape) if values[place] > threshold[place]}
    found = []
    while left:
        cluster, front = set(), [min(left)]
        while front:
            place = front.pop()
            if place in left:
                left.remove(place)
                cluster.add(place)
                for axis, step in product(range(values.ndim), (-1, 1)):
                    front.append(tuple(at + step * (axis == other) for other, at in enumerate(place)))
        found.append((cluster, sum(values[place] for place in cluster)))
    return found


@pytest.mark.parametrize("shape", [(12,), (6, 6), (3, 4, 4)])
def test_clusters_are_those_of_the_definition(shape):
    draws = np.random.default_rng(len(shape)).standard_normal((9, *shape))
    draws[:, 0] = np.nan
    threshold = np.full(shape, 0.3)
    labels, masses, null = grid_clusters(draws, threshold)
    expected = [clusters_one_by_one(draw, threshold) for draw in draws]
    assert {frozenset(map(tuple, np.argwhere(labels == k + 1).tolist())): mass for k, mass in enumerate(masses)} == {
        frozenset(cluster): pytest.approx(mass) for cluster, mass in expected[0]
    }
    np.testing.assert_allclose(null, [max((mass for _, mass in each), default=0.0) for each in expected[1:]])


def test_without_entries_above_the_threshold_there_are_no_clusters():
    labels, masses, null = grid_clusters(np.zeros((3, 4)), 1.0)
    assert not labels.any()
    assert len(masses) == 0
    assert null.tolist() == [0, 0]


def test_p_values_are_those_of_mne():
    stats = pytest.importorskip("mne.stats")
    X = np.random.default_rng(0).standard_normal((7, 30)) + 0.8 * (np.arange(30) // 5 == 2)
    signs = np.array(list(product([1, -1], repeat=7)))
    flipped = signs[:, :, None] * X
    t = flipped.mean(axis=1) / (flipped.std(axis=1, ddof=1) / np.sqrt(7))
    labels, masses, null = grid_clusters(t, 1.5)
    observed, clusters, p_values, maxima = stats.permutation_cluster_1samp_test(
        X, threshold=1.5, n_permutations="all", tail=1, out_type="mask", verbose=False
    )
    np.testing.assert_allclose(observed, t[0])
    assert [np.flatnonzero(labels == k + 1).tolist() for k in range(len(masses))] == [
        np.arange(30)[cluster].tolist() for cluster in clusters
    ]
    # MNE draws 126 of the 127 sign flips at random; all of its maxima are among ours.
    ours = np.array([masses.max(), *null])
    assert np.abs(maxima[:, None] - ours).min(axis=1).max() < 1e-9
    p = [number_against_null("", mass, null, alpha=0.05).p_value for mass in masses]
    np.testing.assert_allclose(p, p_values, atol=2.5 / 127)


def test_draws_are_standardised_with_the_observed_one():
    draws = np.random.default_rng(0).standard_normal((40, 3)) * [1, 5, 0] + 2
    z, threshold = standardise_over_draws(draws, 0.05)
    np.testing.assert_allclose(z[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z[:, :2].std(axis=0), 1)
    assert not z[:, 2].any()
    assert ((z > threshold).sum(axis=0) <= 2).all()
