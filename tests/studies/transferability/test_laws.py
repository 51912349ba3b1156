"""What leaves a score alone, what bounds it, and how scores are related."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import ortho_group

from shesha_studies import transferability as transfer

seeds = st.integers(0, 2**32)
few = settings(max_examples=12)

LABELLED = {
    "logme": transfer.logme,
    "h_score": transfer.h_score,
    "fisher_discriminant": transfer.fisher_discriminant,
    "margin_score": transfer.margin_score,
    "centroid_softmax": transfer.centroid_softmax,
    "silhouette": transfer.silhouette,
    "silhouette, cosine": partial(transfer.silhouette, metric="cosine"),
    "bhattacharyya": transfer.bhattacharyya,
    "bhattacharyya, diagonal": partial(transfer.bhattacharyya, covariance="diagonal"),
    "bhattacharyya, full": partial(transfer.bhattacharyya, covariance="full"),
    "bhattacharyya, components": partial(transfer.bhattacharyya, n_components=3),
    "gbc": transfer.gbc,
    "gbc, full": partial(transfer.gbc, covariance="full"),
}
ALL = {**LABELLED, "anisotropy": lambda X, y: transfer.anisotropy(X)}
RANGES = {
    "logme": (-np.inf, np.inf),
    "h_score": (0, 2),
    "fisher_discriminant": (0, np.inf),
    "margin_score": (-1, 1),
    "centroid_softmax": (-np.inf, 0),
    "silhouette": (-1, 1),
    "bhattacharyya": (0, np.inf),
    "gbc": (-6, 0),
    "anisotropy": (1 / 5, 1),
}


@pytest.mark.parametrize("name", ALL)
@few
@given(seed=seeds)
def test_scores_stay_in_their_range(make, name, seed):
    low, high = RANGES[name.split(",")[0]]
    assert low <= ALL[name](*make(np.random.default_rng(seed))) <= high


@pytest.mark.parametrize("name", LABELLED)
@few
@given(seed=seeds)
def test_order_of_rows_and_names_of_labels_do_not_matter(make, name, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng)
    value, order = LABELLED[name](X, y), rng.permutation(len(y))
    assert LABELLED[name](X[order], y[order]) == pytest.approx(value, abs=1e-9)
    for renamed in (np.array(["z", "m", "a"])[y], [f"label {label}" for label in y], 10 - 2.5 * y):
        assert LABELLED[name](X, renamed) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in ALL if name != "bhattacharyya, diagonal"])
@few
@given(seed=seeds)
def test_rotation_does_not_matter(make, name, seed):
    X, y = make(np.random.default_rng(seed))
    Q = ortho_group.rvs(5, random_state=seed % 2**32)
    assert ALL[name](X @ Q, y) == pytest.approx(ALL[name](X, y), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@few
@given(seed=seeds, scale=st.sampled_from([1e-160, 1e-5, -3.0, 1e5, 1e160]))
def test_scale_does_not_matter(make, name, seed, scale):
    X, y = make(np.random.default_rng(seed))
    assert ALL[name](X * scale, y) == pytest.approx(ALL[name](X, y), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("logme", "silhouette, cosine")])
@pytest.mark.parametrize(("scale", "offset", "error"), [(1.0, 1e5, 1e-8), (1e-5, 1.0, 1e-8), (1e-5, 1e5, 1e-3)])
@few
@given(seed=seeds)
def test_offset_does_not_matter(make, name, scale, offset, error, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng)
    moved = X * scale + offset * rng.standard_normal(5)
    assert ALL[name](moved, y) == pytest.approx(ALL[name](X, y), rel=error, abs=error)


@pytest.mark.parametrize("name", ["h_score", "bhattacharyya, full", "gbc, full"])
@few
@given(seed=seeds)
def test_affine_maps_do_not_matter_to_scores_in_units_of_the_covariance(make, name, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng)
    mixing = rng.standard_normal((5, 5)) + 2 * np.eye(5)
    tall = rng.standard_normal((5, 9))
    value = LABELLED[name](X, y)
    assert LABELLED[name](X @ mixing + 7, y) == pytest.approx(value, rel=1e-6)
    assert LABELLED[name](X @ tall, y) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", LABELLED)
def test_classes_further_apart_score_higher(rng, name):
    y = np.repeat([0, 1, 2], 20)
    noise, centres = rng.standard_normal((60, 5)), np.eye(5)[y]
    scores = [LABELLED[name](noise + gap * centres, y) for gap in (0, 2, 4, 8)]
    assert np.all(np.diff(scores) > 0)


@pytest.mark.parametrize("k", [2, 5])
def test_labels_at_random_do_not_look_easy(k):
    scores = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((50, 30)), rng.permutation(np.arange(50) % k)
        scores.append([transfer.margin_score(X, y), transfer.centroid_softmax(X, y) + np.log(k)])
    margin, surplus = np.mean(scores, axis=0)
    assert margin < 0.005
    assert -0.05 < surplus < 0.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_directions_that_are_only_rounding_do_not_count(rng, dtype, offset):
    y = np.arange(60) % 3
    narrow = rng.standard_normal((60, 4)) + np.eye(4)[y]
    X = (narrow @ rng.standard_normal((4, 40)) + offset).astype(dtype)
    error = 1e-2 if dtype == np.float32 else 1e-8
    assert transfer.h_score(X, y) == pytest.approx(transfer.h_score(narrow, y), rel=error)
    full = partial(transfer.bhattacharyya, covariance="full")
    assert full(X, y) == pytest.approx(full(narrow, y), rel=error)


@given(seeds)
def test_leep_of_certain_source_classes_is_nce(seed):
    rng = np.random.default_rng(seed)
    z, y = rng.integers(0, 5, 30), rng.integers(0, 3, 30)
    assert transfer.leep(np.eye(5)[z], y) == pytest.approx(transfer.nce(z, y), abs=1e-12)


@given(seeds)
def test_source_classes_that_say_nothing_leave_the_entropy_of_the_labels(seed):
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 3, 30), [0, 1])
    shares = np.unique(y, return_counts=True)[1] / 32
    entropy = -shares @ np.log(shares)
    assert transfer.nce(np.zeros(32), y) == pytest.approx(-entropy, abs=1e-12)
    assert transfer.leep(np.full((32, 4), 0.25), y) == pytest.approx(-entropy, abs=1e-12)
    P, order = rng.dirichlet(np.ones(4), 32), rng.permutation(4)
    assert -entropy - 1e-12 <= transfer.leep(P, y) <= 0
    assert transfer.leep(P[:, order], y) == pytest.approx(transfer.leep(P, y), abs=1e-12)
    assert transfer.nce(rng.permutation(100)[y], y) == 0


@given(seeds)
def test_gbc_of_two_classes_is_minus_twice_the_overlap(make, seed):
    X, y = make(np.random.default_rng(seed), k=2)
    assert transfer.gbc(X, y) == pytest.approx(-2 * np.exp(-transfer.bhattacharyya(X, y)), rel=1e-12)


def test_classes_alike_have_no_distance():
    rows = np.random.default_rng(0).standard_normal((20, 3))
    X, y = np.vstack([rows, rows]), np.repeat([0, 1], 20)
    for covariance in ("spherical", "diagonal", "full"):
        assert transfer.bhattacharyya(X, y, covariance=covariance) == pytest.approx(0, abs=1e-12)
        assert transfer.gbc(X, y, covariance=covariance) == pytest.approx(-2)
    assert transfer.h_score(X, y) == pytest.approx(0, abs=1e-12)
    assert transfer.fisher_discriminant(X, y) == pytest.approx(0, abs=1e-12)


def test_features_that_never_change_take_no_part_unless_they_dilute_a_variance(rng, make):
    X, y = make(rng)
    padded = np.column_stack([X, np.full((40, 2), 0.1)])
    for name in set(ALL) - {"logme", "silhouette, cosine", "bhattacharyya", "gbc"}:
        assert ALL[name](padded, y) == pytest.approx(ALL[name](X, y), rel=1e-9)
