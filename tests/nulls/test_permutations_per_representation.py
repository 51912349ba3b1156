"""One null for many representations: each is permuted by its own content, whatever it is compared with."""

from dataclasses import replace

import numpy as np
import pytest

from shesha.nulls import exchange
from shesha.nulls.design_builder import match_by_quantity
from shesha.nulls.permutations import RepresentationPermutations

BLOCKS = np.arange(30) // 10
JOINT = RepresentationPermutations(exchange(30, blocks=BLOCKS), 50, 4)


def test_orders_of_a_pair_relabel_both_sides():
    """The score of X[a] with Y[b] is that of X with Y in the order of the pair."""
    X, Y = np.random.default_rng(0).standard_normal((2, 30))
    for a, b, order in zip(JOINT.orders("a1"), JOINT.orders("b2"), JOINT.pair_orders("a1", "b2"), strict=True):
        assert X[a] @ Y[b] == pytest.approx(X @ Y[order])
        assert (BLOCKS[order] == BLOCKS).all()


def test_equal_contents_are_not_permuted_alike():
    first, second = JOINT.orders("a1"), JOINT.orders("a1", 1)
    assert all(np.array_equal(one, other) for one, other in zip(first, JOINT.orders("a1"), strict=True))
    for a, b, order in zip(first, second, JOINT.pair_orders("a1", "a1"), strict=True):
        assert np.array_equal(order[a], b)
    assert not any(np.array_equal(order, np.arange(30)) for order in JOINT.pair_orders("a1", "a1"))


def test_every_part_of_the_design_is_in_its_key():
    group = np.repeat(np.arange(15), 2)
    others = [
        replace(JOINT, seed=5),
        replace(JOINT, n_permutations=51),
        replace(JOINT, exchange=exchange(30)),
        replace(JOINT, exchange=exchange(30, blocks=np.arange(30) // 15)),
        replace(JOINT, exchange=exchange(30, shift=True)),
        replace(JOINT, exchange=exchange(30, block_length=3)),
        replace(JOINT, exchange=exchange(30, groups=group)),
        replace(JOINT, exchange=exchange(30, groups=group[::-1].copy() % 5)),
    ]
    assert len({JOINT.key, *(one.key for one in others)}) == 1 + len(others)
    assert replace(JOINT, exchange=exchange(30, blocks=BLOCKS)).key == JOINT.key


@pytest.mark.parametrize("n", [6, 40, 41, 400])
def test_strata_of_a_quantity_are_stretches_of_its_order_and_of_about_one_size(n):
    quantity = np.random.default_rng(n).permutation(n) * 1.5
    strata = match_by_quantity(quantity, "depth").block[np.argsort(quantity)]
    assert (np.diff(strata) >= 0).all() and strata[0] == 0
    sizes = np.bincount(strata)
    assert sizes.min() >= 3 and np.ptp(sizes) <= 1


def test_strata_of_labels_and_of_few_values_are_those_values():
    kind = np.random.default_rng(0).integers(0, 4, 60)
    for quantity in (kind, kind * 0.25, np.array(list("abcd"))[kind]):
        assert match_by_quantity(quantity, "kind").block.tolist() == kind.tolist()
    found = match_by_quantity(np.arange(60.0), "depth", np.arange(60) % 2)
    assert found.text == "rows of similar depth, within blocks"
    assert all(len(set((rows % 2).tolist())) == 1 for rows in found.strata)


@pytest.mark.parametrize("n", [*range(6, 13), 40, 400])
def test_strata_of_a_number_have_at_most_ten_neighbouring_rows(n):
    values = np.random.default_rng(n).standard_normal(n)
    block = exchange(n, within=values).block
    sizes = np.bincount(block)
    assert len(sizes) >= 2 and 2 <= sizes.max() <= 10
    assert (np.diff(block[np.argsort(values)]) >= 0).all()
