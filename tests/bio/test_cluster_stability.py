"""Clusters of groups are stable, those of noise and parts of a group are not; the indices are scikit-learn's."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.cluster.vq import kmeans2
from sklearn.metrics import adjusted_rand_score, jaccard_score

from shesha import bio
from shesha.bio.cluster_stability import _cluster_labels, _clustered_matrix, _compare, _interval, _recorded_resolution
from shesha.support import provenance


def k_means(k):
    return lambda matrix: kmeans2(matrix, k, minit="++", seed=0)[1]


def cells(X, k, **columns):
    obs = pd.DataFrame({"group": k_means(k)(X).astype(str), **columns}, index=np.arange(len(X)).astype(str))
    return anndata.AnnData(obs=obs, obsm={"X_pca": X})


def groups(seed, n_groups, distance=7.0, n=120, d=5):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X + distance * np.eye(max(n_groups, 1), d)[np.arange(n) % max(n_groups, 1)] * (n_groups > 0)


@pytest.mark.parametrize(("first", "second"), [(3, 4), (1, 3), (5, 1), (2, 2)])
def test_the_indices_are_those_of_scikit_learn(first, second):
    rng = np.random.default_rng(first)
    codes, new = rng.integers(first, size=60), rng.integers(second, size=60)
    best, rand = _compare(codes, new, first + 1)
    assert rand == pytest.approx(adjusted_rand_score(codes, new))
    assert np.isnan(best[first])
    for code in range(first):
        assert best[code] == pytest.approx(max(jaccard_score(codes == code, new == other) for other in range(second)))


@pytest.mark.parametrize(
    ("n_groups", "k", "n_stable"), [(3, 3, 3), (0, 4, 0), (3, 9, 0)], ids=["groups", "noise", "parts of groups"]
)
def test_groups_are_stable_and_noise_is_not(n_groups, k, n_stable):
    found = bio.cluster_stability(cells(groups(1, n_groups), k), "group", cluster=k_means(k), n_draws=19)
    assert len(found) == k
    assert len(found.significant) == n_stable
    assert found.agreement.significant == bool(n_stable)
    assert ("Do not interpret them" in str(found)) == (not n_stable)
    assert found.to_frame()["n_cells"].sum() == 120


def test_one_small_group_is_stable_among_parts_of_a_large_one():
    X = groups(2, 0, n=150)
    X[:20, 0] += 12
    single = bio.cluster_stability(cells(X, 4), "group", cluster=k_means(4), n_draws=39, seed=1)
    (small,) = single.significant
    assert (small.n_cells, small.value) == (20, 1.0)
    assert small.low <= small.value <= small.high
    assert small.p_value == small.corrected_p_value == 1 / 40


def separate_means(X):
    """Return three clusters if these are far apart, and otherwise one, as Leiden does at a low resolution."""
    labels = k_means(3)(X)
    inside = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    return labels * (inside < 0.25 * ((X - X.mean(axis=0)) ** 2).sum())


def test_groups_are_stable_if_data_without_clusters_are_not_divided():
    """Draws that are one cluster have found none; as clusters, they would be perfectly stable."""
    X = groups(0, 3, distance=12.0)
    found = bio.cluster_stability(cells(X, 3), "group", cluster=separate_means, n_draws=19)
    assert [each.value for each in found.significant] == [1.0, 1.0, 1.0]
    assert found.agreement.significant
    assert found.numbers[0].chance == 0


def test_the_interval_covers_the_mean_of_clusters_that_are_seldom_lost():
    """Nine of ten subsamples find the cluster again; the interval of ten equal values is not a single point."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(200):
        ends = _interval(np.where(rng.random(10) < 0.9, 1.0, 0.4))
        inside += ends["low"] <= 0.94 <= ends["high"]
    assert inside >= 190
    ends = _interval(np.ones(10))
    assert (ends["low"], ends["high"]) == (pytest.approx(0.025**0.1, abs=0.02), pytest.approx(1))


def test_noise_is_seldom_stable():
    hits = 0
    for seed in range(25):
        adata = cells(groups(seed, 0, n=60), 3)
        few = {"n_draws": 19, "n_subsamples": 2}
        hits += bool(bio.cluster_stability(adata, "group", cluster=k_means(3), seed=seed, **few).significant)
    assert hits <= 4


def test_what_is_left_out_is_counted():
    adata = cells(groups(3, 2), 2)
    adata.obs.loc[adata.obs_names[:20], "group"] = None
    found = bio.cluster_stability(adata, "group", cluster=k_means(2), n_draws=19, max_cells=60)
    assert found.n_cells == 60
    assert found.inputs == (
        "clusters of obsm['X_pca']",
        "20 of 120 cells without a cluster left out",
        "60 of 100 cells, chosen at random",
    )
    assert found == adata.shesha.cluster_stability("group", cluster=k_means(2), n_draws=19, max_cells=60)


def test_leiden_is_that_of_scanpy():
    scanpy = pytest.importorskip("scanpy")
    pytest.importorskip("igraph")
    adata = cells(groups(0, 3, n=90), 3)
    scanpy.pp.neighbors(adata, n_neighbors=10, use_rep="X_pca")
    scanpy.tl.leiden(adata, resolution=0.3, flavor="igraph", n_iterations=2, directed=False)
    found = bio.cluster_stability(adata, "leiden", n_draws=1, n_subsamples=2, alpha=0.5)
    assert found.clustering == "Leiden (resolution 0.3, 10 neighbours)"
    assert [(each.n_cells, each.value) for each in found] == [(30, 1.0)] * 3


@pytest.mark.parametrize(
    ("params", "source"),
    [
        ({"use_rep": "X_harmony"}, "obsm['X_harmony']"),
        ({"n_pcs": 1}, "the first 1 columns of obsm['X_pca']"),
        ({"n_pcs": 2}, "the first 2 columns of obsm['X_pca']"),
        ({"n_pcs": 0}, "X"),
        ({}, "obsm['X_pca']"),
    ],
)
def test_leiden_clusters_the_matrix_in_which_neighbours_were_found(params, source):
    pca = groups(0, 3, n=90)
    adata = anndata.AnnData(np.arange(450.0).reshape(90, 5) / 7, obsm={"X_pca": pca, "X_harmony": pca + 1})
    adata.uns["neighbors"] = {"params": params}
    with provenance.collect_statements() as said:
        X = _clustered_matrix(adata, "recorded", by_graph=True)
    assert f"clusters of {source}" in said
    expected = {"X": adata.X, "obsm['X_harmony']": adata.obsm["X_harmony"]}.get(source, adata.obsm["X_pca"])
    np.testing.assert_array_equal(X, expected[:, : X.shape[1]])


def test_cells_are_clustered_only_if_no_column_has_their_clusters():
    adata = cells(groups(0, 3, n=90), 3)
    with provenance.collect_statements() as said:
        made = _cluster_labels(adata, "leiden", lambda X: np.arange(len(X)) % 2, np.zeros((90, 2)))
    assert made.tolist() == ["0", "1"] * 45
    assert any("clustered by Leiden, because there is no column 'leiden'" in text for text in said)
    adata.obs["leiden"] = adata.obs["other"] = ["a", "b", "c"] * 30
    for name in ("leiden", "other"):
        assert _cluster_labels(adata, name, None, np.zeros((90, 2))).tolist() == ["a", "b", "c"] * 30


def test_without_a_recorded_resolution_the_method_is_not_guessed():
    adata = cells(groups(0, 3, n=90), 3, louvain="0")
    with pytest.raises(ValueError, match="cluster must be the function that made the clusters, or a resolution"):
        bio.cluster_stability(adata, "group")
    with provenance.collect_statements() as said:
        assert _recorded_resolution(adata, "louvain") == 1
    assert list(said) == ["warning: adata.uns records no resolution for 'louvain', so cells are clustered at 1"]


@pytest.mark.parametrize(("k", "named"), [(3, False), (6, True), (1, True)])
def test_a_method_that_makes_other_clusters_is_named(k, named):
    rng = np.random.default_rng(0)
    pca = rng.standard_normal((90, 3)) + 9 * np.eye(3)[np.arange(90) % 3]
    obs = pd.DataFrame({"kind": [f"type {i % 3}" for i in range(90)]}, index=np.arange(90).astype(str))

    def method(matrix):
        return matrix.argmax(axis=1) if k == 3 else (matrix[:, 0] * 1e3).astype(int) % k

    found = bio.cluster_stability(anndata.AnnData(obs=obs, obsm={"X_pca": pca}), "kind", cluster=method, n_subsamples=3)
    assert any("so the test says nothing about 'kind'" in text for text in found.inputs) == named


@pytest.mark.parametrize(
    ("column", "batches", "named"),
    [
        ("batch", ["run1", "run2", "run3"], True),
        ("donor_id", ["d1", "d2", "d1"], True),
        ("cell_type", ["T", "B", "NK"], False),
        ("batch", ["run1", "run2"], False),
    ],
)
def test_clusters_that_are_batches_are_named(column, batches, named):
    X = groups(1, 3)
    data = cells(X, 3, **{column: np.resize(batches, len(X))})
    found = bio.cluster_stability(data, "group", cluster=k_means(3), n_draws=19, n_subsamples=2)
    expected = f"warning: the clusters coincide with the column {column!r} of obs (association 1.00)"
    assert any(text.startswith(expected) for text in found.inputs) == named
