"""What leaves feature-split Shesha alone, and what does not (Raju 2026: long version 7.1.5, journal version A.2)."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from shesha.stability.scores.feature_split import basis_averaged_split, feature_split
from shesha.stability.scores.rdm_drift import compute_rdm

shesha = partial(feature_split, n_splits=50, seed=320)
METRICS = ("cosine", "correlation", "euclidean")


@pytest.fixture(scope="module")
def X(mixture):
    return mixture(0.7, np.random.default_rng(1))


@pytest.fixture
def rotation():
    return np.linalg.qr(np.random.default_rng(2).standard_normal((256, 256)))[0]


def test_translation_by_a_vector_leaves_euclidean_distance_only_alone(X):
    # A shift of the mean in the usual sense. Ours over 8 draws: euclidean 0, correlation -0.064 +- 0.010,
    # cosine -0.066 +- 0.010, for a vector whose entries have sd 1.
    shift = np.random.default_rng(3).standard_normal(256)
    change = {metric: shesha(X + shift, metric=metric) - shesha(X, metric=metric) for metric in METRICS}
    assert change["euclidean"] == pytest.approx(0, abs=1e-9)
    assert -0.1 < change["correlation"] < -0.03
    assert -0.1 < change["cosine"] < -0.03


def test_rotation_is_invisible_where_no_direction_is_special(X, rotation):
    # Published: below 0.003. Ours over 30 draws: 0.000 +- 0.002, at most 0.005, as from other partitions.
    noise = np.random.default_rng(3).standard_normal((200, 256))
    for rows in (X, noise):
        assert shesha(rows @ rotation, metric="correlation") == pytest.approx(
            shesha(rows, metric="correlation"), abs=0.008
        )


def test_rotation_changes_everything_where_axes_are_special(rotation, unbiased_cka):
    # Column j has variance 1 / j. Ours over 12 draws: from 0.000 +- 0.006 to 0.790 +- 0.012.
    rows = np.random.default_rng(3).standard_normal((200, 256)) / np.sqrt(np.arange(1, 257))
    assert abs(shesha(rows, metric="correlation")) < 0.02
    assert shesha(rows @ rotation, metric="correlation") == pytest.approx(0.790, abs=0.04)
    assert unbiased_cka(rows, rows @ rotation) == pytest.approx(1, abs=1e-12)


def test_printed_counterexample_is_not_one():
    """A.2 says that all three splits of its matrix agree, and then rotates it: neither gives what it says."""
    X = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    agreement = {}
    for first in combinations(range(4), 2):
        second = [column for column in range(4) if column not in first]
        agreement[first] = spearmanr(compute_rdm(X[:, first]).round(9), compute_rdm(X[:, second]).round(9)).statistic
    assert agreement[0, 1] == agreement[0, 3] == pytest.approx(1)
    assert agreement[0, 2] == pytest.approx(-0.5)
    # All its energy fits into two coordinates exactly: rotated so, halves have zero rows and no cosine.
    principal = X @ np.linalg.svd(X)[2].T
    assert principal[:, 2:] == pytest.approx(0, abs=1e-12)


def test_counterexample_on_more_rows(unbiased_cka):
    """The idea of A.2 holds: geometry that all axes share, rotated into a few, with the same inner products."""
    # Ours over 5 draws: 0.940 +- 0.001 before, -0.010 +- 0.001 after; averaged over rotations 0.92 in both.
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.standard_normal((200, 4)), 16, axis=1) * rng.choice([-1, 1], 64)
    X = shared + 0.1 * rng.standard_normal((200, 64))
    Y = X @ np.linalg.svd(X, full_matrices=False)[2].T
    assert feature_split(X, seed=320) > 0.9
    assert abs(feature_split(Y, seed=320)) < 0.05
    assert unbiased_cka(X, Y) == pytest.approx(1, abs=1e-12)
    assert basis_averaged_split(Y, seed=320) == pytest.approx(basis_averaged_split(X, seed=320), abs=1e-9)


def test_noise_only_lowers_the_score(mixture):
    # Ours over 10 draws: 0.707, 0.680, 0.603, 0.368, 0.090, 0.009, each +- 0.006 to 0.009.
    rng = np.random.default_rng(4)
    signal = mixture(1, rng)
    noise = rng.standard_normal(signal.shape)
    scores = [shesha(signal + level * noise, metric="correlation") for level in (0, 0.25, 0.5, 1, 2, 4)]
    assert (np.diff(scores) < -0.01).all()
    assert scores == pytest.approx([0.707, 0.680, 0.603, 0.368, 0.090, 0.009], abs=0.03)
