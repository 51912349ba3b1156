"""Steering vectors: the directions of their definitions, the coherence of brute force, arithmetic, bad input."""

import numpy as np
import pytest

import shesha
from shesha.steering import steerability, vector
from shesha.steering.vectors import coherences


def unit(v):
    return v / np.linalg.norm(v)


def cosine(a, b):
    return float(unit(np.asarray(a)) @ unit(np.asarray(b)))


def test_logistic_is_the_direction_of_scikit_learn(two_classes):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = two_classes
    oracle = linear_model.LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12).fit(X, y)
    found = vector(X, y, C=0.5, n_draws=0)
    np.testing.assert_allclose(found.direction, unit(oracle.coef_[0]), atol=1e-6)
    np.testing.assert_allclose(found.weights[0], oracle.coef_[0], atol=1e-6)
    np.testing.assert_allclose(found.intercepts, oracle.intercept_, atol=1e-6)
    assert (found.source, found.target) == ("neg", "pos")


def test_more_classes_take_the_top_right_singular_vector_of_the_coefficients(three_classes):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = three_classes
    oracle = linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y)
    top = np.linalg.svd(oracle.coef_)[2][0]
    found = vector(X, y, n_draws=0)
    assert abs(cosine(found.direction, top)) == pytest.approx(1, abs=1e-9)
    along = dict(zip(oracle.classes_, oracle.coef_ @ found.direction, strict=True))
    assert found.source == min(along, key=along.get)
    assert found.target == max(along, key=along.get)
    assert found.source < found.target


def test_mean_difference_is_the_difference_of_the_means(two_classes):
    X, y = two_classes
    found = vector(X, y, method="mean_difference", n_draws=0)
    np.testing.assert_allclose(found.direction, unit(X[y == "pos"].mean(0) - X[y == "neg"].mean(0)), atol=1e-12)


def test_svd_is_the_top_right_singular_vector_of_the_shifts(three_classes):
    X, y = three_classes
    shifts = np.array([x - X[y != label].mean(axis=0) for x, label in zip(X, y, strict=True)])
    found = vector(X, y, method="svd", n_draws=0)
    assert abs(cosine(found.direction, np.linalg.svd(shifts)[2][0])) == pytest.approx(1, abs=1e-9)


def test_fewer_rows_than_features_give_the_same_vector_as_the_features_that_they_span(two_classes):
    X, y = two_classes
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((300, 12)))[0]
    narrow, wide = vector(X, y, n_draws=0), vector(X @ turn.T, y, n_draws=0)
    np.testing.assert_allclose(wide.direction, turn @ narrow.direction, atol=1e-8)
    assert wide.norm == pytest.approx(narrow.norm)


@pytest.mark.parametrize("method", ["logistic", "mean_difference", "svd"])
def test_the_direction_turns_with_the_rows_and_ignores_their_offset(two_classes, method):
    X, y = two_classes
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((12, 12)))[0]
    found = vector(X @ turn + 5, y, method=method, n_draws=0)
    np.testing.assert_allclose(found.direction, vector(X, y, method=method, n_draws=0).direction @ turn, atol=1e-8)


def brute_coherence(X, y, source, target):
    shifts = X[y == target] - X[y == source].mean(axis=0)
    units = shifts / np.linalg.norm(shifts, axis=1, keepdims=True)
    pairs = units @ units.T
    n = len(units)
    return cosine_mean(shifts), (pairs.sum() - n) / (n * (n - 1))


def cosine_mean(shifts):
    mean = unit(shifts.mean(axis=0))
    return float(np.mean([unit(one) @ mean for one in shifts]))


def test_coherence_is_that_of_brute_force(two_classes):
    X, y = two_classes
    found = vector(X, y, n_draws=19, seed=0)
    expected = brute_coherence(X, y, "neg", "pos")
    assert found.coherence.value == pytest.approx(expected[0], abs=1e-12)
    assert found.unbiased.value == pytest.approx(expected[1], abs=1e-12)


def test_coherence_and_its_chance_are_those_of_the_function_for_groups_and_controls(two_classes):
    X, y = two_classes
    found = vector(X, y, n_draws=499, seed=0)
    other = shesha.coherence.coherence(X[y == "pos"], X[y == "neg"], null="pooled", n_draws=499)
    assert found.coherence.value == pytest.approx(other.coherence, abs=1e-12)
    assert found.unbiased.value == pytest.approx(other.value, abs=1e-12)
    assert found.chance == pytest.approx(other.coherence_chance, abs=0.01)
    assert found.unbiased.chance == pytest.approx(other.chance, abs=0.01)
    assert found.unbiased.chance_sd == pytest.approx(other.chance_sd, rel=0.2)
    assert found.unbiased.low == pytest.approx(other.low, abs=0.03)
    assert found.unbiased.high == pytest.approx(other.high, abs=0.03)


def test_coherence_of_resampled_rows_counts_no_row_with_itself():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4))
    source, target = np.r_[np.ones(6), np.zeros(6)], np.r_[np.zeros(6), 3, 0, 1, 1, 0, 1]
    rows = np.repeat(np.arange(12), target.astype(int))
    shifts = X[rows] - X[:6].mean(axis=0)
    units = shifts / np.linalg.norm(shifts, axis=1, keepdims=True)
    apart = rows[:, None] != rows[None]
    found = coherences(X, source[None], target[None])[:, 0]
    assert found[0] == pytest.approx(cosine_mean(shifts), abs=1e-12)
    assert found[1] == pytest.approx((units @ units.T)[apart].mean(), abs=1e-12)


def test_chance_is_large_where_rows_are_few_and_unbiased_coherence_is_not():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 60)), np.repeat([0, 1], 12)
    found = vector(X, y, n_draws=199, seed=0)
    assert found.chance > 0.25
    assert found.coherence.p_value > 0.05
    assert found.interval[0] < found.coherence.value < found.interval[1]
    assert abs(found.unbiased.value) < 0.15


@pytest.mark.parametrize("runs", [25])
def test_p_values_of_noise_are_uniform(runs):
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((24, 5)), np.repeat([0, 1], 12)
        p_values.append(vector(X, y, method="mean_difference", n_draws=39, seed=seed).coherence.p_value)
    # Four standard errors of a rate of 0.1, and of a mean of uniform numbers.
    assert abs(np.mean(np.array(p_values) <= 0.1) - 0.1) < 4 * np.sqrt(0.09 / runs)
    assert abs(np.mean(p_values) - 0.5) < 4 * np.sqrt(1 / 12 / runs)


def test_shuffles_respect_groups(two_classes):
    X, y = two_classes
    found = vector(X, y, groups=np.arange(80) // 10, n_draws=99, seed=0)
    assert found.exchanged == "labels of whole groups"
    assert found.coherence.p_value >= 1 / 70
    assert "only 70 ways" in found.notes[0]


def test_the_vector_calculates_like_an_array(two_classes):
    X, y = two_classes
    found = vector(X, y, n_draws=0)
    assert np.asarray(found).tolist() == found.direction.tolist()
    assert len(found) == 12
    assert found.shape == (12,)
    for value in (2 * found, found * 2, found + found, np.multiply(found, 2)):
        assert type(value) is np.ndarray
        np.testing.assert_array_equal(value, 2 * found.direction)
    np.testing.assert_array_equal(X @ found, X @ found.direction)
    np.testing.assert_array_equal(X + found, X + found.direction)
    np.testing.assert_array_equal(-found, -found.direction)
    assert np.linalg.norm(found) == pytest.approx(1)
    assert np.asarray(found, dtype=np.float32).dtype == np.float32


def test_an_array_made_of_it_is_a_copy_on_request(two_classes):
    found = vector(*two_classes, n_draws=0)
    np.array(found)[0] = 99.0
    assert found.direction[0] != 99.0


def test_strengths_are_in_mean_lengths_or_raw(two_classes):
    X, y = two_classes
    found = vector(X, y, n_draws=0)
    assert found.norm == pytest.approx(np.linalg.norm(X, axis=1).mean())
    np.testing.assert_allclose(found.scale(0.5), 0.5 * found.norm * found.direction)
    np.testing.assert_allclose(found.scale(-2, "raw"), -2 * found.direction)
    with pytest.raises(ValueError, match="units must be one of 'raw', 'norm', got 'sd'"):
        found.scale(1.0, "sd")
    with pytest.raises(ValueError, match="alpha must be finite, got nan"):
        found.scale(float("nan"))


@pytest.mark.parametrize("scale", [1e200, 1e-310])
def test_rows_beyond_the_range_of_squares_are_refused(rng, scale):
    rows, labels = scale * rng.standard_normal((20, 4)), np.repeat([0, 1], 10)
    for function in (vector, steerability):
        with pytest.raises(ValueError, match=r"X must have its largest entry between 1e-100 and 1e\+100 in size, got "):
            function(rows, labels)
