"""Candidates from single precision: no nearer row is missed, and lists are those of the search in double precision."""

from itertools import product

import numpy as np
import pytest

from shesha.kernels import native, neighbours as filters, neighbours as kernel

pytestmark = pytest.mark.skipif(
    not native.provides("shesha_enter_tile"), reason="compiled loops were not built, or are switched off"
)
N = 2300
"""More than one block, and no multiple of a panel."""


def unit_rows(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


DATA = {
    "normal": lambda rng: rng.standard_normal((N, 20)),
    "few dimensions": lambda rng: rng.standard_normal((N, 3)) @ rng.standard_normal((3, 20)),
    "narrow cone": lambda rng: unit_rows(5 + 0.1 * rng.standard_normal((N, 20))),
    "far from the origin": lambda rng: rng.standard_normal((N, 20)) + 1e6,
    "heavy tails": lambda rng: rng.standard_t(1, (N, 4)),
    "one far row": lambda rng: np.r_[rng.standard_normal((N - 1, 9)), np.full((1, 9), 1e9)],
    "many scales": lambda rng: rng.standard_normal((N, 9)) * 10.0 ** rng.uniform(-12, 12, (N, 1)),
    "tiny": lambda rng: 1e-150 * rng.standard_normal((N, 9)),
    "large": lambda rng: 1e150 * rng.standard_normal((N, 9)),
    "half precision": lambda rng: rng.standard_normal((N, 12)).astype(np.float16).astype(float),
    "near copies": lambda rng: (
        np.repeat(rng.standard_normal((N // 4, 9)), 4, axis=0) + 1e-9 * rng.standard_normal((N, 9))
    ),
    "some copies": lambda rng: np.r_[rng.standard_normal((N - 40, 9)), np.ones((40, 9))],
    "copies": lambda rng: np.repeat(rng.standard_normal((N // 4, 9)), 4, axis=0),
    "whole numbers": lambda rng: rng.integers(0, 4, (N, 4)) * 1.0,
    "one-hot": lambda rng: np.eye(7)[rng.integers(0, 7, N)],
    "constant": lambda rng: np.ones((N, 3)),
}
SEARCHES = {
    "distance": kernel.nearest_by_distance,
    "product": kernel.nearest_by_product,
    "product with itself": lambda rows, k: kernel.nearest_by_product(rows, k, include_self=True),
}


@pytest.mark.parametrize(
    ("kind", "search"),
    [
        *product(DATA, ("distance", "product")),
        *product(("normal", "some copies", "one-hot"), ("product with itself",)),
    ],
)
def test_lists_and_ties_are_those_of_double_precision(rng, monkeypatch, kind, search):
    rows, find = DATA[kind](rng), SEARCHES[search]
    expected = find(rows, 7)
    monkeypatch.setattr(kernel, "_FILTERED", 100)
    found = find(rows, 7)
    assert np.array_equal(found.lists, expected.lists)
    assert found.tied == expected.tied
    assert (found.ties is None) == (expected.ties is None)
    if found.ties is not None:
        order = rng.permutation(N)
        assert np.array_equal(found.ties.rows, expected.ties.rows)
        broken = [one.ties.break_ties(order, one.lists) for one in (found, expected)]
        assert np.array_equal(*broken)


@pytest.mark.parametrize("closeness", ["distance", "product"])
@pytest.mark.parametrize("kind", ["normal", "narrow cone", "heavy tails", "far from the origin", "many scales"])
def test_no_other_row_is_nearer_than_the_bound(rng, kind, closeness):
    rows = DATA[kind](rng)
    terms = (filters.distance_terms if closeness == "distance" else filters.product_terms)(rows)
    found = filters.candidates_of_all(terms, rows, 9)
    some = rng.integers(0, N, 60)
    exact = rows.astype(np.longdouble)
    for i in some:
        line = ((exact - exact[i]) ** 2).sum(axis=1) if closeness == "distance" else -(exact @ exact[i])
        others = np.setdiff1d(np.arange(N), [i, *found.places[i]])
        assert i not in found.places[i] and len(set(found.places[i].tolist())) == 9
        assert line[others].min() >= found.bounds[i]


def test_the_search_of_some_rows_in_blocks_is_that_of_all(rng):
    rows = rng.standard_normal((N, 20))
    terms = filters.distance_terms(rows)
    everything = filters.candidates_of_all(terms, rows, 8)
    chosen = rng.permutation(N)[:300]
    blocks = ((at, rows[at : at + 999]) for at in range(0, N, 999))
    found = filters.candidates_of_some(terms, rows[chosen], blocks, 9)
    for i, own in zip(chosen, found.places, strict=True):
        assert {*own.tolist()} == {i, *everything.places[i].tolist()}


def test_a_list_that_is_not_full_bounds_nothing(rng):
    rows = rng.standard_normal((5, 3))
    terms = filters.distance_terms(rows)
    assert np.isneginf(filters.candidates_of_all(terms, rows, 6).bounds).all()
    assert np.isfinite(filters.candidates_of_all(terms, rows, 4).bounds).all()


def test_candidates_settle_most_rows_of_plain_data(rng, monkeypatch):
    searched = []
    whole = kernel._nearest
    monkeypatch.setattr(kernel, "_FILTERED", 100)
    monkeypatch.setattr(kernel, "_nearest", lambda *case: searched.append(len(case[3])) or whole(*case))
    kernel.nearest_by_distance(rng.standard_normal((N, 20)), 7)
    assert sum(searched) < 0.02 * N


def test_one_thread_and_two_give_the_same(rng, monkeypatch, with_threads):
    monkeypatch.setattr(kernel, "_FILTERED", 100)
    rows = rng.standard_normal((3 * N, 6))
    one, two = (with_threads(n, lambda: kernel.nearest_by_distance(rows, 5).lists) for n in (1, 2))
    assert np.array_equal(one, two)
