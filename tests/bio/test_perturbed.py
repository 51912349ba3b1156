"""Coherence of AnnData: however it is stored, in scanpy's manner, with batches, donors and cell types."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from shesha import CalibrationWarning, bio
from shesha.coherence import coherence_by_group

pytestmark = pytest.mark.filterwarnings("ignore:the column .(batch|donor)")
"""The cells have a batch and a donor, which most of these tests are not about."""

SIZES = {"NT": 120, "STAT1": 30, "ATF2": 30, "rare": 4}


@pytest.fixture
def adata():
    rng = np.random.default_rng(0)
    gene = np.repeat(list(SIZES), list(SIZES.values()))[rng.permutation(184)]
    counts = rng.poisson(1.0 + 0.8 * (gene == "STAT1")[:, None] * (np.arange(30) < 9), (184, 30)).astype(float)
    values = np.log1p(counts)
    pca = (values - values.mean(axis=0)) @ np.linalg.svd(values, full_matrices=False)[2][:10].T
    obs = pd.DataFrame({"gene": pd.Categorical(gene)}, index=[f"c{i}" for i in range(184)])
    obs["batch"] = rng.choice(["b1", "b2"], 184)
    obs["donor"] = rng.choice([f"d{i}" for i in range(6)], 184)
    obs["type"] = rng.choice(["T", "B"], 184)
    made = anndata.AnnData(sparse.csr_matrix(values), obs=obs, obsm={"X_pca": pca})
    made.layers["counts"] = sparse.csr_matrix(counts)
    return made


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-9, check_dtype=False)


def test_it_is_the_kernel_on_the_embedding(adata):
    found = bio.coherence_table(adata, "gene", control="NT", n_draws=49, seed=3)
    arrays = coherence_by_group(adata.obsm["X_pca"], adata.obs["gene"].astype(str), "NT", n_draws=49, seed=3)
    assert found.groups == arrays.groups
    assert found.links == arrays.links
    assert found.excluded == {"rare": "4 rows, fewer than 10"}
    np.testing.assert_array_equal(found.cosines, arrays.cosines)
    same(bio.coherence_test(adata, "gene", control="NT", n_draws=49, seed=3), found.to_frame())
    assert found.notes[-1] == "shifts are computed in obsm['X_pca']; controls: 'NT' (named)"


@pytest.mark.parametrize("kind", ["csr", "csc", "dense", "layer", "backed", "lazy", "lazy layer", "float32"])
def test_however_the_matrix_is_stored_the_numbers_are_the_same(adata, kind, tmp_path):
    dense = adata.X.toarray()
    expected = coherence_by_group(dense, adata.obs["gene"].astype(str), "NT", n_draws=19).to_frame()
    options = {"obsm": None, "n_draws": 19}
    if kind == "csc":
        adata.X = sparse.csc_matrix(adata.X)
    elif kind == "dense":
        adata.X = dense
    elif kind == "float32":
        adata.X = adata.X.astype(np.float32)
        expected = coherence_by_group(adata.X, adata.obs["gene"].astype(str), "NT", n_draws=19).to_frame()
    elif "layer" in kind:
        adata.layers["lognorm"], adata.X, options = adata.X, None, {"layer": "lognorm", "n_draws": 19}
    if "lazy" in kind or kind == "backed":
        path = tmp_path / "cells.h5ad"
        adata.write_h5ad(path)
        adata = anndata.read_h5ad(path, backed="r") if kind == "backed" else _lazily(path)
    found = bio.coherence_test(adata, "gene", **options)
    same(found, expected)


def _lazily(path):
    with warnings.catch_warnings():
        # anndata says that the reader is experimental.
        warnings.simplefilter("ignore")
        return anndata.experimental.read_lazy(path)


def test_lazily_read_embeddings_and_labels(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    expected = bio.coherence_test(adata, "gene", blocks="batch", n_draws=19)
    same(bio.coherence_test(_lazily(tmp_path / "cells.h5ad"), "gene", blocks="batch", n_draws=19), expected)


def test_scanpys_manner(adata, tmp_path):
    before = adata.copy()
    assert bio.coherence(adata, "gene", n_draws=19, groups="donor") is None
    kept = adata.uns["coherence"]
    same(kept["table"], bio.coherence_test(before, "gene", n_draws=19, groups="donor"))
    assert kept["params"]["control"].tolist() == ["NT"]
    assert {
        name: kept["params"][name] for name in ("groupby", "groups", "obsm", "method", "seed", "control_found")
    } == {
        "groupby": "gene",
        "groups": "donor",
        "obsm": "X_pca",
        "method": "standard",
        "seed": 0,
        "control_found": "exact",
    }
    assert kept["excluded"]["reason"].to_dict() == {"rare": "4 rows, fewer than 10"}
    cosines = adata.obs["coherence_cosine"]
    assert cosines[adata.obs["gene"] == "STAT1"].mean() == pytest.approx(kept["table"].coherence["STAT1"])
    assert cosines[adata.obs["gene"].isin(["NT", "rare"])].isna().all()
    # What is left in AnnData can be written and read again.
    adata.write_h5ad(tmp_path / "out.h5ad")
    again = anndata.read_h5ad(tmp_path / "out.h5ad")
    read, written = (one.uns["coherence"]["table"].rename_axis(None) for one in (again, adata))
    same(read, written)


def test_a_copy_leaves_the_original_alone(adata):
    changed = bio.coherence(adata, "gene", key_added="here", copy=True, n_draws=0)
    assert "here" in changed.uns
    assert "here_cosine" in changed.obs
    assert not adata.uns
    assert "here_cosine" not in adata.obs


def test_backed_data_get_their_results_in_memory(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match="copy must be False for backed AnnData, got True"):
        bio.coherence(backed, "gene", copy=True)
    bio.coherence(backed, "gene", n_draws=0)
    assert "table" in backed.uns["coherence"]


@pytest.mark.skipif(not hasattr(anndata, "register_anndata_namespace"), reason="anndata 0.12 brings namespaces")
def test_the_namespace_of_anndata(adata):
    same(adata.shesha.coherence_test("gene", n_draws=19), bio.coherence_test(adata, "gene", n_draws=19))
    assert adata.shesha.coherence_table("gene", n_draws=19) == bio.coherence_table(adata, "gene", n_draws=19)
    assert adata.shesha.coherence("gene", n_draws=0) is None
    adata.obsm["X_new"] = adata.obsm["X_pca"][:, ::-1].copy()
    options = {"measures": "CKA", "n_permutations": 19}
    expected = bio.integration_test(adata, "X_pca", "X_new", "gene", **options)
    assert adata.shesha.integration_test("X_pca", "X_new", "gene", **options).corrected == expected.corrected
    found = adata.shesha.integration_table("X_pca", ["X_new"], "gene", **options)
    assert [one.corrected for one in found] == [expected.corrected]
    assert "coherence" in adata.uns


@pytest.mark.filterwarnings("ignore:.* left out$")
def test_cells_without_a_label_take_no_part(adata):
    some = np.arange(0, 184, 7)
    adata.obs["gene"] = adata.obs["gene"].cat.add_categories("unused")
    adata.obs.iloc[some, adata.obs.columns.get_loc("gene")] = np.nan
    kept = adata[adata.obs["gene"].notna()].copy()
    found = bio.coherence_table(adata, "gene", n_draws=19)
    assert found.groups == bio.coherence_table(kept, "gene", n_draws=19).groups
    assert found.notes[-1] == f"{len(some)} cells with a missing label are left out"
    assert np.isnan(found.cosines[some]).all()
    assert "unused" not in found.excluded
    same(
        bio.coherence_test(adata, "gene", obsm=None, n_draws=19),
        bio.coherence_test(kept, "gene", obsm=None, n_draws=19),
    )
    adata.obs["batch"] = pd.Series([None, *adata.obs["batch"][1:]], index=adata.obs_names, dtype=object)
    assert bio.coherence_table(adata, "gene", blocks="batch", n_draws=0).notes[-1].startswith(f"{len(some)} cells")


def test_gaps_in_the_labels_are_left_as_they_are(adata):
    genes = adata.obs["gene"].astype(object)
    genes.iloc[3] = np.nan
    adata.obs["gene"] = genes
    found = bio.coherence_table(adata, "gene", n_draws=0)
    assert found.notes[-1] == "1 cell with a missing label is left out"
    assert isinstance(adata.obs["gene"].iloc[3], float)


def test_batches_and_donors_are_columns_or_labels(adata):
    genes = adata.obs["gene"].astype(str).to_numpy()
    found = bio.coherence_table(adata, "gene", blocks="batch", groups=adata.obs["donor"], n_draws=19)
    expected = coherence_by_group(
        adata.obsm["X_pca"], genes, "NT", blocks=adata.obs["batch"], groups=adata.obs["donor"], n_draws=19
    )
    assert found.groups == expected.groups


def test_each_cell_type_has_lines_and_controls_of_its_own(adata):
    found = bio.coherence_test(adata, "gene", per="type", n_draws=19)
    assert sorted(found.index) == ["ATF2 | B", "ATF2 | T", "STAT1 | B", "STAT1 | T"]
    for kind in ("B", "T"):
        alone = bio.coherence_test(adata[adata.obs["type"] == kind].copy(), "gene", n_draws=19)
        names = ["coherence", "low", "value", "magnitude"]
        assert found.loc[f"STAT1 | {kind}", names].tolist() == pytest.approx(alone.loc["STAT1", names].tolist())


def test_guides_of_a_set_are_controls_together(adata):
    guides = adata.obs["gene"].astype(str).to_numpy().copy()
    controls = np.flatnonzero(guides == "NT")
    guides[controls] = np.where(np.arange(len(controls)) % 2, "NTg1", "NTg2")
    adata.obs["guide"] = guides
    expected = bio.coherence_table(adata, "gene", n_draws=19)
    with pytest.warns(bio.GuessedControlsWarning, match="'NTg2', 'NTg1'|'NTg1', 'NTg2'"):
        found = bio.coherence_table(adata, "guide", n_draws=19)
    assert found.groups == expected.groups
    assert bio.coherence_table(adata, "guide", control=["NTg1", "NTg2"], n_draws=19).groups == expected.groups


def test_counts_are_warned_about(adata):
    with pytest.warns(
        CalibrationWarning, match=r"layers\['counts'\] contains raw counts, so sequencing depth dominates the shifts"
    ):
        bio.coherence_table(adata, "gene", layer="counts", n_draws=0)


@pytest.mark.parametrize("scale", [1e100, 1e160, 1e300])
@pytest.mark.parametrize(
    "options", [{}, {"metric": "euclidean"}, {"method": "whitened"}, {"method": "knn"}], ids=lambda one: str(one)
)
def test_coherence_and_effect_size_of_huge_numbers(scale, options):
    rng = np.random.default_rng(0)
    controls, cells = rng.standard_normal((2, 60, 10)) + np.array([0, 1])[:, None, None]
    for of, chosen in ((bio.perturbation_coherence, options), (bio.perturbation_effect_size, {"metric": "cohen"})):
        # A ridge of 1e-6 and a floor of 1e-12 are of no account beside huge numbers.
        plain, huge = of(controls, cells, **chosen), of(controls * scale, cells * scale, **chosen)
        assert huge == pytest.approx(plain, rel=1e-6)
    length = bio.perturbation_effect_size(controls * scale, cells * scale)
    assert length / scale == pytest.approx(bio.perturbation_effect_size(controls, cells), rel=1e-12)


def test_numbers_up_to_the_largest_of_all():
    rng = np.random.default_rng(0)
    controls, cells = rng.uniform(-1, 1, (30, 4)), rng.uniform(0, 1, (30, 4))
    controls[0, 0], largest = 1.0, np.finfo(np.float64).max
    for method in ("standard", "knn"):
        found = bio.perturbation_coherence(controls * largest, cells * largest, method=method)
        assert found == pytest.approx(bio.perturbation_coherence(controls, cells, method=method), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-14, 1e-9, 1e9])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_coherence_has_no_smallest_shift(rng, scale, metric):
    controls, cells = rng.standard_normal((30, 4)), rng.standard_normal((20, 4)) + 1
    expected = bio.perturbation_coherence(controls, cells, metric=metric)
    found = bio.perturbation_coherence(controls * scale, cells * scale, metric=metric)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["linear", "rank"])
@pytest.mark.parametrize("scale", [1e-14, 1e-9, 1e9])
def test_discordance_has_no_smallest_spread(rng, method, scale):
    table = pd.DataFrame(rng.random((20, 2)), columns=["Sp", "Mp"])
    expected = bio.discordance(table, method=method)
    pd.testing.assert_series_equal(bio.discordance(table * scale, method=method), expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_coherence_on_a_line_has_no_discordance(rng, scale):
    magnitude = rng.random(20)
    table = pd.DataFrame({"Mp": magnitude, "Sp": scale * (0.1 + 0.3 * magnitude)})
    assert not bio.discordance(table).any()
