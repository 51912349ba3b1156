"""The ten tests of the metric (Raju 2026, long version, 6.2), on what can be had here instead of vision models.

The leaderboard (test 2) needs the fifteen models and has no counterpart.
"""

import numpy as np
import pytest

from shesha.data import digits, digits_network
from shesha.stability.estimate import estimate
from shesha.stability.feature import basis_averaged_split, feature_split
from shesha.stability.supervised import variance_ratio, zscore_separation

LAYERS, LABELS = digits_network()
SUPERVISED = (variance_ratio, zscore_separation)
every_layer = pytest.mark.parametrize("layer", LAYERS)


def some_rows(n, available, seed=320):
    return np.random.default_rng(seed).permutation(available)[:n]


def chance_of_variance_ratio(y):
    return (len(np.unique(y)) - 1) / (len(y) - 1)


def chance_of_zscore(y):
    """Of one round cloud: a class is closer to its own mean, which it helped to make, than to that of the others."""
    sizes = np.unique(y, return_counts=True)[1]
    sizes = sizes[sizes > 1]
    inter, intra = np.sqrt(1 + 1 / (len(y) - sizes)), np.sqrt(1 - 1 / sizes)
    return ((inter - intra) / (inter + intra)).mean()


def principal_scores(X, n_components):
    left, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return (left * sizes)[:, :n_components]


def one_large_class(y, large, small, rng):
    """Rows of the first class and, a twentieth as many, of each other class."""
    members = [rng.permutation(np.flatnonzero(y == label)) for label in range(10)]
    return np.concatenate([rows[: small if label else large] for label, rows in enumerate(members)])


# Test 1. Published: |drift| between n = 400 and 1600 below 0.05, on average 0.0115 over 30 embeddings. Ours, 400 rows
# against all (900, 872 or 1600) over 5 subsets of 14 representations: 0.005 on average, 0.013 at most.


@every_layer
def test_400_rows_are_enough_for_layers(layer):
    X = LAYERS[layer][some_rows(900, 900)]
    assert abs(feature_split(X[:400], seed=320) - feature_split(X, seed=320)) < 0.02


def test_400_rows_are_enough_for_pixels_and_for_a_mixture(mixture):
    pixels = digits()[0][some_rows(1600, 1797)]
    for X in (pixels, mixture(0.7, np.random.default_rng(5), n=1600)):
        few, many = (feature_split(X[:n], n_splits=10, seed=320) for n in (400, 1600))
        assert abs(few - many) < 0.02


def test_400_rows_are_enough_for_sentences(minilm):
    for layer in (0, 3, 6):
        X = minilm[0][some_rows(872, 872), layer]
        few, many = (feature_split(X[:n], n_splits=10, seed=320) for n in (400, 872))
        assert abs(few - many) < 0.03


# Tests 3 and 4. Published: 90 of 90 conditions repeat exactly, and are finite and within their bounds.


@every_layer
def test_scores_repeat_bit_for_bit(layer):
    X, y = LAYERS[layer][:400], LABELS[:400]
    assert feature_split(X, seed=320) == feature_split(X.copy(), seed=320)
    assert all(score(X, y) == score(X.copy(), y.copy()) for score in SUPERVISED)


@every_layer
@pytest.mark.parametrize("size", [1e-6, 1, 1e6])
def test_scores_are_finite_and_within_bounds(layer, size):
    X = size * LAYERS[layer]
    assert -1 <= feature_split(X[:200], seed=320) <= 1
    assert 0 <= variance_ratio(X, LABELS) <= 1
    assert -1 <= zscore_separation(X, LABELS) <= 1


# Test 5. Published: reduced to 64 principal components, feature_split falls from 0.620 to -0.112 (-0.204 to -0.055)
# at n = 400; variance_ratio and zscore rise. Ours: from 0.4 to 0.8, to -0.01 to -0.06.


@every_layer
def test_principal_axes_leave_the_halves_nothing_to_share(layer):
    X = LAYERS[layer][some_rows(400, 900)]
    assert feature_split(X, seed=320) > 0.55
    assert -0.08 < feature_split(principal_scores(X, 64), seed=320) < -0.01


@every_layer
def test_principal_axes_do_not_matter_when_averaged_over_rotations(layer):
    X = LAYERS[layer][some_rows(400, 900)]
    centred = X - X.mean(axis=0)
    averaged = basis_averaged_split(centred, n_rotations=10, seed=320)
    rotated = basis_averaged_split(principal_scores(X, X.shape[1]), n_rotations=10, seed=320)
    assert averaged > 0.5
    assert rotated == pytest.approx(averaged, abs=1e-6)


def test_fewer_directions_do_matter_when_averaged_over_rotations():
    """Half of 64 directions hold less of the same rows than half of 512, so dropped or padded axes change the score."""
    scores = principal_scores(LAYERS["trained_layer1"][some_rows(400, 900)], 64)
    padded = np.hstack([scores, np.zeros((400, 448))])
    assert basis_averaged_split(padded, n_rotations=10, seed=320) > 0.2 + basis_averaged_split(
        scores, n_rotations=10, seed=320
    )


def test_negative_score_comes_from_components_of_the_same_rows():
    """Scores of sample components have no covariance at all: less than by chance. True axes do not do this."""
    # Ours over 20 draws: 0.000 +- 0.002 and -0.070 +- 0.001; the size is about -r / n, with r = 32 axes in each half.
    X = np.random.default_rng(6).standard_normal((400, 64))
    assert feature_split(X, seed=320) == pytest.approx(0, abs=0.008)
    assert feature_split(principal_scores(X, 64), seed=320) == pytest.approx(-0.070, abs=0.005)


def test_fewer_components_fall_apart_on_sentences(minilm):
    embeddings, y = minilm
    rows = some_rows(400, 872)
    for layer in (0, 3, 6):
        X = embeddings[rows, layer]
        scores = principal_scores(X, 64)
        assert feature_split(X, n_splits=10, seed=320) > 0.55
        assert -0.08 < feature_split(scores, n_splits=10, seed=320) < 0.0
        assert all(score(scores, y[rows]) > score(X, y[rows]) for score in SUPERVISED)


# Test 6. Published: 0.216 to 0.018 and 0.078 to 0.006 with 10 classes, 0.415 to 0.199 and 0.155 to 0.067 with 100,
# at n = 500.


@every_layer
def test_random_labels_leave_only_chance(layer):
    # Ours over 30 permutations: variance ratio 0.0175 +- 0.004, zscore 0.0060 +- 0.0013.
    rows = some_rows(500, 900)
    X, y = LAYERS[layer][rows], LABELS[rows]
    rng = np.random.default_rng(7)
    shuffled = np.array([[score(X, labels) for score in SUPERVISED] for labels in (rng.permutation(y) for _ in range(5))])
    assert [score(X, y) for score in SUPERVISED] > 20 * shuffled.mean(axis=0)[[0, 1]] * [1, 1.2] * 0.75
    assert shuffled.mean(axis=0) == pytest.approx([chance_of_variance_ratio(y), chance_of_zscore(y)], abs=0.006)
