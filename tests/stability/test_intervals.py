"""Intervals allow for rows, sampled pairs and partitions, for few units, and for what is resampled together."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, t

import shesha
from shesha.kernels.sampled_feature_halves import standard_errors
from shesha.nulls import exchange
from shesha.stability import label_scores
from shesha.stability.registry import ScoreDraws
from shesha.stability.row_matching import count_group_pairs_once, group_pairs
from shesha.stability.scores import class_separation
from shesha.stability.split_scores import ALONE, NOTHING_TO_RESAMPLE, combine_errors

WIDE = (-10.0, 10.0)


def margins(found, value):
    return value - found.low, found.high - value


@pytest.fixture
def resampled(rng):
    return 0.5 + 0.1 * rng.standard_normal(4001) ** 3


@pytest.mark.parametrize(("n", "level"), [(12, 0.9), (5000, 0.95)])
def test_margins_of_rows_pairs_and_partitions_add_up_in_squares(rng, resampled, n, level):
    draws = 0.5 + 0.2 * rng.standard_normal(8)
    found = combine_errors(ScoreDraws(0.5, draws, resampled=resampled, pair_error=0.02), exchange(n), WIDE, level)
    upper = 0.5 + level / 2
    wider = np.sqrt(n / (n - 1)) * t.ppf(upper, n - 1) / norm.ppf(upper)
    part = np.sqrt(draws.var(ddof=1) / 8 - 0.02**2)
    others = (t.ppf(upper, 7) * part) ** 2 + (norm.ppf(upper) * 0.02) ** 2
    of_rows = wider * np.abs(np.quantile(resampled, [1 - upper, upper]) - resampled.mean())
    assert_allclose(margins(found, 0.5), np.sqrt(of_rows**2 + others), rtol=1e-12)
    assert found.partition_error == pytest.approx(part)
    assert found.row_error == pytest.approx(resampled.std(ddof=1))


def test_an_analytic_error_holds_that_of_the_pairs_once():
    found = combine_errors(ScoreDraws(0.0, analytic_error=0.5, pair_error=0.3), exchange(10**6), WIDE, 0.95)
    assert found.row_error == pytest.approx(0.4)
    assert_allclose(margins(found, 0.0), norm.ppf(0.975) * 0.5, rtol=1e-5)


def test_resamples_that_drew_their_own_partitions_are_not_widened_by_them_again(resampled):
    draws = np.array([0.4, 0.6])
    alone = combine_errors(ScoreDraws(0.5, resampled=resampled), exchange(30), WIDE, 0.9)
    found = combine_errors(ScoreDraws(0.5, draws, resampled=resampled, redrawn=True), exchange(30), WIDE, 0.9)
    assert (found.low, found.high) == (alone.low, alone.high)
    assert np.hypot(found.row_error, found.partition_error) == pytest.approx(alone.row_error)


def test_one_partition_or_one_unit_cannot_tell(resampled):
    found = combine_errors(ScoreDraws(0.5, np.array([0.5]), resampled=resampled), exchange(30), WIDE, 0.9)
    assert found.notes == (ALONE,)
    assert np.isnan(found.partition_error)
    together = combine_errors(ScoreDraws(0.5, resampled=resampled), exchange(30, groups=np.zeros(30)), WIDE, 0.9)
    assert np.isnan([together.low, together.high]).all()
    assert together.notes == (NOTHING_TO_RESAMPLE,)


def test_the_result_names_the_parts_and_their_sum(low_rank):
    found = shesha.estimate(low_rank(40, 12), seed=0)
    parts = found.standard_error, found.monte_carlo_error, found.pair_error
    assert found.total_error == pytest.approx(np.sqrt(np.sum(np.square(parts))))
    assert found.to_dict()["total_error"] == found.total_error
    assert (found.high - found.low) / (2 * norm.ppf(0.975)) == pytest.approx(found.total_error, rel=0.15)
    audited = shesha.audit(low_rank(40, 12), seed=0)["X"].feature_split
    assert (audited.low, audited.high) == (found.low, found.high)


@pytest.mark.slow
def test_few_features_are_covered_although_their_partitions_differ():
    mixing = np.random.default_rng(1).standard_normal((4, 12))
    found = []
    for seed in range(50):
        rng = np.random.default_rng([2, seed])
        X = rng.standard_normal((2000, 4)) @ mixing + rng.standard_normal((2000, 12))
        found.append(shesha.estimate(X, pairs=10_000, n_splits=10, confidence=0.9, seed=seed))
    truth = np.mean([one.value for one in found])
    rows_alone = [
        abs(one.value - truth) <= norm.ppf(0.95) * np.hypot(one.standard_error, one.pair_error) for one in found
    ]
    assert np.mean(rows_alone) < 0.7
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.8


def test_class_sizes_vary_in_resamples_unless_they_are_blocks(rng):
    y = np.repeat([0, 1, 1, 1], 25)
    X = rng.standard_normal((100, 6)) + 3.0 * y[:, None]
    free, fixed = (
        shesha.estimate(X, y, "variance_ratio", blocks=blocks, n_bootstrap=400, seed=0).standard_error
        for blocks in (None, y)
    )
    assert free > 1.3 * fixed


def test_copies_are_told_unless_groups_are_given(rng):
    X = rng.standard_normal((30, 6))
    twice, who = np.repeat(X, 2, axis=0), np.repeat(np.arange(30), 2)
    found = shesha.estimate(twice, seed=0, n_permutations=0)
    assert "30 rows repeat an earlier row exactly" in found.notes[-1]
    assert "groups=" in found.notes[-1]
    grouped = shesha.estimate(twice, groups=who, seed=0, n_permutations=0)
    assert not grouped.notes
    assert not shesha.estimate(X, seed=0, n_permutations=0).notes
    assert grouped.total_error > 1.2 * found.total_error
    assert grouped.standard_error == pytest.approx(
        shesha.estimate(X, seed=0, n_permutations=0).standard_error, rel=0.25
    )


def copied(group, drawn):
    """Rows of a resample of groups, and the copy of its group that each belongs to."""
    rows, copy = [], []
    for g, times in enumerate(drawn):
        for _ in range(times):
            own = np.flatnonzero(group == g).tolist()
            copy += [max(copy, default=-1) + 1] * len(own)
            rows += own
    return np.array(rows), np.array(copy)


@pytest.fixture
def grouping():
    return np.array([0, 0, 1, 2, 2, 2, 3, 1]), np.array([2, 0, 3, 1])


def test_a_group_never_meets_its_copy(grouping):
    group, drawn = grouping
    rows, copy = copied(group, drawn)
    expected = np.zeros((8, 8))
    for a, b in itertools.combinations(range(len(rows)), 2):
        if copy[a] == copy[b] or group[rows[a]] != group[rows[b]]:
            expected[tuple(sorted((rows[a], rows[b])))] += 1
    (i, j), counts = count_group_pairs_once(
        exchange(8, groups=group), np.triu_indices(8, k=1), drawn[group][:, None] * 1.0
    )
    assert_allclose(counts[i, 0] * counts[j, 0], expected[np.triu_indices(8, k=1)])
    assert {(int(i), int(j)) for i, j in zip(*group_pairs(group), strict=True)} == {
        (i, j) for i, j in itertools.combinations(range(8), 2) if group[i] == group[j]
    }


def test_class_separation_of_resampled_groups_leaves_out_their_copies(rng, monkeypatch, grouping):
    group, drawn = grouping
    X, y = rng.standard_normal((8, 3)), np.array([0, 0, 0, 1, 1, 0, 1, 1])
    design = exchange(8, groups=group)
    monkeypatch.setattr(type(design), "resample", lambda *_: drawn[group])
    rows, copy = copied(group, drawn)
    sums = {True: [], False: []}
    for a, b in itertools.combinations(range(len(rows)), 2):
        if copy[a] == copy[b] or group[rows[a]] != group[rows[b]]:
            sums[bool(y[rows[a]] == y[rows[b]])].append(np.linalg.norm(X[rows[a]] - X[rows[b]]))
    from shesha.stability.evaluation import build_request, evaluate

    found = evaluate(build_request(X, y, "class_separation_ratio", {}, n_bootstrap=2, seed=0, design=design))
    assert_allclose(found.resampled, np.mean(sums[False]) / np.mean(sums[True]), rtol=1e-12)


def test_pairs_that_share_a_group_make_the_error_of_groups(rng):
    e, i, j = rng.standard_normal(60) + 0.5, rng.integers(0, 5, 60), rng.integers(0, 5, 60)
    together = [e[a] * e[b] for a in range(60) for b in range(60) if {i[a], j[a]} & {i[b], j[b]}]
    own, of_groups = standard_errors(e, i, j)
    assert of_groups == pytest.approx(np.sqrt(max(sum(together), (e**2).sum())) / 60)
    assert own == pytest.approx(np.sqrt((e**2).sum()) / 60)


def test_pairs_scored_by_several_partitions_are_drawn_once(rng):
    e, drawn = rng.standard_normal(12), np.arange(12) % 4
    own, _ = standard_errors(e, np.arange(12), np.arange(12) + 12, drawn, share=0.36)
    assert own == pytest.approx(0.8 * np.sqrt((e.reshape(3, 4).sum(axis=0) ** 2).sum()) / 12)


def test_resamples_from_random_pairs_are_those_from_all_pairs(rng, monkeypatch):
    X, y = rng.standard_normal((8, 3)), np.arange(8) % 2
    exact = shesha.estimate(X, y, "class_separation_ratio", n_bootstrap=20, n_permutations=0, seed=0)
    monkeypatch.setattr(class_separation, "_ALL_PAIRS", 7)
    sampled = shesha.estimate(X, y, "class_separation_ratio", n_bootstrap=20, n_permutations=0, seed=0)
    assert sampled.notes[-1] == "the value uses all pairs; the interval uses 1,000,000 random pairs"
    assert (sampled.low, sampled.high) == pytest.approx((exact.low, exact.high), abs=0.01)


@pytest.mark.parametrize("variant", ["class_separation_ratio", "supervised_alignment", "label_conditioned_split"])
def test_the_null_of_many_rows_shuffles_the_labels_of_some_and_is_no_narrower(rng, monkeypatch, variant):
    y = np.arange(240) % 4
    X = rng.standard_normal((240, 6)) + rng.standard_normal((4, 6))[y]
    whole = shesha.estimate(X, y, variant, n_permutations=60, seed=0, n_bootstrap=0)
    monkeypatch.setattr(label_scores, "ALL_ROWS", 100)
    monkeypatch.setattr(label_scores, "NULL_ROWS", 60)
    some = shesha.estimate(X, y, variant, n_permutations=60, seed=0, n_bootstrap=0)
    assert some.value == whole.value
    assert some.chance_sd > 0.8 * whole.chance_sd
    assert abs(some.chance - whole.chance) < 4 * np.hypot(some.chance_sd, whole.chance_sd) / np.sqrt(60)
    audited = shesha.audit(X, y, n_bootstrap=0, n_permutations=19)["X"]
    assert "uses the labels of 60 random rows" in audited.supervised[variant].notes[-1]
    for seed in range(3):
        shifted = shesha.estimate(X[:101], y[:101], variant, shift=True, n_permutations=19, seed=seed, n_bootstrap=0)
        assert "uses the labels of 60 random rows" in shifted.notes[-1]
