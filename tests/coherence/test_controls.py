"""Controls: the nearest ones, those that are stored, and their covariance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shesha.coherence import controls as control_pool, expected_mean_cosine, null_groups as nearest
from shesha.coherence.controls import build_pool, whitening_matrix
from shesha.coherence.group_scores import _variance_of_mean
from shesha.coherence.null_groups import nearest_control_shifts, nearest_controls


@pytest.mark.parametrize("panel", [1, 100, 1 << 22])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_nearest_controls_are_those_of_all_distances(monkeypatch, rng, panel, k):
    """Whatever the panels in which distances are computed, and with all controls as well."""
    monkeypatch.setattr(nearest, "_PANEL", panel)
    rows, controls = rng.standard_normal((13, 4)), rng.standard_normal((20, 4))
    expected = np.argsort(cdist(rows, controls), axis=1)[:, :k]
    assert np.array_equal(nearest_controls(rows, controls, k), expected)
    shifts = nearest_control_shifts(rows, controls, k)
    assert shifts == pytest.approx(rows - controls[expected].mean(axis=1))


class Rows:
    """Rows that are taken by their numbers."""

    def __init__(self, rows):
        self.rows, self.shape = rows, rows.shape

    def take(self, numbers):
        return self.rows[numbers]


def test_all_controls_are_stored_about_their_mean_if_they_fit(rng):
    rows = rng.standard_normal((40, 5)) + 3
    found = build_pool(Rows(rows), np.arange(10, 40), 4)
    assert found.numbers.tolist() == list(range(10, 40))
    assert found.rows == pytest.approx(rows[10:] - rows[10:].mean(axis=0))
    assert found.scatter == pytest.approx(np.trace(np.cov(rows[10:].T)))
    assert found.total == pytest.approx(np.zeros(5))
    assert found.squared == pytest.approx((found.rows**2).sum(axis=1))


@pytest.mark.parametrize(
    ("entries", "held", "largest", "n_stored"), [(50, 8, 3, 10), (50, 30, 3, 30), (50, 8, 20, 40), (500, 8, 3, 60)]
)
def test_of_many_controls_evenly_spaced_ones_are_stored(monkeypatch, rng, entries, held, largest, n_stored):
    """As many as fit, at least some, twice the largest group, or all that there are."""
    monkeypatch.setattr(control_pool, "_ENTRIES", entries)
    monkeypatch.setattr(control_pool, "_HELD", held)
    found = build_pool(Rows(rng.standard_normal((60, 5))), np.arange(60), largest)
    assert len(found) == n_stored
    assert (found.numbers[0], found.numbers[-1]) == (0, 59)
    assert np.ptp(np.diff(found.numbers)) <= 1


@pytest.mark.parametrize("n", [4, 6, 9])
def test_wide_controls_are_stored_by_coordinates_with_the_same_products(monkeypatch, rng, n):
    monkeypatch.setattr(control_pool, "_SPANNED", 5)
    rows = rng.standard_normal((n, 8)) + 1
    found = build_pool(Rows(rows), np.arange(n), 2)
    chosen = rows[found.numbers]
    centred = chosen - chosen.mean(axis=0)
    assert len(found) == min(n, 5)
    assert found.rows @ found.rows.T == pytest.approx(centred @ centred.T)
    assert found.rows.shape[1] == len(found)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
def test_whitened_controls_have_the_identity_for_their_shrunk_covariance(rng, shrinkage):
    rows = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4))
    centred = rows - rows.mean(axis=0)
    matrix, share = whitening_matrix(centred, shrinkage)
    covariance = centred.T @ centred / 50
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / 4 * np.eye(4)
    assert share == shrinkage
    assert matrix @ shrunk @ matrix == pytest.approx(np.eye(4), abs=1e-9)
    assert matrix == pytest.approx(matrix.T)


def test_shrinkage_is_a_share_that_leaves_all_directions(rng):
    with pytest.raises(ValueError, match=r"shrinkage must be at most 1, got 1\.5"):
        whitening_matrix(rng.standard_normal((9, 3)), 1.5)
    with pytest.raises(ValueError, match="shrinkage must be finite and at least 0"):
        whitening_matrix(rng.standard_normal((9, 3)), -0.1)
    with pytest.raises(ValueError, match="shrinkage must make the covariance of the controls invertible"):
        whitening_matrix(rng.standard_normal((3, 5)), 0.0)
    assert whitening_matrix(rng.standard_normal((3, 5)), 0.01)[1] == 0.01


def test_the_error_of_a_mean_counts_units_once(rng):
    """Rows of their own: variance over their number. Units that repeat one value: that of as many values."""
    values = rng.standard_normal((10, 2))
    values -= values.mean(axis=0)
    alone = values.var(axis=0, ddof=1) / 10
    every = np.arange(10)
    assert _variance_of_mean(values, None, every, 10) == pytest.approx(alone)
    assert _variance_of_mean(values, every, every, 10) == pytest.approx(alone)
    assert _variance_of_mean(values, np.zeros(10, dtype=int), every, 10) == pytest.approx(alone)
    thrice = np.repeat(values, 3, axis=0)
    assert _variance_of_mean(thrice, np.repeat(every, 3), np.arange(30), 30) == pytest.approx(alone)
    # Of a thousand rows ten are held: the mean of the thousand varies less.
    assert _variance_of_mean(values, None, every, 1000) == pytest.approx(alone / 100)


@pytest.mark.parametrize("d", [1, 2, 50])
def test_one_shift_is_its_own_mean(d):
    assert expected_mean_cosine(1, d) == pytest.approx(1)
    assert expected_mean_cosine(1, d, 5) == pytest.approx(1)


def test_two_shifts_share_half_of_their_variance_with_the_mean_of_four():
    assert expected_mean_cosine(4, 100_000) == pytest.approx(0.5, abs=1e-4)
