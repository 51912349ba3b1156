"""Both ways to compute the closeness in two halves give what each half's own distances give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from shesha.kernels import feature_halves as kernel
from shesha.kernels.distances import METRICS, standard_rows
from shesha.kernels.feature_halves import Axes, DenseHalves, PanelHalves

N = 23


@pytest.fixture(params=METRICS)
def metric(request):
    return request.param


@pytest.fixture(params=[DenseHalves, PanelHalves])
def kind(request):
    return request.param


def computed(kind, X, metric, order):
    """Closeness of both halves and the marked pairs, as copies."""
    rows = standard_rows(X, metric)
    maker = kind(rows, metric, Axes(rows))
    first, second, defined = maker.visit(order, lambda c: (c.first.copy(), c.second.copy(), c.defined_pairs()))
    if metric == "euclidean":
        # The unit of length is the kernel's own affair.
        first, second = first / -first.mean(), second / -second.mean()
    elif kind is PanelHalves:
        first, second = 1 + first, 1 + second
    return first, second, defined


def direct(X, metric):
    """Squared Euclidean distance, negated, in units of its mean, or the cosine of (centred) rows."""
    if metric == "euclidean":
        squared = pdist(X, "sqeuclidean")
        return -squared / squared.mean()
    return 1 - pdist(X, metric)


@pytest.mark.parametrize("d", [4, 9])
def test_halves_are_what_their_own_features_give(rng, kind, metric, d):
    X, order = rng.standard_normal((N, d)) + 0.5, rng.permutation(d)
    first, second, defined = computed(kind, X, metric, order)
    assert_allclose(first, direct(X[:, order[: d // 2]], metric), atol=1e-12)
    assert_allclose(second, direct(X[:, order[d // 2 :]], metric), atol=1e-12)
    assert defined is None


@pytest.mark.parametrize("share", [1e2, 1e5])
@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_rows_almost_wholly_in_the_first_half_keep_their_digits_in_the_second(rng, kind, directional, share):
    X, order = rng.standard_normal((N, 12)), rng.permutation(12)
    X[np.ix_([0, 7, 22], order[:6])] *= share
    _, second, defined = computed(kind, X, directional, order)
    # Standard rows carry rounding relative to their whole length, so a share of 1e5 leaves eleven digits.
    assert_allclose(second, direct(X[:, order[6:]], directional), atol=1e-15 * share * 10)
    assert defined is None


def test_each_draw_is_computed_afresh(rng, kind, metric):
    X = rng.standard_normal((N, 8))
    rows = standard_rows(X, metric)
    maker = kind(rows, metric, Axes(rows))

    def spoiled(closeness):
        kept = closeness.first.copy()
        for memory in (closeness.first, closeness.second, closeness.scratch):
            memory[:] = np.nan
        return kept

    order = rng.permutation(8)
    assert np.array_equal(maker.visit(order, spoiled), maker.visit(order, spoiled))


@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_pairs_of_rows_without_a_direction_in_a_half_are_marked(rng, kind, directional):
    X, order = rng.standard_normal((6, 8)), np.arange(8)
    X[1, :4] = 0.0 if directional == "cosine" else 0.7
    X[4, 4:] = 0.0 if directional == "cosine" else 0.1 + 0.2
    first, second, defined = computed(kind, X, directional, order)
    i, j = np.triu_indices(6, k=1)
    undirected = np.isin(i, [1, 4]) | np.isin(j, [1, 4])
    assert np.array_equal(defined, ~undirected)
    assert_allclose(first[defined], direct(X[:, :4], directional)[defined], atol=1e-12)
    assert_allclose(second[defined], direct(X[:, 4:], directional)[defined], atol=1e-12)


def test_euclidean_halves_are_always_defined(rng, kind):
    X = rng.standard_normal((6, 8))
    X[1, :4] = 0.0
    assert computed(kind, X, "euclidean", np.arange(8))[2] is None


@pytest.mark.parametrize("scale", [1e-300, 1e-17, 1e300])
def test_euclidean_halves_of_data_of_any_scale_are_in_proportion(rng, kind, scale):
    X, order = rng.standard_normal((N, 8)), rng.permutation(8)
    first, second, _ = computed(kind, X * scale, "euclidean", order)
    assert_allclose(first, direct(X[:, order[:4]], "euclidean"), rtol=1e-9)
    assert_allclose(second, direct(X[:, order[4:]], "euclidean"), rtol=1e-9)


def test_the_choice_between_the_two_depends_on_rows_alone(rng, monkeypatch):
    rows = rng.standard_normal((20, 4))
    monkeypatch.setattr(kernel, "DENSE_ROWS", 20)
    assert isinstance(kernel.halves(rows, "euclidean", Axes(rows)), DenseHalves)
    monkeypatch.setattr(kernel, "DENSE_ROWS", 19)
    assert isinstance(kernel.halves(rows, "euclidean", Axes(rows)), PanelHalves)


def test_both_refuse_in_advance_what_does_not_fit(kind, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    rows = np.ones((500, 4))
    with pytest.raises(ValueError, match=r"the pairs of 500 rows must fit the memory budget .* pass pairs=1_000_000"):
        kind(rows, "euclidean", Axes(rows))
