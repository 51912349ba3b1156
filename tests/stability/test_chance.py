"""Chance levels, thresholds and p-values are what they say, and noise is rarely called a signal."""

import numpy as np
import pytest
from scipy.stats import binom

import shesha
from shesha.stability import row_matching, row_matching as sampled_pairs

SPLITS = ["feature_split", "basis_averaged_split"]
SUPERVISED = [
    "variance_ratio",
    "supervised_alignment",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
]


def labelled(variant, gap, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(48) % (2 if variant == "lda_stability" else 4)
    return rng.standard_normal((48, 6)) + gap * rng.standard_normal((4, 6))[y], y


def few(variant):
    return {"n_draws": 5} if "split" in variant or "lda" in variant else {}


def false_positive_limit(n, alpha=0.05):
    """The share of false positives that a valid test stays below in 999 of 1000 repetitions."""
    return binom.ppf(0.999, n, alpha) / n


NOISE = {
    "feature_split": {},
    "feature_split, one partition": {"n_splits": 1},
    "feature_split, euclidean": {"metric": "euclidean", "n_splits": 10},
    "feature_split, sampled pairs": {"pairs": 500, "n_splits": 5},
    "basis_averaged_split": {"variant": "basis_averaged_split", "n_rotations": 1},
}


RUNS = 60
"""The study false-positives takes 200 of each, over other kinds of data as well."""


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
@pytest.mark.parametrize("name", NOISE)
def test_noise_is_above_chance_no_more_often_than_alpha(name):
    found = [
        shesha.estimate(
            np.random.default_rng([7, k]).standard_normal((40, 16)),
            n_permutations=19,
            seed=k,
            **NOISE[name],
            n_bootstrap=0,
        )
        for k in range(RUNS)
    ]
    assert np.mean([one.p_value <= 0.05 for one in found]) <= false_positive_limit(RUNS)
    assert 0.3 < np.mean([one.p_value <= 0.5 for one in found]) < 0.7
    assert abs(np.mean([one.chance for one in found])) < 0.005
    # A null of as many partitions as the score would be too narrow: matching breaks what they share. Beside the level:
    # what a rotation does to all data alike is in both.
    spread = np.sqrt(np.mean([one.chance_sd**2 for one in found]))
    assert 0.6 < np.std([one.value - one.chance for one in found]) / spread < 1.2


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:few coordinates:shesha.support.warnings.CalibrationWarning")
def test_skewed_noise_of_unequal_features_is_above_chance_no_more_often_than_alpha():
    scales = np.array([5.0, 5.0, *np.ones(14)])
    data = [np.random.default_rng([8, k]).lognormal(size=(40, 16)) * scales for k in range(RUNS)]
    found = [
        shesha.estimate(X, n_permutations=39, n_splits=10, metric="euclidean", seed=k, n_bootstrap=0)
        for k, X in enumerate(data)
    ]
    assert np.mean([one.p_value <= 0.05 for one in found]) <= false_positive_limit(RUNS)


@pytest.mark.parametrize("variant", ["variance_ratio", "supervised_alignment"])
def test_labels_that_mean_nothing_are_above_chance_no_more_often_than_alpha(variant):
    found = [
        shesha.estimate(*labelled(variant, gap=0.0, seed=k), variant, n_permutations=19, seed=k, n_bootstrap=0)
        for k in range(150)
    ]
    assert np.mean([one.p_value <= 0.05 for one in found]) <= false_positive_limit(150)


@pytest.mark.parametrize("pairs", [None, 2000])
@pytest.mark.parametrize("variant", SPLITS)
def test_a_strong_signal_has_the_smallest_p_value(low_rank, variant, pairs):
    found = shesha.estimate(
        low_rank(40, 16), variant=variant, n_permutations=99, pairs=pairs, n_draws=5, seed=0, n_bootstrap=0
    )
    assert found.p_value == 1 / 100
    assert found.value > found.threshold
    assert found.calibrated > 0.3
    if variant == "feature_split":
        assert abs(found.chance) < 4 * found.chance_sd / np.sqrt(99)
    else:
        # Independent features of these scales agree a little: random halves of directions share the larger ones.
        assert 0.05 < found.chance < found.value / 3


@pytest.mark.parametrize("variant", SUPERVISED)
def test_labels_that_mean_something_have_the_smallest_p_value(variant):
    X, y = labelled(variant, gap=2.0)
    if variant.startswith("lda"):
        X = X + 3 * y[:, None]
    found = shesha.estimate(X, y, variant, n_permutations=19, seed=0, **few(variant), n_bootstrap=0)
    assert found.p_value == 1 / 20
    assert found.chance < found.threshold < found.value


@pytest.mark.parametrize("variant", [*SPLITS, *SUPERVISED])
@pytest.mark.parametrize(("alpha", "n_permutations"), [(0.05, 19), (0.1, 33), (0.2, 4), (0.5, 10)])
def test_every_number_follows_from_the_null(variant, alpha, n_permutations):
    X, y = labelled(variant, gap=0.5)
    options = {"n_permutations": n_permutations, "alpha": alpha, "seed": 1, **few(variant)}
    found = shesha.estimate(X, y, variant, **options, n_bootstrap=0)
    null = np.array(found.null)
    together = sorted([*null, found.value])
    threshold = together[int(np.ceil(round((1 - alpha) * (n_permutations + 1), 9))) - 1]
    maximum = 1.0 if variant != "class_separation_ratio" else threshold + 1
    assert len(null) == found.n_draws == n_permutations
    assert found.chance == pytest.approx(null.mean())
    assert found.chance_sd == pytest.approx(null.std(ddof=1))
    assert found.threshold == threshold
    assert found.p_value == (1 + (null >= found.value).sum()) / (1 + n_permutations)
    assert found.calibrated == pytest.approx(max(0, (found.value - threshold) / (maximum - threshold)))
    # Above the threshold means significant, and the other way round.
    assert (found.value > found.threshold) <= (found.p_value <= alpha)


def test_sampled_pairs_give_the_null_of_all_pairs(low_rank):
    X = low_rank(40, 16)
    every, some = (
        shesha.estimate(X, n_permutations=60, pairs=pairs, n_splits=4, seed=0, n_bootstrap=0)
        for pairs in (None, 20_000)
    )
    assert some.chance_sd == pytest.approx(every.chance_sd, rel=0.35)
    assert abs(some.chance - every.chance) < 4 * np.hypot(some.chance_sd, every.chance_sd) / np.sqrt(60)


@pytest.mark.parametrize("variant", SPLITS)
def test_null_of_few_pairs_is_as_wide_as_their_sampling_error(low_rank, variant):
    X = low_rank(60, 16)
    found = shesha.estimate(X, variant=variant, pairs=100, n_draws=6, n_permutations=99, seed=0, n_bootstrap=0)
    assert found.chance_sd == pytest.approx(1 / np.sqrt(100), rel=0.25)


def test_too_little_memory_for_all_pairs_means_sampled_ones(low_rank, monkeypatch):
    X = low_rank(200, 8)
    exact = shesha.estimate(X, n_permutations=19, n_splits=3, seed=0, n_bootstrap=0)
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    monkeypatch.setattr(sampled_pairs, "DEFAULT_PAIRS", 20_000)
    monkeypatch.setattr(row_matching, "NULL_PAIRS", 20_000)
    found = shesha.estimate(X, n_permutations=19, n_splits=3, seed=0, n_bootstrap=0)
    assert found.value != exact.value
    assert found.value == pytest.approx(exact.value, abs=0.02)


def test_undefined_pairs_take_no_part(low_rank):
    X = low_rank(40, 8)
    X[[4, 9], 1:] = 0.0
    found = shesha.estimate(X, n_permutations=19, n_splits=4, seed=0, n_bootstrap=0)
    exact = shesha.feature_split(np.delete(X, [4, 9], axis=0), 4, seed=0)
    assert found.value == pytest.approx(exact, abs=1e-12)
    assert found.p_value == 1 / 20


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 19), (0.01, 99), (0.5, 1)])
def test_too_few_permutations_ever_to_reach_alpha_are_refused(low_rank, alpha, least):
    X = low_rank(20, 8)
    message = rf"n_permutations must be at least 1 / alpha - 1 = {least}, got {least - 1}"
    if least > 1:
        with pytest.raises(ValueError, match=message):
            shesha.estimate(X, n_permutations=least - 1, alpha=alpha, n_bootstrap=0)
    assert shesha.estimate(X, n_permutations=least, alpha=alpha, n_splits=2, seed=0, n_bootstrap=0).p_value <= alpha
