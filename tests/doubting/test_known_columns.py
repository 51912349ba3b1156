"""A column that one property of the rows determines, such as a component of depth."""

import numpy as np
import pandas as pd
import pytest

from shesha import compare
from shesha.doubting import doubts, row_properties
from shesha.inputs.column_words import DEPTH, LENGTH, OBJECT_COUNT
from shesha.io import open_file
from shesha.io.read import ReadArrays, read


@pytest.fixture
def components():
    """Return 20 components of 200 cells, of which the fifth is the logarithm of depth, and the depth."""
    rng = np.random.default_rng(0)
    depth = rng.lognormal(8, 1, 200)
    X = rng.standard_normal((200, 20))
    X[:, 4] = -3 * np.log(depth) + 0.1 * rng.standard_normal(200)
    return X, depth


@pytest.mark.parametrize(
    ("change", "known", "named"),
    [
        (lambda X: X, lambda depth: depth, "column 4 (component 5) is mostly known (rank correlation -1.00)"),
        (lambda X: X / X.std(axis=0), np.sqrt, "carries 5 % of the variance"),
        (lambda X: X, lambda depth: np.digitize(depth, np.quantile(depth, [0.3, 0.6])).astype(str), "(association 0.9"),
        (lambda X: X, lambda depth: np.random.default_rng(1).permutation(depth), ""),
        (lambda X: X, np.ones_like, ""),
        (lambda X: np.delete(X, 4, axis=1), lambda depth: depth, ""),
        (lambda X: X[:, 4:5] / 50 + np.delete(X, 4, axis=1), lambda depth: depth, ""),
        (lambda X: np.delete(X, 4, axis=1) + X[:, 4:5] / 3, lambda depth: depth, "the first principal component is"),
    ],
    ids=["depth", "standardised", "labels", "shuffled", "constant", "left out", "a small part of all", "a part of all"],
)
def test_a_column_that_a_covariate_determines_is_named(components, change, known, named):
    X, depth = components
    found = [doubt.text for doubt in doubts(change(X), covariates={"known": known(depth)}) if doubt.name == "covariate"]
    assert bool(found) == (named != "")
    assert named in "".join(found)


@pytest.mark.parametrize(("column", "told"), [("nCount_peaks", True), ("log1p_total_counts", True), ("weight", False)])
def test_compare_names_a_component_of_depth(components, column, told):
    anndata = pytest.importorskip("anndata")
    X, depth = components
    cells = anndata.AnnData(X)
    cells.obs[column] = depth
    other = np.random.default_rng(2).standard_normal(X.shape)
    other[:, 4] = X[:, 4]
    text = compare(cells, other, "CKA").full_text()
    assert (f"is mostly {column}" in " ".join(text.split())) == told


@pytest.mark.parametrize(
    "name",
    [
        *("nCount_peaks", "nFeature_ATAC", "nCount_Spatial", "nCount_Gene.Activity", "nFrags", "unique_nFrags", "nUMI"),
        *("total_counts", "log1p_total_counts", "log10_nFrags", "n_genes_by_counts", "library_size", "seq_depth"),
        *("peak_region_fragments", "passed_filters"),
    ],
)
def test_usual_names_of_depth(name):
    assert DEPTH.fit(name)
    assert not any(map(DEPTH.fit, ("counts", "TSS.enrichment", "features", "size", "cell_type")))


@pytest.mark.parametrize(
    "name", ["seq_len", "length", "n_tokens", "token_count", "text_length", "num_atoms", "duration"]
)
def test_usual_names_of_lengths(name):
    assert LENGTH.fit(name)
    assert not any(map(LENGTH.fit, ("wavelength", "n_clusters", "count", "len_id", "tokens")))


@pytest.mark.parametrize(
    "name",
    [
        *("Metadata_Object_Count", "Cells_Number_Object", "Metadata_Count_Cells", "Count_Nuclei", "Image_Count_Cells"),
        *("nuclei_count", "n_cells", "Metadata_number_of_singlecells"),
    ],
)
def test_counts_of_cells_are_known_columns_of_profiles(tmp_path, rng, name):
    profiles = pd.DataFrame(rng.standard_normal((20, 8)), columns=[f"Cells_AreaShape_{i}" for i in range(8)])
    profiles.assign(**{name: rng.poisson(99, 20)}).to_csv(tmp_path / "wells.csv", index=False)
    arrays = read(tmp_path / "wells.csv")
    assert [array.shape for array in arrays.values()] == [(20, 8)]
    opened = ReadArrays(arrays, None, {tmp_path / "wells.csv": open_file(tmp_path / "wells.csv")})
    assert list(row_properties(opened)) == [name]
    assert not any(map(OBJECT_COUNT.fit, ("counts", "Metadata_Site_Count", "Cells_AreaShape_Area", "cell_id", "cells")))
