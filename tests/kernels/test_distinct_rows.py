"""Rows that repeat no earlier one, and corrections for the diagonals of Gram matrices, by their definitions."""

import numpy as np
import pytest

from shesha.kernels.distances import PANEL
from shesha.kernels.neighbours import distinct_rows
from shesha.kernels.pairs import diagonal_correction

SHIFT = 1e4


@pytest.mark.parametrize("n", [3, 40, PANEL + 50, 3 * PANEL])
@pytest.mark.parametrize("n_distinct", [1, 2, 30])
def test_the_first_row_of_each_place_stays(n, n_distinct):
    rng = np.random.default_rng([n, n_distinct])
    places = np.append(np.arange(min(n, n_distinct)), rng.integers(0, n_distinct, max(0, n - n_distinct)))
    rows = (rng.standard_normal((n_distinct, 4)) + SHIFT)[rng.permutation(places)]
    # What rounding of sums in another order adds is no difference.
    noisy = rows * (1 + 4e-16 * rng.integers(-1, 2, rows.shape))
    expected = sorted(np.unique(rows, axis=0, return_index=True)[1].tolist())
    assert distinct_rows(rows).tolist() == distinct_rows(noisy).tolist() == expected


def test_rows_near_one_another_are_distinct_and_zeros_are_one_place():
    rows = np.random.default_rng(0).standard_normal((20, 3))
    assert distinct_rows(np.concatenate([rows, rows + 1e-6])).tolist() == list(range(40))
    assert distinct_rows(np.concatenate([np.zeros((5, 3)), rows])).tolist() == [0, *range(5, 25)]


@pytest.mark.parametrize("n", [4, 5, 30])
def test_the_correction_makes_centred_products_those_of_the_u_statistic(n):
    """Song et al. 2012, eq. 5: zero diagonals; for any kernel matrices, which need not be centred."""
    X, Y = np.random.default_rng(n).standard_normal((2, n, 3)) + 1
    K, L = X @ X.T, Y @ Y.T
    H = np.eye(n) - 1 / n
    k, m = (one - np.diag(np.diag(one)) for one in (K, L))
    expected = np.trace(k @ m) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 * (k @ m).sum() / (n - 2)
    a, b = H @ K @ H, H @ L @ H
    assert (a * b).sum() + diagonal_correction(np.diag(a), np.diag(b)) == pytest.approx(expected)
