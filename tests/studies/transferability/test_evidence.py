"""LogME is the maximum over alpha and beta of the evidence, however it is reached."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from shesha_studies import transferability as transfer


def evidence(X, t, logs):
    """Log-density of the target under the marginal model, per row."""
    alpha, beta = np.exp(logs)
    C = np.eye(len(X)) / beta + X @ X.T / alpha
    return -(len(X) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + t @ np.linalg.solve(C, t)) / (2 * len(X))


def maximum(X, t):
    starts = [(a, b) for a in (-6, 0, 6) for b in (0, 4)]
    box = [(-8, 12), (-8, 10)]
    found = [minimize(lambda logs: -evidence(X, t, logs), start, bounds=box) for start in starts]
    return max(-result.fun for result in found)


@pytest.mark.parametrize(("n", "d"), [(30, 3), (20, 19), (15, 40)])
@pytest.mark.parametrize("signal", [0.0, 0.3, 2.0])
def test_no_alpha_and_beta_give_more_evidence(rng, n, d, signal):
    X = rng.standard_normal((n, d)) + 0.2
    t = signal * X @ rng.standard_normal(d) / np.sqrt(d) + rng.standard_normal(n)
    found = transfer.logme_regression(X, t)
    # The largest value may lie at an end that the box does not reach.
    assert -1e-9 <= found - maximum(X, t) <= 1e-4


def test_two_peaks_are_both_seen(rng):
    """A strong direction with a weak signal, and weak directions with a strong one."""
    n = 40
    basis = np.linalg.qr(rng.standard_normal((n, 12)))[0]
    sizes = np.concatenate([[1e4, 1e4], np.full(10, 1e-1)])
    t = basis @ np.concatenate([[3.0, 3.0], np.full(10, 1.5)]) + 0.2 * rng.standard_normal(n)
    grid = np.linspace(-25, 25, 4001)
    X = basis * sizes
    coordinates, squares = (basis.T @ t) ** 2, sizes**2
    rest = t @ t - coordinates.sum()
    ratios = squares[:, None] * np.exp(-grid)
    profile = n * np.log((coordinates[:, None] / (1 + ratios)).sum(axis=0) + rest) + np.log1p(ratios).sum(axis=0)
    expected = -(profile.min() / n + np.log(2 * np.pi / n) + 1) / 2
    assert transfer.logme_regression(X, t) == pytest.approx(expected, abs=1e-4)


def test_classes_are_targets_one_against_the_rest(rng, make):
    X, y = make(rng)
    indicators = (y[:, None] == np.unique(y)).astype(float)
    for published in (False, True):
        expected = transfer.logme_regression(X, indicators, published=published)
        assert transfer.logme(X, y, published=published) == pytest.approx(expected, abs=1e-13)


def test_targets_are_averaged(rng):
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 3))
    expected = np.mean([transfer.logme_regression(X, Y[:, [k]]) for k in range(3)])
    assert transfer.logme_regression(X, Y) == pytest.approx(expected, abs=1e-13)
    assert transfer.logme_regression(X, Y[:, 0]) == transfer.logme_regression(X, Y[:, :1])


def test_features_without_any_use_give_the_evidence_of_none(rng):
    X = rng.standard_normal((30, 3))
    t = rng.standard_normal(30)
    t -= X @ np.linalg.lstsq(X, t)[0]
    expected = -(np.log(2 * np.pi * t @ t / 30) + 1) / 2
    assert transfer.logme_regression(X, t) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32), st.sampled_from([1e-100, 1e-5, 1e5, 1e100]))
def test_units_of_features_do_not_matter_and_those_of_targets_shift(seed, scale):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 25, 2)
    X, t = rng.standard_normal((n, d)), rng.standard_normal(n)
    value = transfer.logme_regression(X, t)
    assert transfer.logme_regression(X * scale, t) == pytest.approx(value, abs=1e-9)
    assert transfer.logme_regression(X, t * scale) == pytest.approx(value - np.log(scale), abs=1e-9)


def test_the_published_value_depends_on_units(rng, make):
    X, y = make(rng, n=30, d=90)
    assert transfer.logme(X, y, published=True) != pytest.approx(transfer.logme(1e-3 * X, y, published=True), abs=0.1)
