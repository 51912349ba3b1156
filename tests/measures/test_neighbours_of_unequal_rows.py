"""Neighbours by default do not depend on the lengths of rows, as in the paper that defines mutual kNN."""

import numpy as np
import pytest

import shesha
from shesha import measures


def unrelated_rows_of_similar_length(n=300, d=32, seed=0):
    """Two unrelated representations whose rows have the same very unequal lengths, like texts of different length."""
    rng = np.random.default_rng(seed)
    length = np.exp(rng.normal(0, 0.7, n))[:, None]
    return rng.standard_normal((n, d)) * length, rng.standard_normal((n, d)) * length


def by_definition(X, Y, k, *, unit):
    lists = []
    for rows in (X, Y):
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows
        products = rows @ rows.T
        np.fill_diagonal(products, -np.inf)
        lists.append(np.argsort(-products, axis=1, kind="stable")[:, :k])
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(*lists, strict=True)])


@pytest.mark.parametrize("k", [1, 5, 10])
def test_the_default_compares_rows_of_unit_length_and_dot_is_the_public_code(k):
    X, Y = unrelated_rows_of_similar_length()
    assert measures.mutual_knn(X, Y, k=k) == pytest.approx(by_definition(X, Y, k, unit=True), abs=1e-12)
    assert measures.mutual_knn(X, Y, k=k, metric="dot") == pytest.approx(by_definition(X, Y, k, unit=False), abs=1e-12)


def test_unrelated_rows_of_similar_lengths_score_at_chance():
    X, Y = unrelated_rows_of_similar_length()
    chance = 10 / 299
    assert abs(measures.mutual_knn(X, Y) - chance) < 0.02
    assert measures.mutual_knn(X, Y, metric="dot") > 3 * chance


def test_every_function_uses_the_same_default():
    X, Y = unrelated_rows_of_similar_length(60)
    value = measures.mutual_knn(X, Y)
    assert shesha.compare(X, Y, "mutual kNN")["mutual kNN"].value == value
    assert shesha.calibrate(X, Y, "mutual kNN", seed=0).value == value
    assert shesha.compare_layers([X], [Y], "mutual kNN").closest.value == value
    assert shesha.calibrate_layers([X], [Y], "mutual kNN", seed=0).value == value
    assert shesha.compare_all({"a": X, "b": Y}, "mutual kNN").matrix("mutual kNN").loc["a", "b"] == value
