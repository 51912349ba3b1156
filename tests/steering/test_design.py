"""Halves keep groups whole and share classes out; shuffles keep what groups hold."""

import numpy as np
import pytest

from shesha import steering
from shesha.steering import halves
from shesha.steering.labelled_rows import check_labelled
from shesha.support.warnings import CalibrationWarning


def known(y, groups=None):
    return check_labelled(np.zeros((len(y), 1)), y, groups, len(y))


def test_halves_are_disjoint_complete_and_balanced():
    y = np.repeat([0, 1, 2], [20, 9, 12])
    for seed in range(5):
        a, b = halves(y, seed=seed)
        assert sorted([*a, *b]) == list(range(len(y)))
        assert np.abs(np.bincount(y[a]) - np.bincount(y[b])).max() <= 1
        assert abs(len(a) - len(b)) <= 1


def test_halves_never_cut_a_group():
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=120)
    y = rng.integers(2, size=120)
    for seed in range(5):
        a, b = halves(y, groups, seed=seed)
        assert not set(groups[a]) & set(groups[b])


def test_halves_hold_every_class_where_groups_hold_one():
    y = np.repeat([0, 1], 12)
    groups = np.arange(24) // 3
    for seed in range(5):
        assert all(len(np.unique(y[side])) == 2 for side in halves(y, groups, seed=seed))


def test_shuffles_stay_within_groups_of_several_classes():
    y = np.tile([0, 0, 1], 8)
    groups = np.repeat(np.arange(6), 4)
    found = known(y, groups)
    rng = np.random.default_rng(0)
    for _ in range(5):
        shuffled = found.shuffle(rng)
        assert (shuffled != y).any()
        for group in range(6):
            assert np.bincount(shuffled[groups == group], minlength=2).tolist() == (
                np.bincount(y[groups == group], minlength=2).tolist()
            )
    assert found.shuffle_description == "labels within groups"


def test_groups_of_one_class_swap_labels_as_wholes():
    y = np.repeat([0, 1], [9, 12])
    groups = np.arange(21) // 3
    found = known(y, groups)
    shuffled = found.shuffle(np.random.default_rng(1))
    assert all(len(np.unique(shuffled[groups == group])) == 1 for group in range(7))
    assert sum(shuffled[groups == group][0] for group in range(7)) == 4
    assert found.shuffle_description == "labels of whole groups"
    assert np.isclose(np.exp(found.log_count), 35)
    assert found.notes == (
        "there are only 35 ways to shuffle the labels, so p-values cannot be below 1/35; use more groups",
    )


def test_both_kinds_of_groups_are_shuffled_each_in_its_way():
    y = np.array([0, 0, 1, 1, 0, 1, 0, 1, 0, 1])
    groups = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2, 2])
    found = known(y, groups)
    assert found.shuffle_description == "labels of whole groups and labels within groups"
    assert np.isclose(np.exp(found.log_count), 2 * 20)


def test_all_shuffles_of_few_labels_are_equally_likely():
    y = np.repeat([0, 1], 4)
    found, rng = known(y), np.random.default_rng(0)
    seen = [tuple(found.shuffle(rng)) for _ in range(7000)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 70
    assert counts.min() > 60
    assert counts.max() < 145


def test_resamples_take_whole_groups_and_keep_their_number():
    y = np.repeat([0, 1], 12)
    groups = np.arange(24) // 3
    counts = known(y, groups).resample_counts(np.random.default_rng(0))
    assert all(len(np.unique(counts[groups == group])) == 1 for group in range(8))
    assert counts[:12].sum() == counts[12:].sum() == 12


def test_labels_that_cannot_be_halved_are_refused():
    with pytest.raises(ValueError, match="y must contain at least 2 classes, got 1"):
        halves(np.zeros(20))
    with pytest.raises(ValueError, match="y must contain at least 4 rows of each class, got 3 of b"):
        halves(["a"] * 10 + ["b"] * 3)
    with pytest.raises(ValueError, match="y must be free of NaN, got NaN or infinity in rows 1"):
        halves([0.0, np.nan, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize("use", ["vector", "rank_layers", "steerability", "halves"])
def test_quantities_are_no_classes(use):
    y, X = np.linspace(0, 1, 40), np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(ValueError, match="y must contain classes, got 40 different labels for 40 rows; bin a quantity"):
        halves(y) if use == "halves" else getattr(steering, use)({"a": X} if use == "rank_layers" else X, y)


def test_a_class_in_one_group_only_is_refused():
    y = np.repeat(["a", "b"], 8)
    with pytest.raises(
        ValueError, match=r"groups must divide every class into at least 2 groups, .* got 1 group for a"
    ):
        halves(y, groups=np.repeat([0, 1, 2], [8, 4, 4]))


def test_mixed_groups_that_never_share_out_the_classes_are_refused():
    # Both rows of class b that stand alone are in groups that must fall apart, and every other row is of class a.
    y = np.array(["a"] * 9 + ["b"] * 4)
    groups = np.array([0] * 9 + [0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"groups must divide every class into"):
        halves(y, groups)


def test_copies_of_inputs_in_both_halves_are_warned_of(rng):
    inputs = np.repeat(np.arange(40), 6)
    vectors = rng.standard_normal((40, 64))[inputs] + 0.1 * rng.standard_normal((240, 64))
    y = rng.integers(0, 2, 40)[inputs]
    order = rng.permutation(240)
    with pytest.warns(CalibrationWarning, match="nearly repeat another row"):
        steering.rank_layers({"a": vectors[order]}, y[order], by="accuracy", n_draws=19)
