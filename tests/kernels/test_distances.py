"""Distances are SciPy's, in its order, with their digits kept where a Gram matrix would lose them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from shesha.kernels import distances, native
from shesha.kernels.distances import (
    METRICS,
    PANEL,
    condensed_distances,
    find_undirected_rows,
    pair_distances,
    standard_rows,
)
from shesha.kernels.rounding_and_scaling import length_unit


@pytest.fixture(params=METRICS)
def metric(request):
    return request.param


def found(X, metric, *, squared=False):
    unit = length_unit(X) if metric == "euclidean" else 1.0
    return condensed_distances(standard_rows(X, metric), metric, squared=squared) * unit ** (1 + squared)


@pytest.mark.parametrize("n", [2, 3, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 5])
def test_condensed_is_scipys(rng, metric, n):
    X = rng.standard_normal((n, 7)) + 0.5
    assert_allclose(found(X, metric), pdist(X, metric), rtol=1e-12, atol=1e-14)


def test_squared_euclidean_distances_are_the_squares(rng):
    X = rng.standard_normal((20, 3))
    assert found(X, "euclidean", squared=True) == pytest.approx(pdist(X, "sqeuclidean"), rel=1e-12)


def test_euclidean_distances_far_from_the_origin_keep_their_digits(rng):
    X = 1e8 + rng.standard_normal((PANEL + 9, 5))
    assert_allclose(found(X, "euclidean"), pdist(X), rtol=1e-13)


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-12])
def test_euclidean_distances_of_near_duplicates_keep_their_digits(rng, gap):
    X = np.repeat(rng.standard_normal((PANEL, 6)), 2, axis=0)[rng.permutation(2 * PANEL)]
    X += gap * rng.standard_normal(X.shape)
    # Removing column means costs half a unit in the last place of each coordinate.
    assert_allclose(found(X, "euclidean"), pdist(X), rtol=1e-12, atol=4e-16)


def test_near_duplicates_recomputed_in_small_steps_are_the_same(rng, monkeypatch):
    X = np.repeat(rng.standard_normal((40, 6)), 2, axis=0) + 1e-9 * rng.standard_normal((80, 6))
    whole = found(X, "euclidean")
    monkeypatch.setattr(distances, "_PAIRS_AT_ONCE", 7)
    assert np.array_equal(found(X, "euclidean"), whole)


@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_directional_distances_never_leave_zero_to_two(rng, directional):
    row = rng.standard_normal((50, 11))
    X = np.concatenate([row, 3 * row, -row, -0.1 * row])
    values = found(X, directional)
    assert values.min() >= 0.0
    assert values.max() <= 2.0
    i, j = np.triu_indices(len(X), k=1)
    pairs = pair_distances(standard_rows(X, directional), i, j, directional)
    assert pairs.min() >= 0.0
    assert pairs.max() <= 2.0
    assert np.isclose(values, 2.0, atol=1e-15).sum() >= 4 * 50


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_euclidean_distances_of_any_scale_are_in_proportion(rng, scale):
    X = rng.standard_normal((40, 8))
    assert_allclose(found(X * scale, "euclidean") / scale, pdist(X), rtol=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 0.3, 1.0, 1.7e308])
def test_the_unit_of_length_is_a_power_of_two_near_the_largest_entry(scale):
    unit = length_unit(np.array([[0.0, -scale], [scale / 3, 0.0]]))
    assert np.frexp(unit)[0] == 0.5
    assert 1 <= scale / unit < 2 or scale < 1e-300 or scale > 1e300
    assert length_unit(np.zeros((2, 2))) == 1.0


@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_directional_distances_ignore_the_size_of_rows(rng, directional):
    X = rng.standard_normal((40, 8)) + 0.3
    scales = np.geomspace(1e-300, 1e300, 40)[:, None]
    assert found(X * scales, directional) == pytest.approx(found(X, directional), abs=1e-14)


def test_pairs_are_entries_of_the_condensed_form(rng, metric, monkeypatch):
    X = rng.standard_normal((30, 4))
    i, j = np.triu_indices(30, k=1)
    monkeypatch.setattr(distances, "_PAIRS_AT_ONCE", 50)
    for squared in (False, True):
        rows = standard_rows(X, metric)
        pairs, every = (
            f(rows, *at, metric, squared=squared) for f, at in ((pair_distances, (i, j)), (condensed_distances, ()))
        )
        assert_allclose(pairs, every, rtol=1e-12, atol=1e-14)


def test_condensed_is_the_same_for_one_thread_and_two(rng, metric, with_threads):
    rows = standard_rows(rng.standard_normal((3 * PANEL, 20)), metric)
    one, two = (with_threads(n, lambda: condensed_distances(rows, metric)) for n in (1, 2))
    assert np.array_equal(one, two)


def test_rows_without_a_direction_are_found_whatever_their_size():
    X = np.array([[0, 0, 0], [1e-300, 0, 0], [0.1, 0.1, 0.1], [0.3, 0.1 + 0.2, 0.3], [1e9, 1e9, 1e9 + 1]])
    assert find_undirected_rows(X, "cosine").tolist() == [0]
    assert find_undirected_rows(X, "correlation").tolist() == [0, 2, 3]
    assert find_undirected_rows(X, "euclidean").tolist() == []


def test_rows_without_a_direction_become_zero():
    X = np.array([[0.0, 0, 0], [0.3, 0.1 + 0.2, 0.3], [1, 2, 3]])
    assert standard_rows(X, "correlation").any(axis=1).tolist() == [False, False, True]
    assert standard_rows(X, "cosine").any(axis=1).tolist() == [False, True, True]


def test_one_far_row_does_not_tie_the_distances_of_the_others(rng):
    X = rng.standard_normal((50, 4))
    X[0] = 1e9
    rows = standard_rows(X, "euclidean")
    typical = np.median(condensed_distances(rows[1:], "euclidean", squared=True))
    assert distances.distance_rounding(rows, "euclidean") < 1e-3 * typical


def test_condensed_refuses_in_advance_what_does_not_fit(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    with pytest.raises(ValueError, match=r"the 499,500 distances of 1,000 rows must fit the memory budget of 1 MiB"):
        condensed_distances(np.ones((1000, 1)), "euclidean")


@pytest.mark.skipif(not native.is_available(), reason="compiled loops were not built, or are switched off")
@pytest.mark.parametrize("kind", ["plain", "near duplicates"])
@pytest.mark.parametrize("squared", [True, False])
def test_compiled_distances_are_those_of_numpy(rng, monkeypatch, metric, kind, squared):
    X = rng.standard_normal((PANEL + 40, 9))
    if kind == "near duplicates":
        X[7::9] = X[3] + 1e-7 * rng.standard_normal(X[7::9].shape)
    rows = standard_rows(X, metric)
    compiled = condensed_distances(rows, metric, squared=squared)
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    assert np.array_equal(compiled, condensed_distances(rows, metric, squared=squared))
