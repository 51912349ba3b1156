"""A column that one property of the rows determines, such as a component of depth."""

import warnings

import numpy as np
import pandas as pd
import pytest

from shesha import audit, compare
from shesha.comparison import compare_within
from shesha.doubting import (
    doubts,
    other_columns,
    row_properties,
    state_columns_of_classes,
    state_known_columns,
    state_main_column,
    warn_of_shuffled_rows,
)
from shesha.inputs.column_words import DEPTH, LENGTH, OBJECT_COUNT
from shesha.io import open_file
from shesha.io.read import ReadArrays, read
from shesha.support.provenance import collect_statements
from shesha.support.warnings import CalibrationWarning


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


@pytest.mark.parametrize(
    ("column", "is_warned"), [("nCount_peaks", True), ("log1p_total_counts", True), ("weight", False)]
)
def test_compare_names_a_component_of_depth(components, column, is_warned):
    anndata = pytest.importorskip("anndata")
    X, depth = components
    cells = anndata.AnnData(X)
    cells.obs[column] = depth
    other = np.random.default_rng(2).standard_normal(X.shape)
    other[:, 4] = X[:, 4]
    text = " ".join(compare(cells, other, "CKA").full_text().split())
    assert f"is mostly {column}" in text
    assert ("Warning: column 4" in text) == is_warned


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


def cells_of_cameras(rng, agreement):
    """Return rows of three classes with a camera that agrees with the class, and with the camera in their values."""
    classes = np.repeat(["cat", "dog", "bird"], 40)
    camera = np.where(rng.random(120) < agreement, np.repeat(["A", "A", "B"], 40), rng.choice(["A", "B"], 120))
    X = rng.standard_normal((120, 12))
    X[:, :3] += 4 * (camera == "A")[:, None]
    table = pd.DataFrame({"lens": camera, "age": rng.integers(20, 80, 120), "species": classes, "leiden": classes})
    return X, classes, table


@pytest.mark.parametrize("form", ["AnnData", "CSV"])
def test_columns_of_any_name_that_explain_classes_or_rows_are_stated(tmp_path, rng, form):
    anndata = pytest.importorskip("anndata")
    X, classes, table = cells_of_cameras(rng, 1.0)
    data = anndata.AnnData(X, obs=table.set_index(table.index.astype(str)))
    if form == "CSV":
        path = tmp_path / "a.csv"
        table.assign(**{f"dim_{i}": X[:, i] for i in range(12)}).to_csv(path, index=False)
        opened = open_file(path)
        data = ReadArrays(opened.representations, None, {path: opened})
    found = audit(data, classes, n_bootstrap=0, n_permutations=19)
    text = " ".join(found.full_text().split())
    assert "classes go together with the recorded column lens (association 1.00)" in text
    assert "the first principal component" in text and "is mostly lens" in text
    # Neither the classes themselves, nor clusters, nor numbers without a relation are named.
    assert not any(f"{name} (association" in text or f"mostly {name}" in text for name in ("species", "leiden", "age"))
    if form == "AnnData":
        text = compare(data, rng.standard_normal((120, 5)), "CKA").full_text()
        assert "is mostly lens" in " ".join(text.split())


def test_unrelated_columns_are_not_stated(rng):
    n_stated = 0
    for _ in range(100):
        X, classes, table = cells_of_cameras(rng, 0.0)
        X = rng.standard_normal(X.shape)
        with collect_statements() as stated:
            columns = {"lens": table["lens"].factorize()[0], "age": table["age"].to_numpy(float)}
            state_columns_of_classes(columns, np.unique(classes, return_inverse=True)[1])
            state_main_column(columns, {"X": X})
        n_stated += len(stated) > 0
    assert n_stated <= 2


def embeddings_of_types(rng):
    """Return two embeddings of 300 cells of five types, and the types."""
    types = rng.permutation(np.repeat(np.arange(5), 60))
    latent = rng.normal(0, 2, (5, 12))[types] + rng.standard_normal((300, 12))
    return latent @ rng.standard_normal((12, 20)), latent[:, :10] + 0.3 * rng.standard_normal((300, 10)), types


@pytest.mark.parametrize("answer", ["compare", "audit", "within"])
def test_an_embedding_whose_rows_do_not_fit_the_recorded_columns_is_named(tmp_path, rng, answer):
    anndata = pytest.importorskip("anndata")
    first, second, types = embeddings_of_types(rng)
    path = tmp_path / "a.h5ad"
    for order, is_told in ((np.arange(300), False), (rng.permutation(300), True)):
        sides = {"first": first, "second": second[order]}
        with collect_statements() as stated, warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            if answer == "compare":
                obs = pd.DataFrame({"kind": types.astype(str)}, index=[f"c{i}" for i in range(300)])
                anndata.AnnData(first, obs=obs, obsm=sides).write_h5ad(path)
                opened = open_file(path)
                state_known_columns(ReadArrays(opened.representations, None, {path: opened}), opened.representations)
            elif answer == "audit":
                audit(sides, types, n_bootstrap=0, n_permutations=19)
            else:
                compare_within(*sides.values(), types, "CKA", names=("first", "second"), n_permutations=19)
        told = [text for text in stated if "as if the rows of" in text]
        assert bool(told) == is_told
        assert all("second" in text.split("as if the rows of")[1] for text in told)


def test_sound_embeddings_are_not_called_shuffled(rng):
    """Noisy embeddings, corrected batches and a type that only one of them separates are no shuffled rows."""
    for _ in range(60):
        first, second, types = embeddings_of_types(rng)
        batch = rng.integers(0, 2, 300)
        with_batch = first + 30 * batch[:, None]
        noisy = second + 2 * second.std() * rng.standard_normal(second.shape)
        with collect_statements() as stated:
            warn_of_shuffled_rows({"batch": batch, "kind": types}, {"before": with_batch, "after": second})
            warn_of_shuffled_rows({"batch": batch, "kind": types}, {"before": first, "after": noisy})
        assert not stated


def test_values_at_chance_come_with_what_to_check(rng):
    text = " ".join(compare(rng.standard_normal((60, 5)), rng.standard_normal((60, 5))).full_text().split())
    assert "None of 3 measures are above chance" in text
    assert "Rows in another order give such values: check that row i is the same input in both." in text


@pytest.mark.parametrize("ending", ["parquet", "feather", "jsonl"])
def test_columns_of_vectors_and_records_are_no_recorded_columns(tmp_path, rng, ending):
    X = rng.standard_normal((60, 16)).round(3)
    table = pd.DataFrame({"id": [f"d{i}" for i in range(60)], "place": ["here", "there"] * 30, "embedding": X.tolist()})
    table["meta"] = [{"page": i} for i in range(60)]
    path = tmp_path / f"a.{ending}"
    if ending == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        getattr(table, f"to_{ending}")(path)
    opened = open_file(path)
    arrays = ReadArrays(opened.representations, None, {path: opened})
    assert list(other_columns(arrays)) == ["place"]
    assert audit(arrays, n_bootstrap=0, n_permutations=19).representations[0].feature_split.value > -1


def test_distances_and_maps_have_no_recorded_columns(rng):
    labels = {"kind": np.arange(1770) % 3}
    with collect_statements() as stated:
        for arrays in ({"a": np.ones(1770), "b": np.ones(1770)}, {"a": np.ones((1770, 2, 2)), "b": np.ones(1770)}):
            state_main_column(labels, arrays)
            warn_of_shuffled_rows(labels, arrays)
    assert not stated


@pytest.mark.parametrize("is_written", [True, False])
def test_labels_that_are_written_in_the_texts_are_told(tmp_path, is_written):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = np.array(["sports", "politics", "science"])[rng.integers(3, size=90)]
    texts = [f"Category: {name if is_written else 'any'}. Line number {k} of it." for k, name in enumerate(names)]
    vectors = list(rng.standard_normal((90, 12)))
    pd.DataFrame({"text": texts, "embedding": vectors, "category": names}).to_json(
        tmp_path / "x.jsonl", orient="records", lines=True
    )
    opened = open_file(tmp_path / "x.jsonl", labels_column="category")
    arrays = ReadArrays(opened.representations, None, {tmp_path / "x.jsonl": opened})
    said = str(audit(arrays, names, n_bootstrap=0, n_permutations=0).inputs)
    assert ("text contains the label of its row (such as " in said) == is_written


@pytest.mark.parametrize("folders", ["hospital", "class"])
def test_folders_that_go_together_with_the_classes_are_told(tmp_path, folders):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = np.array(["covid", "normal"])[rng.integers(2, size=90)]
    table = pd.DataFrame(rng.standard_normal((90, 6)), columns=[f"dim_{k}" for k in range(6)])
    of = {"hospital": {"covid": "bimcv", "normal": "nih"}, "class": {"covid": "covid", "normal": "normal"}}[folders]
    table.insert(0, "path", [f"data/{of[name]}/{k:03d}.png" for k, name in enumerate(names)])
    table["label"] = names
    table.to_csv(tmp_path / "x.csv", index=False)
    opened = open_file(tmp_path / "x.csv", labels_column="label")
    arrays = ReadArrays(opened.representations, None, {tmp_path / "x.csv": opened})
    said = str(audit(arrays, names, n_bootstrap=0, n_permutations=0).inputs)
    assert ("go together with the recorded column folder of path" in said) == (folders == "hospital")


@pytest.mark.parametrize("kind", ["trials", "shuffled rows", "two classes per trial", "one row per trial", "groups"])
def test_trials_of_several_samples_are_named(rng, kind):
    anndata = pytest.importorskip("anndata")
    trial = np.arange(160) if kind == "one row per trial" else np.repeat(np.arange(20), 8)
    classes = rng.permutation(np.repeat(["target", "standard"], 10))[trial % 20]
    if kind == "two classes per trial":
        classes[::2] = "target"
    order = rng.permutation(160) if kind == "shuffled rows" else np.arange(160)
    obs = pd.DataFrame({"epoch": trial, "condition": classes}).iloc[order].set_index(np.arange(160).astype(str))
    data = anndata.AnnData(rng.standard_normal((160, 12)), obs=obs)
    design = {"groups": obs["epoch"].to_numpy()} if kind == "groups" else {}
    found = audit(data, obs["condition"].to_numpy(), n_bootstrap=0, n_permutations=19, **design)
    expected = "each of 20 values of epoch has one class and about 8 rows in a row"
    assert any(expected in text for text in found.inputs) == (kind == "trials")
