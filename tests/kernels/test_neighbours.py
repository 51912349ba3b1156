"""The nearest rows, and the order of those that are equally near."""

import numpy as np
import pytest

from shesha.kernels import native, neighbours as kernel
from shesha.kernels.distances import PANEL
from shesha.kernels.neighbours import _SPARE, nearest_by_distance, nearest_by_product, nearest_of_distances


def by_hand(closeness, k, *, include_self=False):
    """Sort every row by closeness, then by row number; a row is no neighbour of its own."""
    lists = []
    for i, row in enumerate(closeness):
        others = [j for j in range(len(row)) if include_self or j != i]
        lists.append(sorted(others, key=lambda j, row=row: (row[j], j))[:k])
    return np.array(lists)


def squared_distances(rows):
    """Differences first, in extended precision, so that close rows keep their digits."""
    rows = rows.astype(np.longdouble)
    return ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)


def whole(rng, n, d, high=3):
    return rng.integers(0, high, (n, d)) * 1.0


DATA = {
    "plain": lambda rng: rng.standard_normal((60, 5)),
    "five rows": lambda rng: rng.standard_normal((5, 3)),
    "one column": lambda rng: rng.standard_normal((40, 1)),
    "wide": lambda rng: rng.standard_normal((40, 300)),
    "heavy tails": lambda rng: rng.standard_t(1, (60, 5)),
    "repeated rows": lambda rng: np.repeat(rng.standard_normal((12, 5)), 5, axis=0)[rng.permutation(60)],
    "whole numbers": lambda rng: whole(rng, 60, 4),
    "one-hot": lambda rng: np.eye(4)[rng.integers(0, 4, 60)],
    "one-hot, one row each": lambda rng: np.eye(40),
    "equal rows": lambda rng: np.ones((30, 3)),
    "zero": lambda rng: np.zeros((30, 3)),
    "signs": lambda rng: np.where(rng.standard_normal((60, 3)) > 0, 1.0, -1.0),
    "a line": lambda rng: rng.permutation(60)[:, None] * 1.0,
}


@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("kind", DATA)
def test_neighbours_are_those_of_sorting(rng, kind, k):
    rows = DATA[kind](rng)
    assert np.array_equal(nearest_by_distance(rows, k).lists, by_hand(squared_distances(rows), k))
    assert np.array_equal(nearest_by_product(rows, k).lists, by_hand(-np.round(rows @ rows.T, 9), k))
    expected = by_hand(-np.round(rows @ rows.T, 9), k, include_self=True)
    assert np.array_equal(nearest_by_product(rows, k, include_self=True).lists, expected)
    distances = np.sqrt(squared_distances(rows)).astype(float)
    condensed = distances[np.triu_indices(len(rows), k=1)]
    assert np.array_equal(nearest_of_distances(condensed, len(rows), k).lists, by_hand(np.round(distances, 11), k))


@pytest.mark.parametrize("k", [1, 10, 57 - _SPARE, 58 - _SPARE, 59 - _SPARE, 58, 59])
@pytest.mark.parametrize("kind", ["plain", "whole numbers", "one-hot"])
def test_up_to_all_other_rows(rng, kind, k):
    rows = DATA[kind](rng)
    assert np.array_equal(nearest_by_distance(rows, k).lists, by_hand(squared_distances(rows), k))
    assert np.array_equal(nearest_by_product(rows, k).lists, by_hand(-np.round(rows @ rows.T, 9), k))


@pytest.mark.parametrize("kind", ["plain", "one-hot", "whole numbers", "repeated rows"])
def test_more_rows_than_a_panel(rng, kind):
    n = 2 * PANEL + 30
    rows = {
        "plain": lambda: rng.standard_normal((n, 4)),
        "one-hot": lambda: np.eye(3)[rng.integers(0, 3, n)],
        "whole numbers": lambda: whole(rng, n, 3),
        "repeated rows": lambda: np.repeat(rng.standard_normal((n // 6 + 1, 4)), 6, axis=0)[:n],
    }[kind]()
    assert np.array_equal(nearest_by_distance(rows, 7).lists, by_hand(squared_distances(rows), 7))


def test_the_same_for_one_thread_and_two(rng, with_threads):
    rows = rng.standard_normal((3 * PANEL, 6))
    for search in (nearest_by_distance, nearest_by_product):
        one, two = (with_threads(n, lambda search=search: search(rows, 5).lists) for n in (1, 2))
        assert np.array_equal(one, two)


def test_a_row_is_never_its_own_neighbour_even_among_duplicates(rng):
    rows = np.repeat(rng.standard_normal((3, 4)), 10, axis=0)
    for found in (nearest_by_distance(rows, 5).lists, nearest_by_product(rows, 5).lists):
        assert not (found == np.arange(30)[:, None]).any()
    first = nearest_by_distance(rows, 5).lists
    assert first[0].tolist() == [1, 2, 3, 4, 5]
    assert first[7].tolist() == [0, 1, 2, 3, 4]
    assert first[29].tolist() == [20, 21, 22, 23, 24]


def test_rounding_does_not_break_ties(rng):
    """Rows of a regular lattice, turned: distances that are equal in exact arithmetic differ by rounding."""
    grid = np.array(list(np.ndindex(4, 4, 4))) * 1.0
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert np.array_equal(nearest_by_distance(grid @ turn, 6).lists, by_hand(squared_distances(grid), 6))
    assert np.array_equal(nearest_by_product(grid @ turn, 6).lists, by_hand(-grid @ grid.T, 6))


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-6, 1e-7, 1e-9])
def test_near_duplicates_are_told_apart(rng, gap):
    """A Gram matrix has lost these digits; differences of rows have not."""
    rows = np.repeat(rng.standard_normal((6, 5)), 10, axis=0) + gap * rng.standard_normal((60, 5))
    assert np.array_equal(nearest_by_distance(rows, 5).lists, by_hand(squared_distances(rows), 5))


@pytest.mark.parametrize("gap", [1e6, 1e7])
def test_neighbours_within_clusters_that_lie_far_apart(rng, gap):
    rows = rng.standard_normal((60, 5)) + gap * np.repeat(rng.standard_normal((3, 5)), 20, axis=0)
    assert np.array_equal(nearest_by_distance(rows, 5).lists, by_hand(squared_distances(rows), 5))


@pytest.mark.parametrize(
    "gap",
    [1e4, 1e6, 1e9],
)
def test_a_few_rows_far_from_most(rng, gap):
    rows = rng.standard_normal((60, 5))
    rows[45:] += gap
    assert np.array_equal(nearest_by_distance(rows, 5).lists, by_hand(squared_distances(rows), 5))


@pytest.mark.skipif(not native.is_available(), reason="compiled loops were not built, or are switched off")
@pytest.mark.parametrize("m", [1, 7, 31, 256])
@pytest.mark.parametrize("n", [33, 257, 1000])
@pytest.mark.parametrize("kind", ["normal", "ties", "falling", "infinite"])
def test_the_smallest_entries_are_those_of_numpy(rng, monkeypatch, m, n, kind):
    if m >= n:
        pytest.skip("all are the smallest")
    block = {
        "normal": rng.standard_normal((9, n)),
        "ties": rng.integers(0, 5, (9, n)) * 1.0,
        "falling": -np.arange(9.0 * n).reshape(9, n),
        "infinite": np.where(rng.random((9, n)) < 0.9, np.inf, rng.standard_normal((9, n))),
    }[kind]
    found = kernel._smallest(block, m)
    assert all(len(set(row)) == m for row in found.tolist())
    values = np.sort(np.take_along_axis(block, found, axis=1), axis=1)
    assert np.array_equal(values, np.sort(block, axis=1)[:, :m])
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    assert np.array_equal(np.sort(np.take_along_axis(block, kernel._smallest(block, m), axis=1), axis=1), values)


@pytest.mark.skipif(not native.is_available(), reason="compiled loops were not built, or are switched off")
@pytest.mark.parametrize("search", ["distance", "product"])
def test_lists_and_ties_are_those_of_numpy(rng, monkeypatch, search):
    rows = np.round(rng.standard_normal((600, 3)), 1)
    find = kernel.nearest_by_distance if search == "distance" else kernel.nearest_by_product
    found = find(rows, 8)
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    expected = find(rows, 8)
    assert np.array_equal(found.lists, expected.lists)
    assert found.tied == expected.tied
