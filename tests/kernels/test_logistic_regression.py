"""Logistic regressions: scikit-learn's solution, the gradient's zero, and many at once as one at a time."""

import numpy as np
import pytest

from shesha.kernels.regression import fit_many


def problem(n, d, n_classes, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = scale * (rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n_classes, d))[y])
    return X - X.mean(axis=0), y


def fit(X, y, C, weights=None):
    ones = np.ones((len(X), 1)) if weights is None else weights[:, None]
    found = fit_many(X, y[:, None], ones, int(y.max()) + 1, C)
    assert found.converged.all()
    return found.coefficients[0], found.intercepts[0]


@pytest.mark.parametrize(
    ("n", "d", "n_classes", "C", "scale"),
    [(60, 5, 2, 1.0, 1.0), (60, 5, 3, 1.0, 1.0), (30, 50, 2, 0.1, 1.0), (30, 40, 4, 10.0, 0.2), (60, 5, 2, 1.0, 1e3)],
)
def test_the_solution_is_that_of_scikit_learn(n, d, n_classes, C, scale):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = problem(n, d, n_classes, scale)
    oracle = linear_model.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    coefficients, intercepts = fit(X, y, C)
    assert coefficients.shape == oracle.coef_.shape
    np.testing.assert_allclose(coefficients, oracle.coef_, atol=1e-6 * np.abs(oracle.coef_).max())
    # Adding a number to all intercepts of a softmax changes nothing.
    shift = 0 if n_classes == 2 else np.mean(oracle.intercept_) - np.mean(intercepts)
    np.testing.assert_allclose(intercepts + shift, oracle.intercept_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_is_zero(n_classes):
    X, y = problem(50, 7, n_classes, seed=3)
    coefficients, intercepts = fit(X, y, C=2.0)
    scores = X @ coefficients.T + intercepts
    if n_classes == 2:
        wrong = 1 / (1 + np.exp(-scores)) - (y[:, None] == 1)
    else:
        shares = np.exp(scores)
        wrong = shares / shares.sum(axis=1, keepdims=True) - np.eye(n_classes)[y]
    assert np.abs(2.0 * wrong.T @ X + coefficients).max() < 1e-8
    assert np.abs(wrong.sum(axis=0)).max() < 1e-8


def test_many_at_once_are_each_alone():
    X, y = problem(40, 6, 3, seed=5)
    rng = np.random.default_rng(0)
    codes = np.array([y, *(rng.permutation(y) for _ in range(4))]).T
    together = fit_many(X, codes, np.ones(codes.shape), 3, 1.0)
    for j in range(codes.shape[1]):
        alone, _ = fit(X, codes[:, j], 1.0)
        np.testing.assert_allclose(together.coefficients[j], alone, atol=1e-8)


def test_a_weight_is_a_number_of_copies():
    X, y = problem(30, 4, 2, seed=7)
    counts = np.random.default_rng(1).integers(0, 3, 30).astype(float)
    rows = np.repeat(np.arange(30), counts.astype(int))
    weighted, _ = fit(X, y, 1.0, counts)
    copied, _ = fit(X[rows], y[rows], 1.0)
    np.testing.assert_allclose(weighted, copied, atol=1e-8)


def test_rows_without_weight_do_not_matter():
    X, y = problem(30, 4, 2, seed=8)
    used = np.arange(30) < 20
    left_out, _ = fit(X, y, 1.0, used.astype(float))
    alone, _ = fit(X[used], y[used], 1.0)
    np.testing.assert_allclose(left_out, alone, atol=1e-9)


def test_perfectly_separated_classes_have_a_solution():
    X = np.linspace(-1, 1, 20)[:, None]
    y = (X[:, 0] > 0).astype(int)
    coefficients, _ = fit(X, y, C=1e6)
    assert 10 < coefficients[0, 0] < 1e4
