"""Symmetric matrices as triangles: sums, centring, products and the largest eigenvalue are those of the matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform

from shesha.kernels import condensed_matrices
from shesha.kernels.condensed_matrices import _AT_ONCE, _BLOCK, _DENSE

SIZES = [2, 3, 5, _AT_ONCE, _AT_ONCE + 1, 2 * _AT_ONCE + 7, 300]


def symmetric(rng, n):
    triangle = rng.standard_normal(n * (n - 1) // 2)
    return triangle, squareform(triangle)


@pytest.mark.parametrize("n", SIZES)
def test_margins_are_subtracted_in_place(rng, n):
    triangle, square = symmetric(rng, n)
    margins = rng.standard_normal(n)
    condensed_matrices.subtract_margins(triangle, margins)
    expected = square - margins[:, None] - margins
    assert_allclose(triangle, expected[np.triu_indices(n, k=1)], atol=1e-14)


@pytest.mark.parametrize("size", [0, 1, 5, _BLOCK - 1, _BLOCK, 3 * _BLOCK + 1, 33 * _BLOCK + 5])
def test_inner_products_and_squared_differences(rng, size):
    a, b = rng.standard_normal((2, size))
    assert condensed_matrices.inner(a, b) == pytest.approx(a @ b, rel=1e-10, abs=1e-10)
    assert condensed_matrices.squared_difference(a, b) == pytest.approx(((a - b) ** 2).sum(), rel=1e-12)
    assert condensed_matrices.inner(a, b) == condensed_matrices.inner(b, a)
    assert condensed_matrices.squared_difference(a, a) == 0.0


@pytest.mark.parametrize("n", [2, 5, 60, 301])
def test_matrix_times_vector(rng, n):
    triangle, square = symmetric(rng, n)
    vector = rng.standard_normal(n)
    before = triangle.copy(), vector.copy()
    assert_allclose(condensed_matrices.times(triangle, vector), square @ vector, atol=1e-11)
    assert np.array_equal(triangle, before[0]) and np.array_equal(vector, before[1])


def test_sums_do_not_depend_on_the_number_of_threads(rng, with_threads):
    n = 2 * _AT_ONCE + 30
    triangle, _ = symmetric(rng, n)
    long = rng.standard_normal((2, 40 * _BLOCK))
    for call in (
        lambda: condensed_matrices.row_sums(triangle, n),
        lambda: condensed_matrices.inner(*long),
        lambda: condensed_matrices.squared_difference(*long),
        lambda: condensed_matrices.largest_eigenvalue(pdist(long[0, : 4 * 600].reshape(600, 4)), 600),
    ):
        assert np.array_equal(with_threads(1, call), with_threads(2, call))


def distance_difference(rng, n):
    X = rng.standard_normal((n, 4))
    return pdist(X) - pdist(X + 0.5 * rng.standard_normal((n, 4)))


def two_blocks(n):
    """A complete bipartite graph: eigenvalues +n/2 and -n/2, and else zeros."""
    side = np.arange(n) < n // 2
    return squareform((side[:, None] != side).astype(float))


def nearly_two_blocks(n):
    return two_blocks(n) + 1e-7 * np.sin(np.arange(n * (n - 1) // 2))


MATRICES = {
    "random": lambda rng, n: rng.standard_normal(n * (n - 1) // 2),
    "distances": lambda rng, n: pdist(rng.standard_normal((n, 5))),
    "difference of distances": distance_difference,
    "opposite extremes": lambda rng, n: two_blocks(n),
    "nearly opposite extremes": lambda rng, n: nearly_two_blocks(n),
    "negative": lambda rng, n: -pdist(rng.standard_normal((n, 5))),
    "ones": lambda rng, n: np.ones(n * (n - 1) // 2),
    "one entry": lambda rng, n: np.eye(1, n * (n - 1) // 2)[0],
    "last entry": lambda rng, n: np.eye(1, n * (n - 1) // 2)[0, ::-1].copy(),
    "a matching": lambda rng, n: squareform(np.eye(n)[np.arange(n) ^ 1][:, :n] if n % 2 == 0 else np.zeros((n, n))),
    "zero": lambda rng, n: np.zeros(n * (n - 1) // 2),
    "tiny": lambda rng, n: 1e-150 * pdist(rng.standard_normal((n, 5))),
    "huge": lambda rng, n: 1e150 * pdist(rng.standard_normal((n, 5))),
}


@pytest.mark.parametrize("n", [5, 80, _DENSE, _DENSE + 1, 700])
@pytest.mark.parametrize("kind", MATRICES)
def test_largest_eigenvalue_is_that_of_the_whole_spectrum(rng, kind, n):
    triangle = MATRICES[kind](rng, n)
    expected = np.abs(np.linalg.eigvalsh(squareform(triangle))).max()
    assert condensed_matrices.largest_eigenvalue(triangle, n) == pytest.approx(expected, rel=1e-8)
