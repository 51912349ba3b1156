"""Directions of equal correlation or variance are arbitrary: no value depends on which ones rounding picks."""

from itertools import combinations

import numpy as np
import pytest

import shesha.measures as measures
from shesha.support.warnings import NotEstimable

N = 20


def orthonormal(rng, d, n=N):
    """Centred columns of unit length at right angles."""
    rows = rng.standard_normal((n, d))
    return np.linalg.qr(rows - rows.mean(axis=0))[0]


def equivalent(X, Y, rng):
    """The same two, as far as measures that ignore offsets, scale and orders can tell."""
    order = rng.permutation(len(X))
    yield from ((X + 1, Y), (X, Y + 1), (X[::-1], Y[::-1]), (X[order], Y[order]))
    yield from ((X[:, ::-1], Y), (X, Y[:, ::-1]), (3 * X, Y), (X, 3 * Y))


@pytest.mark.parametrize("weights", ["projection", "l1"])
@pytest.mark.parametrize("widths", [(12, 12), (15, 9), (9, 15)])
def test_pwcca_of_more_features_than_rows_have_room_for(rng, weights, widths):
    """Rank X + rank Y exceeds n - 1, so that several correlations are 1."""
    X, Y = (rng.standard_normal((N, d)) * np.geomspace(1, 9, d) for d in widths)
    value = measures.pwcca(X, Y, weights=weights)
    for one, other in equivalent(X, Y, rng):
        assert measures.pwcca(one, other, weights=weights) == pytest.approx(value, abs=1e-12)


def plane(rng, correlation):
    """Two canonical directions of one correlation beside one of another, and the features that they make up."""
    left, right = orthonormal(rng, 6)[:, :3], orthonormal(rng, 6)
    right = np.linalg.qr(right - left @ (left.T @ right))[0][:, :3]
    rho = np.array([correlation, correlation, 0.3])
    partner = left * rho + right * np.sqrt(1 - rho**2)
    mix, other = rng.standard_normal((2, 3, 3))
    return left, rho, left @ mix, partner @ other


@pytest.mark.parametrize("correlation", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("weights", ["projection", "l1"])
def test_pwcca_gives_equal_correlations_their_mean_weight(rng, correlation, weights):
    left, rho, X, Y = plane(rng, correlation)
    angles = np.linspace(0, np.pi, 20_000, endpoint=False)
    turned = np.cos(angles) * left[:, :1] + np.sin(angles) * left[:, 1:2]
    columns = X - X.mean(axis=0) if weights == "projection" else np.eye(N)
    equal = np.abs(turned.T @ columns).sum(axis=1).mean()
    alpha = np.array([equal, equal, np.abs(left[:, 2] @ columns).sum()])
    found = measures.pwcca(X, Y, weights=weights)
    assert found == pytest.approx((alpha * rho).sum() / alpha.sum(), rel=1e-6)


def test_l1_weights_are_those_of_x_even_if_it_is_wider(rng):
    X, Y = rng.standard_normal((N, 6)), rng.standard_normal((N, 3))
    U, V = (np.linalg.qr(side - side.mean(axis=0))[0] for side in (X, Y))
    rotation, rho, other = np.linalg.svd(U.T @ V, full_matrices=False)
    for one, two, directions in ((X, Y, U @ rotation), (Y, X, V @ other.T)):
        alpha = np.abs(directions).sum(axis=0)
        assert measures.pwcca(one, two, weights="l1") == pytest.approx((alpha * rho).sum() / alpha.sum(), rel=1e-12)


def test_l1_weights_of_directions_without_a_partner(rng):
    """A correlation of 0 may belong to any direction of X that has no partner."""
    left = orthonormal(rng, 6)
    X, Y = left[:, :4] @ rng.standard_normal((4, 4)), left[:, [0, 5]] @ rng.standard_normal((2, 2))
    value = measures.pwcca(X, Y, weights="l1")
    for one, other in equivalent(X, Y, rng):
        assert measures.pwcca(one, other, weights="l1") == pytest.approx(value, abs=1e-12)


def tied(rng):
    """Spectra with equal variances where the cut falls."""
    X = orthonormal(rng, 6) * [5, 4, 1, 1, 1, 0.01]
    Y = orthonormal(rng, 5) * [3, 2, 2, 2, 0.02]
    return X @ np.linalg.qr(rng.standard_normal((6, 6)))[0], Y


def test_pwcka_is_the_mean_over_the_components_that_may_come_first(rng):
    X, Y = tied(rng)
    found = measures.pwcka(X, Y, variance=0.9)
    a, b = (np.linalg.svd(side - side.mean(axis=0), full_matrices=False) for side in (X, Y))
    # X needs two components for nine tenths of its variance; Y, with 9, 4, 4 and 4, all four.
    scores = []
    for choice in combinations((1, 2, 3), 1):
        p, q = a[0][:, :2] * a[1][:2], b[0][:, [0, *choice]] * b[1][[0, *choice]]
        scores.append(np.linalg.norm(p.T @ q) ** 2 / np.linalg.norm(p.T @ p) / np.linalg.norm(q.T @ q))
    assert found == pytest.approx(np.mean(scores), rel=1e-12)
    for one, other in equivalent(X, Y, rng):
        assert measures.pwcka(one, other, variance=0.9) == pytest.approx(found, abs=1e-12)


def test_svcca_takes_equal_components_together(rng):
    X, Y = tied(rng)
    for components in (3, 0.9):
        found = measures.svcca(X, Y, components=components)
        for one, other in equivalent(X, Y, rng):
            assert measures.svcca(one, other, components=components) == pytest.approx(found, abs=1e-12)


def test_no_leading_subspace_among_equal_singular_values(rng):
    X, Y = tied(rng)
    assert 0 < measures.get("subspace overlap(k=2)").score(X, X) <= 1
    with pytest.raises(
        NotEstimable, match="singular values 3 and 4 are equal, so the leading directions are arbitrary"
    ):
        measures.get("subspace overlap(k=3)").score(X, Y)
