"""Every kind of file gives the numbers that the library gives for the same arrays and labels."""

import numpy as np
import pandas as pd
import pytest

import shesha

QUICK = ("--bootstrap", "0", "--permutations", "19")


@pytest.fixture
def scores(invoke, strict_json):
    """Scores that the program gives to files, by representation."""

    def run(*args):
        ended = invoke("audit", *args, *QUICK, "--json", "-")
        assert ended.status == 0
        found = strict_json(ended.out)["representations"]
        return {one["name"]: _numbers(one) for one in found}, ended.err

    return run


def _numbers(one):
    labelled = {name: score["value"] for name, score in one["supervised"].items()}
    return {"shape": (one["n_rows"], one["n_features"]), "split": one["feature_split"]["value"], **labelled}


def of_library(representations, y=None):
    found = shesha.audit(representations, y, n_bootstrap=0, n_permutations=19).to_dict()
    return {one["name"]: _numbers(one) for one in found["representations"]}


def table(X, **more):
    return pd.DataFrame(X, columns=[f"f{column}" for column in range(X.shape[1])]).assign(**more)


def test_npy_with_a_file_of_labels(scores, tmp_path, X, kinds):
    np.save(tmp_path / "model.npy", X)
    expected = of_library({"model": X}, kinds)
    np.save(tmp_path / "y.npy", kinds)
    (tmp_path / "y.txt").write_text("\n".join(kinds))
    pd.DataFrame({"row": range(60), "kind": kinds}).to_csv(tmp_path / "y.csv", index=False)
    for labels in ("y.npy", "y.txt", "y.csv:kind"):
        labels = ["--labels", tmp_path / labels]
        assert scores(tmp_path / "model.npy", *labels) == (expected, "")


def test_npz_with_layers(scores, tmp_path, X, kinds):
    hidden = np.stack([X, X**3], axis=1)
    np.savez(tmp_path / "m.npz", first=np.float32(X), hidden=hidden, kind=kinds, note=np.array("a note"))
    expected = of_library({"first": np.float32(X), "hidden[0]": X, "hidden[1]": X**3}, kinds)
    found, messages = scores(tmp_path / "m.npz", "--labels", "kind")
    assert found == expected
    assert messages == ""
    some, messages = scores(tmp_path / "m.npz", "--labels", "kind", "--key", "hidden[1]", "--key", "first")
    assert list(some) == ["hidden[1]", "first"]
    assert some == {name: expected[name] for name in some}
    assert messages == ""


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_whose_labels_are_text(scores, tmp_path, X, kinds, ending):
    frame, path = table(X, kind=kinds), tmp_path / f"rows.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert scores(path, "--labels", "kind") == (of_library({"rows": X}, kinds), "")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numeric_labels_are_no_feature(scores, tmp_path, X, ending):
    """A class code among the features would answer the question that is asked of them."""
    codes = np.arange(60) % 3
    for name, matrix in (("rows", X), ("others", X**3)):
        frame, path = table(matrix, code=codes), tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
    expected = of_library({"rows": X, "others": X**3}, codes)
    found, messages = scores(tmp_path / f"rows.{ending}", tmp_path / f"others.{ending}", "--labels", "code")
    assert (found, messages) == (expected, "")
    assert found["rows"]["shape"] == (60, 12)


def test_h5ad(scores, tmp_path, X, kinds):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"cell_type": pd.Categorical(kinds)}, index=[f"cell{row}" for row in range(60)])
    data = anndata.AnnData(np.ones((60, 5)), obs=obs, obsm={"X_pca": X, "X_umap": X[:, :2]})
    data.write_h5ad(tmp_path / "cells.h5ad")
    found = scores(tmp_path / "cells.h5ad", "--key", "obsm/X_pca", "--labels", "cell_type")
    assert found == (of_library({"obsm/X_pca": X}, kinds), "")


def test_several_files_have_names_of_their_own(scores, tmp_path, X):
    (tmp_path / "day2").mkdir()
    np.save(tmp_path / "m.npy", X)
    np.save(tmp_path / "day2" / "m.npy", X**3)
    np.savez(tmp_path / "layers.npz", m=X + 1, n=X - 1)
    found, _ = scores(tmp_path / "m.npy", tmp_path / "day2" / "m.npy", tmp_path / "layers.npz")
    first = f"{tmp_path.name}/m"
    assert found == of_library({first: X, "day2/m": X**3, "layers:m": X + 1, "layers:n": X - 1})


def test_no_file_is_dropped_silently(invoke_main, tmp_path, X):
    np.save(tmp_path / "m.npy", X)
    ended = invoke_main("audit", *[tmp_path / "m.npy"] * 3)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"shesha: FILE must not be repeated, got {tmp_path / 'm.npy'} more than once\n"


@pytest.mark.parametrize("options", [[], ["--store", "s.sqlite"]])
@pytest.mark.filterwarnings("default")
def test_a_picture_of_the_rows_is_skipped_unless_it_is_named(tmp_path, invoke_main, options, monkeypatch):
    anndata = pytest.importorskip("anndata")
    monkeypatch.chdir(tmp_path)
    obs = pd.DataFrame(index=[f"cell{row}" for row in range(60)])
    embeddings = {"X_pca": np.random.default_rng(0).normal(size=(60, 5)), "X_umap": np.ones((60, 2))}
    anndata.AnnData(obs=obs, obsm=embeddings).write_h5ad("d.h5ad")
    asked = ["audit", "d.h5ad", "--bootstrap", 0, "--permutations", 19, *options]
    ended = invoke_main(*asked)
    assert ended.status == 0
    read = " ".join(ended.out.split())
    assert "obsm/X_umap" in read and "has only 2 columns, like a UMAP; it is read only if --key names it" in read
    assert ended.err == ""
    ended = invoke_main(*asked, "--key", "X_umap")
    assert ended.status == 2
    assert "no score for obsm/X_umap" in ended.err or "no score for X_umap" in ended.err


def test_a_column_of_another_file_is_named_after_a_colon(scores, tmp_path, X, kinds):
    np.save(tmp_path / "model.npy", X)
    days = np.repeat(["mon", "tue"], 30)
    pd.DataFrame({"kind": kinds, "day": days}).to_csv(tmp_path / "y.csv", index=False)
    np.save(tmp_path / "days.npy", days)
    one, two = (
        scores(tmp_path / "model.npy", "--labels", f"{tmp_path / 'y.csv'}:kind", "--blocks", blocks)
        for blocks in (f"{tmp_path / 'y.csv'}:day", tmp_path / "days.npy")
    )
    assert one == two
