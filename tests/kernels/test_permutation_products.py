"""Relabelling rows is gathering: of views, and of many inner products at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from shesha.kernels.condensed_matrices import permutation_products
from shesha.kernels.distances import METRICS, standard_rows
from shesha.kernels.pairs import condensed_index
from shesha.views import RankedRdm


@pytest.fixture(params=METRICS)
def metric(request):
    return request.param


def view(X, metric):
    return RankedRdm.from_rows(standard_rows(X, metric), metric)


def test_condensed_index_is_scipys_order_both_ways():
    n = 9
    square = squareform(np.arange(n * (n - 1) // 2))
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    assert np.array_equal(condensed_index(i, j, n), square[i, j])


def test_the_inner_product_of_views_is_the_rank_correlation(rng, metric):
    X, Y = rng.standard_normal((2, 25, 6))
    a, b = view(X, metric), view(Y, metric)
    assert a.inner(b) == pytest.approx(spearmanr(pdist(X, metric), pdist(Y, metric)).statistic, abs=1e-12)
    assert a.inner(b) == b.inner(a)
    assert a.inner(a) == pytest.approx(1, abs=1e-12)


def test_a_permuted_view_is_the_view_of_permuted_rows(rng, metric):
    X, order = rng.standard_normal((25, 6)), rng.permutation(25)
    assert_allclose(view(X, metric).permute(order).ranks, view(X[order], metric).ranks, atol=1e-14)


def test_undoing_a_permutation_gives_the_view_back(rng):
    a, order = view(rng.standard_normal((25, 6)), "cosine"), rng.permutation(25)
    assert np.array_equal(a.permute(order).permute(np.argsort(order)).ranks, a.ranks)


@pytest.mark.parametrize("n_pairs", [0, 1, 45])
def test_equal_distances_give_a_view_of_nan(n_pairs):
    assert np.isnan(RankedRdm.from_distances(np.ones(n_pairs), 10).ranks).all()


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("n", [4, 40, 141])
def test_products_are_those_of_permuted_views(rng, monkeypatch, n, compiled):
    monkeypatch.setenv("SHESHA_NATIVE", compiled)
    a, b = (view(rng.standard_normal((n, 5)), "euclidean") for _ in range(2))
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(11))]
    found = permutation_products(a.ranks, b.ranks, n, orders)
    assert_allclose(found, [a.inner(b.permute(order)) for order in orders], atol=1e-12, rtol=0)


def test_products_are_the_same_for_one_thread_and_two(rng, with_threads):
    first, second = rng.standard_normal((2, 780))
    orders = [rng.permutation(40) for _ in range(19)]
    one, two = (with_threads(n, lambda: permutation_products(first, second, 40, orders)) for n in (1, 2))
    assert np.array_equal(one, two)
