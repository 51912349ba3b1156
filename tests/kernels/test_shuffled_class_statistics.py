"""Statistics under many shuffles of the labels at once are those of one shuffle after another."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shesha.kernels import class_statistics
from shesha.kernels.class_statistics import class_variance_share, mean_separation


@pytest.fixture(params=[2, 5, 25], ids="{} classes".format)
def labels(request, rng):
    y = np.append(np.arange(request.param).repeat(2), rng.integers(0, request.param, 40))
    return np.array([rng.permutation(y) for _ in range(18)]), request.param


def test_shares_between_classes(rng, labels):
    codes, k = labels
    X = 1e3 + rng.standard_normal((codes.shape[1], 7))
    assert_allclose(
        class_statistics.variance_shares_of_shuffles(X, codes, k),
        [class_variance_share(X, y) for y in codes],
        atol=1e-12,
    )


def test_mean_separations(rng, labels):
    codes, k = labels
    X = 1e3 + rng.standard_normal((codes.shape[1], 7))
    one_by_one = [mean_separation(X, [np.flatnonzero(y == c) for c in range(k)]) for y in codes]
    assert_allclose(class_statistics.separations_of_shuffles(X, codes, k), one_by_one, atol=1e-12)


def test_classes_of_equal_rows_are_separated_wholly():
    X = np.repeat(np.eye(3), 4, axis=0)
    y = np.arange(12) // 4
    assert class_statistics.separations_of_shuffles(X, y[None], 3)[0] == 1.0
    assert np.isnan(class_statistics.separations_of_shuffles(X[:4], np.arange(4)[None], 4)[0])


def test_sums_over_pairs_of_one_class(rng, labels):
    codes, k = labels
    n = codes.shape[1]
    numbers = rng.standard_normal((n, n))
    expected = [
        sum(numbers[i, j] for i, j in itertools.combinations(range(n), 2) if y[i] == y[j]) for y in codes.tolist()
    ]
    for width in (7, n):
        found = class_statistics.class_sums(lambda at, w=width: numbers[at : at + w, at:].copy(), width, codes, k)
        assert_allclose(found, expected, atol=1e-11)
    i, j = np.triu_indices(n, k=1)
    sums, n_alike = class_statistics.sums_of_pairs(numbers[i, j], i, j, codes)
    assert_allclose(sums, expected, atol=1e-11)
    assert (n_alike == (codes[:, i] == codes[:, j]).sum(axis=1)).all()
