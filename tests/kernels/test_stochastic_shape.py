"""Distances of clouds of trials are those of netrep where both minimise the same, and never larger."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import ortho_group

from shesha.kernels.shapes import energy_distance, gaussian_distance, lengths, symmetric_roots

PUBLISHED = Path(__file__).parents[1] / "reference" / "netrep_stochastic.json"
WEIGHTS = (0.0, 0.5, 1.0, 2.0)


def trials(seed):
    """Return two recordings of (conditions, trials, neurons), drawn as for the published values."""
    rng = np.random.default_rng(seed)
    C, r, d = int(rng.integers(3, 9)), int(rng.integers(9, 14)), int(rng.integers(2, 7))
    X = 2 * rng.standard_normal((C, 1, d)) + rng.standard_normal((C, r, d)) @ rng.standard_normal((d, d))
    turned = X.mean(1, keepdims=True) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    Y = turned + rng.uniform(0.1, 1) * rng.standard_normal((C, 1, d))
    Y = Y + rng.standard_normal((C, r, d)) @ rng.standard_normal((d, d))
    return X - X.mean((0, 1)), Y - Y.mean((0, 1))


def moments(clouds):
    return clouds.mean(axis=1), np.array([np.cov(one.T) for one in clouds])


def gaussian(X, Y, weight):
    (m_x, c_x), (m_y, c_y) = moments(X), moments(Y)
    return np.sqrt(max(0.0, gaussian_distance((m_x, m_y), (c_x, c_y), weight)[0]))


def ratios(column, ours):
    """Our values over those of netrep's main branch (commit 0186b8a), of 50 data sets."""
    published = np.array(json.loads(PUBLISHED.read_text()))[:, column]
    return np.array([ours(*trials(seed)) for seed in range(50)]) / published


@pytest.mark.parametrize("column", range(4))
def test_gaussian_distances_are_those_of_netrep_or_smaller(column):
    weight = WEIGHTS[column]
    found = ratios(column, lambda X, Y: gaussian(X, Y, weight))
    # Several starts find lower minima; at other weights netrep's rotation minimises something else.
    assert found.max() < 1 + 1e-6
    if weight == 2:
        assert found.min() > 1 - 1e-6
    if weight == 1:
        assert np.mean(found > 1 - 1e-6) > 0.5
    assert found.min() > 0.6


def test_rotations_of_the_energy_distance_are_as_good_as_those_of_netrep():
    def objective(X, Y):
        rotation = energy_distance(list(X), list(Y))[1]
        return np.mean([lengths(a, b @ rotation).mean() for a, b in zip(X, Y, strict=True)])

    found = ratios(4, objective)
    assert found.max() < 1.005
    assert np.mean(found < 1 + 1e-6) > 0.9


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_distance_is_the_formula_at_its_rotation(weight):
    X, Y = trials(3)
    (m_x, c_x), (m_y, c_y) = moments(X), moments(Y)
    found, T = gaussian_distance((m_x, m_y), (c_x, c_y), weight)
    assert pytest.approx(np.eye(len(T))) == T @ T.T
    slow = []
    for a, b, p, q in zip(m_x, m_y, c_x, c_y, strict=True):
        turned = T.T @ q @ T
        root = np.real(sqrtm(p))
        bures = np.trace(p) + np.trace(turned) - 2 * np.real(np.trace(sqrtm(root @ turned @ root)))
        slow.append(weight * ((a - b @ T) ** 2).sum() + (2 - weight) * bures)
    assert found == pytest.approx(np.mean(slow))


def test_no_rotation_nearby_is_better():
    X, Y = trials(5)
    (m_x, c_x), (m_y, c_y) = moments(X), moments(Y)
    best, T = gaussian_distance((m_x, m_y), (c_x, c_y), 1.0)
    r_x = symmetric_roots(c_x)
    for seed in range(20):
        skew = 0.05 * np.random.default_rng(seed).standard_normal(T.shape)
        near = T @ np.linalg.qr(np.eye(len(T)) + skew - skew.T)[0]
        shared = np.linalg.svd(symmetric_roots(c_y) @ near @ r_x, compute_uv=False).sum()
        total = ((m_x - m_y @ near) ** 2).sum() + np.einsum("cii->", c_x) + np.einsum("cii->", c_y) - 2 * shared
        assert total / len(X) >= best - 1e-9


@pytest.mark.parametrize("weight", WEIGHTS)
def test_rotated_clouds_are_at_distance_zero(weight):
    for seed in range(6):
        X, _ = trials(seed)
        turn = ortho_group.rvs(X.shape[2], random_state=seed)
        assert gaussian(X, X @ turn, weight) < 1e-3
        assert energy_distance(list(X), list(X @ turn))[0] < 1e-6


def test_distances_are_symmetric():
    X, Y = trials(2)
    for weight in WEIGHTS:
        assert gaussian(X, Y, weight) == pytest.approx(gaussian(Y, X, weight), rel=1e-6)
    assert energy_distance(list(X), list(Y))[0] == pytest.approx(energy_distance(list(Y), list(X))[0], rel=1e-5)


def test_clouds_without_spread_have_a_distance_of_means():
    X, Y = trials(4)
    flat = np.zeros((len(X), X.shape[2], X.shape[2]))
    m_x, m_y = X.mean(axis=1), Y.mean(axis=1)
    found = gaussian_distance((m_x, m_y), (flat, flat), 1.0)[0]
    nuclear = np.linalg.svd(m_y.T @ m_x, compute_uv=False).sum()
    assert found == pytest.approx(((m_x**2).sum() + (m_y**2).sum() - 2 * nuclear) / len(X))
