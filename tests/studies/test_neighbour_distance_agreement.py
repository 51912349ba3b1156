"""Agreement of the distances to common neighbours."""

import numpy as np
import pytest

from shesha_studies.chance.locality_of_alignment import distance_agreement, neighbour_scale


def by_hand(X, Y, k):
    """Loops over rows: common neighbours, log distances less their mean, one correlation."""
    first, second = [], []
    for row in range(len(X)):
        near = []
        for side in (X, Y):
            distances = {other: np.linalg.norm(side[row] - side[other]) for other in range(len(X)) if other != row}
            near.append((distances, set(sorted(distances, key=distances.get)[:k])))
        both = sorted(near[0][1] & near[1][1])
        if len(both) >= 3:
            for values, (distances, _) in zip((first, second), near, strict=True):
                logs = np.log([distances[other] for other in both])
                values.extend(logs - logs.mean())
    a, b = np.array(first), np.array(second)
    return a @ b / np.sqrt((a @ a) * (b @ b))


def test_it_is_that_of_loops():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    Y = X + 0.5 * rng.standard_normal((40, 3))
    found = distance_agreement(X, Y, 10, 20, seed=0)
    assert found["agreement"] == pytest.approx(by_hand(X, Y, 10))
    assert found["agreement_p"] == pytest.approx(1 / 21)


def test_scaling_leaves_it_and_independent_distances_have_none():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((2, 120, 12))
    assert distance_agreement(X, 3 * X, 10, 9, seed=0)["agreement"] == pytest.approx(1.0)
    assert abs(distance_agreement(X, Y, 60, 9, seed=0)["agreement"]) < 0.1


def test_without_common_neighbours_there_is_no_value():
    X, Y = np.random.default_rng(2).standard_normal((2, 60, 8))
    found = distance_agreement(X, Y, 1, 9, seed=0)
    assert np.isnan(found["agreement"])


def test_scale_is_the_median_distance_of_the_kth_neighbour():
    assert neighbour_scale(np.arange(30.0)[:, None], k=2) == 1.0
