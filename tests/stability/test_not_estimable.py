"""A score that the data cannot give is NaN with a stated reason, never a silent one and never a zero."""

import numpy as np
import pytest

import shesha

N = 60
X = np.random.default_rng(0).standard_normal((N, 8))
EQUAL = np.tile(X[:1], (N, 1))
AROUND = 3 * np.eye(8)
TWO = np.arange(N) % 2
# Two classes with one mean, exactly: each row of one is a row of the other.
SAME_MEANS = np.vstack([np.round(8 * X[:30]), np.round(8 * X[:30])])
HALVES = np.repeat([0, 1], 30)

CASES = {
    "feature_split": (lambda: shesha.feature_split(EQUAL), "all distances are equal within a half"),
    "feature_split, euclidean": (lambda: shesha.feature_split(EQUAL, metric="euclidean"), "all distances are equal"),
    "feature_split, correlation": (lambda: shesha.feature_split(EQUAL, metric="correlation"), "distances are equal"),
    "feature_split, lengths only": (lambda: shesha.feature_split(EQUAL * (1 + TWO[:, None])), "distances are equal"),
    "basis_averaged_split": (lambda: shesha.basis_averaged_split(EQUAL), "all distances are equal within a half"),
    "sample_split": (lambda: shesha.sample_split(EQUAL), "all distances are equal"),
    "sample_split, few rows": (lambda: shesha.sample_split(X[:12]), "5 per subsample are needed, got 12 and 4"),
    "anchor_stability": (lambda: shesha.anchor_stability(EQUAL), "all distances are equal"),
    "anchor_stability, few rows": (lambda: shesha.anchor_stability(X[:49]), "10 anchors and two sets of 20 .*got 49"),
    "rdm_similarity": (lambda: shesha.rdm_similarity(X, EQUAL), "all distances of a representation are equal"),
    "rdm_similarity, pearson": (lambda: shesha.rdm_similarity(EQUAL, X, "pearson"), "distances .* are equal"),
    "rdm_similarity, regular": (lambda: shesha.rdm_similarity(AROUND, X[:8]), "distances .* are equal"),
    "rdm_drift": (lambda: shesha.rdm_drift(X, EQUAL), "all distances of a representation are equal"),
    "replicate_stability": (
        lambda: shesha.replicate_stability(X, EQUAL),
        "all distances between rows are equal",
    ),
    "anchor_profile_stability": (
        lambda: shesha.anchor_profile_stability(X, EQUAL, [0, 1]),
        "every anchor has equal distances to all probes",
    ),
    "variance_ratio": (lambda: shesha.variance_ratio(EQUAL, TWO), "all rows are equal"),
    "supervised_alignment": (
        lambda: shesha.supervised_alignment(AROUND, np.arange(8) % 2, metric="euclidean"),
        "all distances between rows are equal, or all labels are equal or all different",
    ),
    "supervised_alignment, labels": (
        lambda: shesha.supervised_alignment(X, np.arange(N)),
        "all distances between rows are equal, or all labels are equal or all different",
    ),
    "class_separation_ratio": (
        lambda: shesha.class_separation_ratio(X, np.arange(N)),
        "no subsample contains two classes of which one has two distinct rows",
    ),
    "class_separation_ratio, equal": (lambda: shesha.class_separation_ratio(EQUAL, TWO), "two distinct rows"),
    "zscore_separation": (lambda: shesha.zscore_separation(X, np.arange(N)), "no class has two members"),
    "zscore_separation, equal": (lambda: shesha.zscore_separation(np.zeros((N, 8)), TWO), "differ from the other rows"),
    "lda_stability": (lambda: shesha.lda_stability(SAME_MEANS, HALVES), "all class means are equal"),
    "lda_subspace_stability": (lambda: shesha.lda_subspace_stability(SAME_MEANS, HALVES), "all class means are equal"),
    "label_conditioned_split": (
        lambda: shesha.label_conditioned_split(EQUAL, np.arange(N) % 3),
        "in every split, all distances between centroids are equal, or a centroid is zero",
    ),
    "label_conditioned_split, no direction": (
        lambda: shesha.label_conditioned_split(np.zeros((N, 8)), np.arange(N) % 3),
        "in every split, all distances between centroids are equal, or a centroid is zero",
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")


@pytest.mark.parametrize("name", CASES)
def test_nan_comes_with_its_reason(name):
    call, reason = CASES[name]
    with pytest.warns(shesha.NotEstimableWarning, match=f"not estimable: .*{reason}"):
        assert np.isnan(call())


RESULTS = {
    "feature_split": (EQUAL, None),
    "basis_averaged_split": (EQUAL, None),
    "variance_ratio": (EQUAL, TWO),
    "supervised_alignment": (X, np.arange(N)),
    "class_separation_ratio": (X, np.arange(N)),
    "zscore_separation": (X, np.arange(N)),
    "lda_stability": (SAME_MEANS, HALVES),
    "label_conditioned_split": (EQUAL, np.arange(N) % 3),
}


@pytest.mark.parametrize("variant", RESULTS)
def test_chance_of_nan_carries_a_reason(variant):
    rows, y = RESULTS[variant]
    found = shesha.estimate(rows, y, variant, n_permutations=19, seed=0, n_bootstrap=0)
    assert np.isnan([found.value, found.p_value, found.threshold, found.calibrated]).all()
    assert found.reason
    assert str(found).startswith(f"{variant}: not estimable (")


def test_partitions_without_a_score_are_left_out_and_noted():
    # Two features vary: a partition that puts both in one half leaves equal distances in the other.
    rows = np.ones((30, 5))
    rows[:, :2] = X[:30, :2]
    found = shesha.estimate(rows, metric="euclidean", n_splits=40, n_bootstrap=5, seed=0)
    orders = np.random.default_rng(0)
    kept = sum(len({0, 1} & set(orders.permutation(5)[:2].tolist())) == 1 for _ in range(40))
    assert 0 < kept < 40
    assert (
        found.notes[0] == f"{40 - kept} of 40 partitions were left out, because all distances within a half were equal"
    )
    assert shesha.feature_split(rows, 40, "euclidean", seed=0) == found.value


def test_partitions_without_a_score_do_not_hide_the_chance_level():
    rows = np.ones((30, 5))
    rows[:, :2] = X[:30, :2]
    found = shesha.estimate(rows, metric="euclidean", n_splits=40, n_permutations=19, seed=0, n_bootstrap=0)
    assert found.value == pytest.approx(shesha.feature_split(rows, 40, "euclidean", seed=0), abs=1e-12)
    assert np.isfinite(found.p_value)


def test_anchors_without_a_profile_are_left_out():
    rows, other = np.vstack([np.zeros((1, 3)), np.eye(3), -np.eye(3), X[:5, :3]]), X[:12, :4]
    scores = [
        shesha.anchor_profile_stability(rows, other, [anchor], [1, 2, 3, 4, 5, 6], metric="euclidean")
        for anchor in (7, 8)
    ]
    with pytest.warns(shesha.NotEstimableWarning):
        assert np.isnan(shesha.anchor_profile_stability(rows, other, [0], [1, 2, 3, 4, 5, 6], metric="euclidean"))
    found = shesha.anchor_profile_stability(rows, other, [0, 7, 8], [1, 2, 3, 4, 5, 6], metric="euclidean")
    assert found == pytest.approx(np.mean(scores), abs=1e-12)


@pytest.mark.parametrize("call", [shesha.sample_split, shesha.anchor_stability])
def test_scores_that_estimate_nothing_say_so_and_point_elsewhere(call):
    message = (
        f"{call.__name__} correlates distances of different pairs of rows, .* Use (replicate|anchor_profile)_stability"
    )
    with pytest.warns(shesha.NotIdentifiableWarning, match=message):
        assert abs(call(X, seed=0)) < 0.3


BELOW = ["feature_split", "basis_averaged_split", "sample_split", "anchor_stability"]


@pytest.mark.parametrize("name", ["variance_ratio", *BELOW])
def test_warnings_point_at_the_line_of_the_caller(name):
    with pytest.warns(UserWarning) as caught:
        shesha.variance_ratio(EQUAL, TWO) if name == "variance_ratio" else getattr(shesha, name)(EQUAL)
    assert {one.filename for one in caught} == {__file__}
