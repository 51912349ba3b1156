"""Groups of rows that are near one another in several respects."""

import numpy as np
import pytest

from shesha.nulls.design_builder import match_by_distance


@pytest.mark.parametrize("n", [12, 40, 400])
def test_every_row_is_in_one_group_of_near_rows(n):
    places = np.random.default_rng(0).standard_normal((n, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    found = match_by_distance(distances, "place")
    sizes = np.bincount(found.block)
    assert sizes.min() >= min(n, 3)
    assert sizes.max() < 2 * max(3, int(np.sqrt(n)) // 4)
    same = found.block[:, None] == found.block
    assert distances[same & ~np.eye(n, dtype=bool)].mean() < 0.8 * distances[~same].mean()


def test_equal_rows_are_one_group_whatever_their_number():
    kind = np.array([0] * 9 + [1] * 4 + [2] * 20)
    found = match_by_distance((kind[:, None] != kind) * 1.0, "kind")
    assert [set(kind[rows].tolist()) for rows in found.strata] == [{0}, {1}, {2}]


def test_groups_stay_within_blocks():
    block = np.arange(40) % 2
    places = np.random.default_rng(1).standard_normal(40)
    found = match_by_distance(abs(places[:, None] - places), "place", block)
    assert all(len(set(block[rows])) == 1 for rows in found.strata)
    assert found.text == "rows of similar place, within blocks"


def test_equal_rows_among_the_last_are_a_group_without_the_others():
    """The two rows at 10 take one at 0; the five that are left are too few for two groups, unless rows are equal."""
    places = np.array([0.0, 0.0, 0.0, -3.0, -3.0, -3.0, 10.0, 10.0])
    found = match_by_distance(abs(places[:, None] - places), "place")
    assert sorted(map(sorted, (rows.tolist() for rows in found.strata))) == [[0, 6, 7], [1, 2], [3, 4, 5]]
