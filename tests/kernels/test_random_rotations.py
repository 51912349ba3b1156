"""Rotations are uniform, and do not see how the rows were rotated before."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from shesha.kernels.feature_halves import Axes, Rotations, haar_columns, principal_coordinates

SHAPES = [(6, 15), (15, 6), (9, 9)]


@pytest.mark.parametrize(("n", "r"), [(7, 7), (20, 5), (4, 1)])
def test_haar_columns_are_orthonormal(rng, n, r):
    q = haar_columns(n, r, rng)
    assert_allclose(q.T @ q, np.eye(r), atol=1e-14)


@pytest.mark.parametrize(("n", "r"), [(256, 128), (257, 128), (400, 30), (600, 300)])
def test_haar_columns_are_those_of_reflections_at_any_size(n, r):
    q, triangle = np.linalg.qr(np.random.default_rng(5).standard_normal((n, r)))
    expected = q * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
    assert_allclose(haar_columns(n, r, np.random.default_rng(5)), expected, atol=1e-13)


def test_haar_columns_have_the_moments_of_the_uniform_distribution(rng):
    n, draws = 3, 6000
    q = np.array([haar_columns(n, 3, rng) for _ in range(draws)])
    five_sigma = 5 / np.sqrt(draws)
    # Signs that the factorisation prefers would show in the first moment, unequal spread in the others.
    assert_allclose(q.mean(axis=0), 0, atol=five_sigma * np.sqrt(1 / n))
    assert_allclose((q**2).mean(axis=0), 1 / n, atol=five_sigma * np.sqrt(3 / (n * (n + 2)) - 1 / n**2))
    assert_allclose(np.linalg.det(q).mean(), 0, atol=five_sigma)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_principal_coordinates_keep_all_inner_products(rng, n, d):
    X = rng.standard_normal((n, d))
    coordinates = principal_coordinates(X)
    assert coordinates.shape == (n, min(n, d))
    assert_allclose(coordinates @ coordinates.T, X @ X.T, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_principal_coordinates_are_the_same_for_a_rotated_copy(rng, n, d):
    X = rng.standard_normal((n, d))
    Q = ortho_group.rvs(d, random_state=rng)
    assert_allclose(principal_coordinates(X @ Q), principal_coordinates(X), atol=1e-10)


def test_axes_cut_the_permutation_in_two_with_the_odd_feature_in_the_second(rng):
    X, order = rng.standard_normal((5, 7)), rng.permutation(7)
    first, second = Axes(X).halves(order)
    assert np.array_equal(first, X[:, order[:3]].T)
    assert np.array_equal(second, X[:, order[3:]].T)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_rotated_halves_together_keep_all_inner_products(rng, n, d):
    X = rng.standard_normal((n, d))
    first, second = Rotations(X).halves(np.random.default_rng(0))
    assert len(first) == d // 2
    assert len(first) + len(second) == d
    assert_allclose(first.T @ first + second.T @ second, X @ X.T, atol=1e-12)


def test_a_rotated_half_holds_half_of_the_squared_length_on_average(rng):
    X = np.zeros((3, 10))
    X[:, 2] = [1.0, 2.0, 3.0]
    frame = Rotations(X)
    share = np.mean([(frame.halves(np.random.default_rng(seed))[0] ** 2).sum() for seed in range(1000)]) / (X**2).sum()
    assert share == pytest.approx(0.5, abs=0.03)
