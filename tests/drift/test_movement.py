"""How far rows moved, against loops, and what must not move them."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from shesha.drift.canary_check import class_means, movement
from shesha.kernels.distances import standard_rows


def slow_movement(before, after):
    found = []
    for i in range(len(before)):
        others = np.delete(np.arange(len(before)), i)
        found.append(1 - np.corrcoef(before[others] @ before[i], after[others] @ after[i])[0, 1])
    return found


@pytest.mark.parametrize("n", [5, 48, 300])
def test_movement_is_one_minus_the_correlation_of_distances(n, rng):
    before, after = (standard_rows(rng.standard_normal((n, 6)), "cosine") for _ in range(2))
    assert movement(before, after) == pytest.approx(slow_movement(before, after))


def test_a_rotation_moves_no_row_and_tiny_movements_keep_their_digits(canaries):
    rows = standard_rows(canaries, "cosine")
    turned = rows @ ortho_group.rvs(12, random_state=0)
    assert np.abs(movement(rows, turned)).max() < 1e-25
    nudged = rows + 1e-10 * np.sin(np.arange(rows.size)).reshape(rows.shape)
    assert 0 < np.median(movement(rows, nudged)) < 1e-18


def test_a_row_as_far_from_all_others_has_no_movement():
    rows = np.eye(5)
    assert np.isnan(movement(rows, rows)).all()


def test_classes_have_the_mean_of_their_rows():
    found = class_means(np.array([0.1, np.nan, 0.5, 0.7]), np.array([0, 0, 1, 1]), 3)
    assert found == pytest.approx([0.1, 0.6, 0.0])
