"""Cell types, batches and donors of an .h5ad file: what did an integration keep within each type?"""

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from shesha import bio


@pytest.fixture
def cells(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    types = np.repeat(["B", "T"], 40)[rng.permutation(80)]
    obs = pd.DataFrame({"cell_type": types, "batch": rng.choice(["b1", "b2"], 80)}, index=[f"c{i}" for i in range(80)])
    obs["donor"] = np.tile(list("abcd"), 20)
    pca = rng.standard_normal((80, 6)) + 4 * (types == "T")[:, None]
    made = anndata.AnnData(obs=obs, obsm={"X_pca": pca, "X_new": pca + 0.3 * rng.standard_normal((80, 6))})
    monkeypatch.chdir(tmp_path)
    made.write_h5ad("cells.h5ad")
    return made


BOTH = ("cells.h5ad", "--key", "obsm/X_pca", "--key", "obsm/X_new")


def test_one_command_and_one_call_give_the_same(invoke, cells, strict_json):
    design = ("--blocks", "batch", "--measures", "RSA,CKA", "--permutations", 39, "--json", "-")
    ended = invoke("compare", *BOTH, "--labels", "cell_type", *design)
    found = bio.integration_test(
        cells, "X_pca", "X_new", "cell_type", ["RSA", "CKA"], blocks="batch", n_permutations=39
    )
    told = strict_json(ended.out[ended.out.index("{") :])
    assert (ended.status, list(told["classes"])) == (0, ["B", "T"])
    for name, one in found.classes.items():
        for score in one.scores:
            line = next(line for line in told["classes"][name]["scores"] if line["name"] == score.name)
            assert (line["value"], line["p_value"]) == pytest.approx((score.value, score.p_value))


def test_several_embeddings_are_compared_with_the_first(invoke, cells, strict_json):
    cells.obsm["X_bad"] = np.random.default_rng(1).standard_normal((80, 6))
    cells.write_h5ad("cells.h5ad")
    quick = ("--measures", "RSA", "--permutations", 39, "--plot", "a.png", "--html", "a.html", "--json", "a.json")
    ended = invoke("compare", *BOTH, "--key", "obsm/X_bad", "--labels", "cell_type", *quick)
    found = bio.integration_table(cells, "X_pca", ["X_new", "X_bad"], "cell_type", "RSA", n_permutations=39)
    assert ended.status == 0
    told = " ".join(ended.out.split())
    assert "obsm/X_new, compared with obsm/X_pca: kept the geometry within both classes (RSA 0.92 to 0.93" in told
    assert "obsm/X_bad, compared with obsm/X_pca: lost the geometry within" in told
    assert "the columns 'batch' and 'donor' look like batches" in told
    saved = strict_json(Path("a.json").read_text())
    for one, expected in zip(saved["comparisons"], found, strict=True):
        for name, part in expected.classes.items():
            assert one["classes"][name]["scores"][0]["value"] == pytest.approx(part["RSA"].value)
            assert one["classes"][name]["scores"][0]["p_value"] == part["RSA"].p_value
    assert Path("a.png").stat().st_size > 1000
    assert "Within which classes does each representation keep the geometry" in Path("a.html").read_text()


@pytest.mark.parametrize("column", ["leiden_0.5", "orig.ident", "RNA_snn_res.0.8"])
def test_columns_with_a_dot_are_columns_not_files(invoke, tmp_path, column):
    rng = np.random.default_rng(0)
    obs = pd.DataFrame({column: np.repeat(["a", "b"], 20)}, index=[f"c{i}" for i in range(40)])
    data = anndata.AnnData(obs=obs, obsm={"X_pca": rng.standard_normal((40, 8)), "X_new": rng.standard_normal((40, 8))})
    data.write_h5ad(tmp_path / "dots.h5ad")
    keys = ("--key", "obsm/X_new", "--key", "obsm/X_pca", "--permutations", 19)
    ended = invoke("compare", tmp_path / "dots.h5ad", "--labels", column, *keys)
    assert "(not read:" not in ended.out
