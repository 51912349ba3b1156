"""Halves that keep groups whole, and the score of class centroids that is made of them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shesha import estimate
from shesha.nulls.group_halves import draw_class_halves, draw_group_half, group_kinds


@given(seed=st.integers(0, 10_000), n_groups=st.integers(4, 12), n_classes=st.integers(2, 4))
def test_no_group_is_cut_and_every_class_is_in_both_halves(seed, n_groups, n_classes):
    rng = np.random.default_rng(seed)
    n = 10 * n_groups
    group, codes = rng.integers(n_groups, size=n), rng.integers(n_classes, size=n)
    members = [rng.choice(np.flatnonzero(codes == one), size=30) for one in range(n_classes) if (codes == one).any()]
    halves = draw_class_halves(members, group, 5, rng)
    assert halves is not None
    for at in range(5):
        sides = [set(group[own[half[at]]]) for own, half in zip(members, halves, strict=True)]
        others = [set(group[own[~half[at]]]) for own, half in zip(members, halves, strict=True)]
        assert all(sides) and all(others)
        assert not set.union(*sides) & set.union(*others)


@given(seed=st.integers(0, 10_000))
def test_groups_of_one_class_are_shared_out_evenly(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, size=3)
    kinds = np.repeat(np.arange(3), sizes)
    half = draw_group_half(np.arange(len(kinds)), kinds, rng)
    taken = np.bincount(kinds[half], minlength=3)
    assert (np.abs(2 * taken - sizes) <= 1).all()
    assert abs(2 * taken.sum() - sizes.sum()) <= 1


def test_kinds_are_the_class_of_pure_groups():
    assert group_kinds(np.array([0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1]), 2).tolist() == [0, 2]


def test_any_number_of_halves_is_drawn(rng):
    halves = draw_class_halves([np.arange(4), np.arange(4, 8)], np.tile(np.arange(4), 2), 250, rng)
    assert [half.shape for half in halves] == [(250, 4)] * 2


def test_groups_that_do_not_allow_it_give_no_halves(rng):
    assert draw_class_halves([np.arange(4), np.arange(4, 8)], np.repeat([0, 1, 2], [4, 2, 2]), 3, rng) is None


def donors(rng, n_classes=6, n_donors=8, per=4, signal=0.0):
    """Rows of which every donor moves every class on its own: no class lies anywhere in all of them."""
    place = signal * rng.standard_normal((n_classes, 12))
    parts = [place + rng.standard_normal((n_classes, 12)) for _ in range(n_donors)]
    rows = np.concatenate([np.repeat(part, per, axis=0) for part in parts])
    y = np.tile(np.repeat(np.arange(n_classes), per), n_donors)
    return rows + 0.5 * rng.standard_normal(rows.shape), y, np.repeat(np.arange(n_donors), n_classes * per)


def test_what_donors_do_to_classes_is_not_stability():
    free, whole = [], []
    for seed in range(12):
        X, y, donor = donors(np.random.default_rng(seed))
        settings = {"variant": "label_conditioned_split", "n_bootstrap": 0, "n_permutations": 0, "seed": 0}
        free.append(estimate(X, y, **settings).value)
        whole.append(estimate(X, y, groups=donor, **settings).value)
    assert np.mean(free) > 0.2
    assert abs(np.mean(whole)) < 3 * np.std(whole) / np.sqrt(len(whole)) + 0.02


def test_donors_with_all_classes_have_their_labels_shuffled_within():
    # Exchanging whole donors, whose labels are alike, would change no label.
    X, y, donor = donors(np.random.default_rng(0), signal=2.0)
    found = estimate(X, y, "label_conditioned_split", groups=donor, n_permutations=99, seed=0, n_bootstrap=0)
    assert found.exchanged == "rows within groups"
    assert found.p_value == 0.01


def test_groups_of_one_class_are_exchanged_whole(rng):
    y = np.repeat(np.arange(3), 20)
    donor = np.repeat(np.arange(12), 5)
    found = estimate(
        rng.standard_normal((60, 8)),
        y,
        "label_conditioned_split",
        groups=donor,
        n_permutations=19,
        seed=0,
        n_bootstrap=0,
    )
    assert found.exchanged == "whole groups"


def test_a_class_of_one_group_is_refused(rng):
    y, donor = np.repeat(np.arange(3), 8), np.repeat([0, 1, 2, 3, 4], [8, 4, 4, 4, 4])
    with pytest.raises(ValueError, match="groups must divide every class into at least 2 groups"):
        estimate(rng.standard_normal((24, 5)), y, "label_conditioned_split", groups=donor, n_bootstrap=0)
