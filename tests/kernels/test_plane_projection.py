"""Two principal axes, turning, and trustworthiness, against brute force and scikit-learn."""

import numpy as np
import pytest

from shesha.kernels import spectrum
from shesha.kernels.spectrum import principal_plane, trustworthiness, turn_onto


def brute_force(rows):
    """Scores on two principal axes by a full decomposition, up to signs."""
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return left[:, :2] * values[:2], values[:2] ** 2 / (values**2).sum()


@pytest.mark.parametrize("shape", [(60, 8), (9, 60), (30, 30), (20, 2), (7, 3)])
@pytest.mark.parametrize("dense", [2000, 5])
def test_places_are_those_of_a_full_decomposition(rng, monkeypatch, shape, dense):
    monkeypatch.setattr(spectrum, "_DENSE", dense)
    rows = rng.standard_normal(shape) * np.geomspace(4, 1, shape[1]) + 100
    places, shares = principal_plane(rows)
    expected, held = brute_force(rows)
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-8)
    np.testing.assert_allclose(shares, held, atol=1e-12)
    farthest = np.abs(places).argmax(axis=0)
    assert (places[farthest, [0, 1]] > 0).all()


def test_squared_distances_that_are_held_are_the_shares(rng):
    rows = rng.standard_normal((25, 6))
    places, shares = principal_plane(rows)
    all_of_them, shown = (((X[:, None] - X) ** 2).sum() for X in (rows, places))
    assert shown / all_of_them == pytest.approx(shares.sum(), abs=1e-12)


def test_one_feature_and_equal_rows():
    places, shares = principal_plane(np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose(places, [[-2, 0], [-1, 0], [3, 0]], atol=1e-12)
    np.testing.assert_allclose(shares, [1, 0])
    places, shares = principal_plane(np.full((5, 3), 0.1))
    assert not places.any() and not shares.any()


def test_a_turned_mirrored_and_scaled_plane_comes_back(rng):
    target = rng.standard_normal((30, 2))
    target -= target.mean(axis=0)
    angle = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    for turn in (angle, angle @ np.diag([1, -1])):
        np.testing.assert_allclose(turn_onto(7 * target @ turn, target), target, atol=1e-12)
    other = rng.standard_normal((30, 2))
    near = turn_onto(other, target)
    assert np.linalg.norm(near) == pytest.approx(np.linalg.norm(target))
    # No other angle, mirrored or not, brings it nearer.
    for step in np.linspace(0, 2 * np.pi, 200):
        turned = near @ np.array([[np.cos(step), -np.sin(step)], [np.sin(step), np.cos(step)]])
        for one in (turned, turned * [1, -1]):
            assert np.linalg.norm(one - target) >= np.linalg.norm(near - target) - 1e-9


@pytest.mark.parametrize("k", [1, 5, 12])
def test_trustworthiness_is_that_of_scikit_learn(rng, k):
    manifold = pytest.importorskip("sklearn.manifold")
    rows, places = rng.standard_normal((300, 6)), rng.standard_normal((300, 2))
    for one in (places, rows[:, :2]):
        expected = manifold.trustworthiness(rows, one, n_neighbors=k)
        assert trustworthiness(rows, one, k, np.arange(300)) == pytest.approx(expected, abs=1e-12)


def test_some_rows_stand_for_all(rng):
    rows = rng.standard_normal((200, 5))
    whole = trustworthiness(rows, rows[:, :2], 5, np.arange(200))
    halves = [trustworthiness(rows, rows[:, :2], 5, np.arange(start, 200, 2)) for start in (0, 1)]
    assert np.mean(halves) == pytest.approx(whole, abs=1e-12)


def test_a_random_plane_has_about_a_half(rng):
    found = [trustworthiness(rng.standard_normal((200, 9)), rng.standard_normal((200, 2)), 5, np.arange(200))]
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)
