"""Distances of sampled pairs and triples are those of SciPy, whichever way they are computed."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shesha.comparison import sampled_scores as tuple_distances_module
from shesha.comparison.sampled_scores import tuple_distances
from shesha.kernels.distances import METRICS
from shesha.views import UndirectedRowsError
from shesha.views.representation import RowSource

WAYS = {"panels": ("1G", 10**9), "single pairs": ("1G", 0), "pieces": ("1M", 0)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("width", [2, 3])
def test_distances_of_tuples_are_those_of_scipy(monkeypatch, way, metric, width):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 40)) + 3.0
    tuples = np.array([rng.choice(700, width, replace=False) for _ in range(1500)])
    budget, dense = WAYS[way]
    monkeypatch.setenv("SHESHA_MEMORY", budget)
    monkeypatch.setattr(tuple_distances_module, "_DENSE", dense)
    every = cdist(X, X, metric)
    expected = [every[tuples[:, i], tuples[:, j]] for i, j in ((0, 1), (0, 2), (1, 2)) if j < width]
    np.testing.assert_allclose(tuple_distances(RowSource(X), tuples, metric), np.transpose(expected), atol=1e-12)


@pytest.mark.parametrize("budget", ["1G", "1M"])
def test_rows_without_a_direction_are_named(monkeypatch, budget):
    X = np.random.default_rng(0).standard_normal((700, 40))
    X[600] = 0
    monkeypatch.setenv("SHESHA_MEMORY", budget)
    with pytest.raises(UndirectedRowsError, match="600"):
        tuple_distances(RowSource(X), np.array([[1, 600]] * 800), "cosine")
