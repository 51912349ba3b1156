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


@pytest.mark.filterwarnings("ignore:wrong type")
def test_two_groups_that_are_far_from_all_others_keep_their_digits():
    adata, far = cells(0, 1.0), cells(0, 1.0)
    far.obsm["X_pca"][60:] += 2.0**30
    near, found = (bio.e_distances(one, "gene", pairs="all", n_draws=19) for one in (adata, far))
    (value,), (expected,) = (
        [one.value for one in side if "NT" not in (one.first, one.second)] for side in (found, near)
    )
    assert value == pytest.approx(expected, rel=1e-5)


def test_values_are_those_of_pertpy():
    """Values of pertpy 1.0.3 with cell_wise_metric='sqeuclidean', as Peidli et al. define the E-distance."""
    found = {(pair.first, pair.second): pair.e_distance for pair in bio.e_distances(cells(0, 1.0), "gene", pairs="all")}
    expected = {("A", "NT"): 10.28009796, ("A", "B"): 9.11696102, ("B", "NT"): 1.24978589}
    assert found == {pair: pytest.approx(value) for pair, value in expected.items()}


def test_without_an_effect_few_pairs_differ():
    hits = sum(bio.e_distances(cells(seed, 0.0), "gene", n_draws=39).pairs[0].p_value <= 0.05 for seed in range(60))
    assert hits <= 8


def donors(seed, design, n, effect=0.0):
    """Donors differ by one standard deviation of a cell; paired donors have cells of both groups."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(2 * n), 20) if design == "nested" else np.repeat(np.arange(n), 40)
    treated = donor >= n if design == "nested" else np.arange(40 * n) % 40 < 20
    own = rng.standard_normal((2 * n, 5))[donor + (n * treated if design == "paired" else 0)]
    X = rng.standard_normal((40 * n, 5)) + own + effect * treated[:, None]
    obs = pd.DataFrame({"gene": np.where(treated, "A", "NT"), "donor": donor.astype(str)})
    return anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": X})


@pytest.mark.parametrize(("design", "n", "n_draws"), [("nested", 4, 34), ("paired", 6, 31), ("nested", 8, 99)])
def test_units_are_exchanged_as_a_whole(design, n, n_draws):
    """All different exchanges are used if they are few: C(8, 4) / 2 and 2^5, less the observed one."""
    found = bio.e_distances(donors(0, design, n, 3.0), "gene", groups="donor", n_draws=99).pairs[0]
    assert (found.n_draws, found.exchanged) == (n_draws, "units")
    assert found.p_value == pytest.approx(1 / (n_draws + 1))
    runs = [bio.e_distances(donors(seed, design, n), "gene", groups="donor", n_draws=99).pairs[0] for seed in range(40)]
    assert sum(each.p_value <= 0.05 for each in runs) <= 6
    free = [bio.e_distances(donors(seed, design, n), "gene", n_draws=99).pairs[0] for seed in range(10)]
    assert sum(each.p_value <= 0.05 for each in free) >= 8


def test_too_few_units_are_named():
    adata = donors(0, "nested", 3, 9.0)
    assert adata.shesha.e_distances("gene", groups="donor") == bio.e_distances(adata, "gene", groups="donor")
    found = bio.e_distances(adata, "gene", groups="donor")
    assert found.headline.endswith("1 pair cannot be decided: the units allow only 10 different exchanges.")
    assert (
        "no units can be exchanged" in bio.e_distances(donors(0, "nested", 1), "gene", groups="donor").pairs[0].reason
    )
    assert "column 'donor' of obs looks like sampling units" in bio.e_distances(adata, "gene").notes[0]
    plates = donors(0, "crossed", 3)
    plates.obs = plates.obs.rename(columns={"donor": "plate"})
    assert bio.e_distances(plates, "gene").notes[0].endswith("Pass groups='plate'")


def test_all_pairs_need_no_controls():
    adata = cells(0, 1.0)
    adata.obs["gene"] = adata.obs["gene"].replace({"NT": "C"})
    adata.obs["donor"] = np.arange(99) % 3
    with pytest.raises(ValueError, match="control must be a label"):
        bio.e_distances(adata, "gene")
    found = bio.e_distances(adata, "gene", pairs="all", groups="donor", n_draws=9)
    assert [(pair.first, pair.second) for pair in found] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert "controls: none (not needed)" in found.inputs[0]


@pytest.mark.parametrize(
    ("column", "obsm", "doubt"),
    [
        ("leiden_0.5", "X_pca", "are clusters of the same data, they differ by construction"),
        ("gene", "X_umap", "obsm['X_umap'] looks like an embedding for plots"),
        ("gene", "X_draw_graph_fa", "obsm['X_draw_graph_fa'] looks like an embedding for plots"),
        ("gene", "X_pca", ""),
    ],
)
@pytest.mark.parametrize("function", [bio.e_distances, bio.coherence_table])
def test_groups_and_embeddings_that_mislead_are_named(function, column, obsm, doubt):
    adata = cells(0, 1.0)
    adata.obs = adata.obs.rename(columns={"gene": column})
    adata.obsm[obsm] = adata.obsm["X_pca"][:, :2]
    found = function(adata, column, control="NT", obsm=obsm, n_draws=19)
    warnings = [text for text in found.inputs if text.startswith("warning")]
    assert len(warnings) == bool(doubt)
    assert all(doubt in text for text in warnings)
    assert any(doubt in note for note in found.notes) or not doubt


def test_pairs_with_too_few_units_are_undecided_in_table_headline_and_sentence():
    gene = np.repeat(["NT", "A", "B"], 30)
    obs = pd.DataFrame(
        {"gene": gene, "donor": [f"{g}{i % 3}" for i, g in enumerate(gene)]}, index=np.arange(90).astype(str)
    )
    pca = np.random.default_rng(0).standard_normal((90, 4)) + 5 * (gene == "A")[:, None]
    found = bio.e_distances(anndata.AnnData(obs=obs, obsm={"X_pca": pca}), "gene", groups="donor")
    assert [pair.verdict for pair in found] == ["undecided", "undecided"]
    assert "2 pairs cannot be decided: the units allow only 10 different exchanges" in found.headline
    assert found.sentence().startswith(found.headline[:-1])
    cells = bio.e_distances(anndata.AnnData(obs=obs, obsm={"X_pca": pca}), "gene", n_draws=199)
    assert sorted(pair.verdict for pair in cells) == ["above chance", "not above chance"]


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["24h", "10h", "2h", "0h"], ["0h", "2h", "10h", "24h"]),
        (["d_0.5uM", "d_10uM", "d_0.05uM"], ["d_0.05uM", "d_0.5uM", "d_10uM"]),
        (pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True), ["low", "mid", "high"]),
    ],
)
def test_groups_are_in_the_order_of_their_numbers_or_categories(labels, order):
    time = pd.Series(labels).repeat(12)
    adata = anndata.AnnData(obs=pd.DataFrame({"time": time.array}, index=np.arange(len(time)).astype(str)))
    adata.obsm["X_pca"] = np.random.default_rng(0).standard_normal((len(time), 4))
    found = bio.e_distances(adata, "time", pairs="all", n_draws=19)
    assert [*found.to_matrix()] == [*found.to_matrix().index] == order
    assert all(order.index(pair.first) < order.index(pair.second) for pair in found)
    with pytest.raises(ValueError, match=", ".join(order)):
        bio.coherence_table(adata, "time")
