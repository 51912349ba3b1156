"""A column that one property of the rows determines, such as a component of depth."""

import numpy as np
import pytest

from shesha import compare
from shesha.doubting import doubts
from shesha.inputs.column_words import DEPTH, LENGTH


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
