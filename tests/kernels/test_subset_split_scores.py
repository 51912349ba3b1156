"""Scores of many subsets at once are those of each subset alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shesha.kernels import feature_halves, feature_halves as subset_split_scores, native
from shesha.kernels.distances import METRICS, distance_rounding, standard_rows
from shesha.kernels.feature_halves import Axes

N, D = 60, 14


@pytest.fixture(params=["compiled", "NumPy"])
def path(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setenv("SHESHA_NATIVE", "0")
    elif not native.is_available():
        pytest.skip("compiled loops were not built, or are switched off")


def correlations(rows, metric, draws):
    """Of one set of rows, draw by draw."""
    both, level = feature_halves.halves(rows, metric, Axes(rows)), distance_rounding(rows, metric)
    return [both.visit(draw, lambda found: feature_halves.correlation(found, level, metric)) for draw in draws]


def both_ways(X, metric, rng):
    """Of all subsets at once, and of one after another."""
    draws = [rng.permutation(D) for _ in range(4)]
    chosen = [np.sort(rng.choice(len(X), size, replace=False)) for size in (4, 20, 48, len(X))]
    rows = standard_rows(X, metric)
    found = subset_split_scores.scores(rows, metric, Axes(rows), draws, chosen)
    alone = []
    for subset in chosen:
        own = standard_rows(X[subset], metric)
        alone.append(correlations(own, metric, draws))
    return found, np.transpose(alone)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dense", [True, False])
def test_scores_of_subsets_are_those_of_their_rows(path, rng, monkeypatch, metric, dense):
    monkeypatch.setattr(feature_halves, "DENSE_ROWS", N if dense else N - 1)
    found, alone = both_ways(rng.standard_normal((N, D)) + 0.3, metric, rng)
    assert found.shape == (4, 4)
    assert_allclose(found, alone, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_ties_count_as_they_do_alone(path, rng, metric):
    X = rng.integers(0, 2, (N, D)) * 1.0
    X[:, ::3] += 1
    X[:, 1] += np.arange(N) % 2
    found, alone = both_ways(X, metric, rng)
    assert_allclose(found, alone, atol=1e-12)


def test_rows_without_a_direction_are_told(path, rng):
    X = rng.standard_normal((N, D))
    X[3, :7] = 0
    with pytest.raises(feature_halves.UndirectedHalfError) as told:
        subset_split_scores.scores(X, "cosine", Axes(X), [np.arange(D)], [np.arange(5, 20)])
    assert told.value.rows.tolist() == [3]


def test_no_number_depends_on_threads(path, rng, with_threads):
    rows = standard_rows(rng.standard_normal((N, D)), "cosine")
    draws, chosen = [rng.permutation(D) for _ in range(5)], [np.arange(9, 40), np.arange(50)]
    one, two = (
        with_threads(n, lambda: subset_split_scores.scores(rows, "cosine", Axes(rows), draws, chosen)) for n in (1, 2)
    )
    assert np.array_equal(one, two)
