"""E-distances follow their definition as mean distances, and their p-values keep the level."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from shesha import bio


def cells(seed, effect):
    rng = np.random.default_rng(seed)
    gene = np.repeat(["NT", "A", "B", "rare"], [60, 20, 15, 4])
    obs = pd.DataFrame({"gene": gene}, index=np.arange(99).astype(str))
    return anndata.AnnData(obs=obs, obsm={"X_pca": rng.standard_normal((99, 5)) + effect * (gene == "A")[:, None]})


def test_they_are_differences_of_mean_squared_distances():
    adata = cells(0, 1.0)
    X, gene = adata.obsm["X_pca"], adata.obs["gene"].to_numpy()
    found = bio.e_distances(adata, "gene", pairs="all", n_draws=199)
    assert found.excluded == {"rare": "4 cells, fewer than 10"}
    for pair in found:
        x, y = X[gene == pair.first], X[gene == pair.second]
        across, first, second = (cdist(a, b, "sqeuclidean").mean() for a, b in ((x, y), (x, x), (y, y)))
        assert pair.e_distance == pytest.approx(2 * across - first - second)
        n, m = len(x), len(y)
        assert pair.value == pytest.approx(2 * across - first * n / (n - 1) - second * m / (m - 1))
    assert [(pair.first, pair.second) for pair in found.significant] in (
        [("A", "NT"), ("A", "B")],
        [("A", "B"), ("A", "NT")],
    )
    matrix = found.to_matrix()
    assert matrix.loc["NT", "A"] == matrix.loc["A", "NT"] > 0 == matrix.loc["A", "A"]


def test_values_are_those_of_pertpy():
    """Values of pertpy 1.0.3 with cell_wise_metric='sqeuclidean', as Peidli et al. define the E-distance."""
    found = {(pair.first, pair.second): pair.e_distance for pair in bio.e_distances(cells(0, 1.0), "gene", pairs="all")}
    expected = {("A", "NT"): 10.28009796, ("A", "B"): 9.11696102, ("B", "NT"): 1.24978589}
    assert found == {pair: pytest.approx(value) for pair, value in expected.items()}


def test_without_an_effect_few_pairs_differ():
    hits = sum(bio.e_distances(cells(seed, 0.0), "gene", n_draws=39).pairs[0].p_value <= 0.05 for seed in range(60))
    assert hits <= 8
