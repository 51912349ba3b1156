"""Covariates of a comparison, from files or columns."""

import json

import numpy as np
import pandas as pd
import pytest

from shesha import RowNamesWarning, compare

BATCH = np.tile(["a", "b", "c"], 10)


@pytest.fixture
def files(tmp_path, rng):
    """Two tables of the same rows, the first with a batch and a depth among its columns."""
    X, Y, depth = rng.standard_normal((30, 3)), rng.standard_normal((30, 4)), rng.standard_normal(30)
    table = pd.DataFrame(X, columns=["f0", "f1", "f2"]).assign(batch=BATCH, depth=depth)
    table.to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(Y, columns=list("abcd")).to_csv(tmp_path / "y.csv", index=False)
    (tmp_path / "batch.txt").write_text("\n".join(BATCH))
    np.savez(tmp_path / "a.npz", one=Y, two=2 * Y, three=Y**3)
    return tmp_path, X, Y, depth


def test_columns_and_files_are_taken_out(invoke, files):
    folder, X, Y, depth = files
    out = folder / "out.json"
    ended = invoke(
        *("compare", folder / "x.csv", folder / "y.csv", "--measures", "CKA", "--covariates", folder / "batch.txt"),
        *("--covariates", "depth", "--json", out),
    )
    assert ended.status == 0, ended.err
    # The batch is text, so that it is no feature of a table either.
    expected = compare(X, Y, "CKA", covariates=pd.DataFrame({"batch": BATCH, "depth": depth}))
    found = json.loads(out.read_text())
    assert found["scores"][0]["value"] == pytest.approx(expected["CKA"].value, abs=1e-10)


def test_the_null_exchanges_rows_of_like_covariates(invoke, files):
    folder, *_ = files
    ended = invoke(
        *("compare", folder / "x.csv", folder / "y.csv", "--measures", "CKA", "--calibrate", "--covariates", "batch")
    )
    assert ended.status == 0, ended.err
    assert "rows of similar covariates" in ended.out


def test_rows_with_names_are_matched_by_them(invoke, files):
    folder, X, Y, depth = files
    names = pd.Index([f"row {i}" for i in range(30)], name="row")
    table = pd.DataFrame(X, index=names, columns=["f0", "f1", "f2"]).assign(batch=BATCH)
    table.to_csv(folder / "x.csv")
    pd.DataFrame(Y, index=names).iloc[::-1].to_csv(folder / "y.csv")
    pd.DataFrame({"label": depth}, index=names).iloc[::-1].to_csv(folder / "depth.csv")
    out = folder / "out.json"
    with pytest.warns(RowNamesWarning, match="are in a different order"):
        ended = invoke(
            *("compare", folder / "x.csv", folder / "y.csv", "--measures", "CKA", "--json", out),
            *("--covariates", "batch", "--covariates", folder / "depth.csv"),
        )
    assert ended.status == 0, ended.err
    expected = compare(X, Y, "CKA", covariates=pd.DataFrame({"batch": BATCH, "depth": depth}))
    found = json.loads(out.read_text())
    assert found["scores"][0]["value"] == pytest.approx(expected["CKA"].value, abs=1e-10)


REFUSED = {
    "an unknown column": (["--covariates", "colour"], "--covariates must be a file, or a column among f0"),
    "a picture": (["--covariates", "batch", "--plot", "p.png"], "--plot must be left out with --covariates, got both"),
    "a store": (["--covariates", "batch", "--store", "s.db"], "--covariates needs two representations in files, got"),
    "blocks of a store": (
        ["--blocks", "batch", "--store", "s.db"],
        "--blocks must be a file with --store, --scheduler",
    ),
    "a series of a store": (["--shift", "--store", "s.db"], "calibrate must be True with shift, got False"),
    "other rows": (
        ["--covariates", "short.txt", "--covariates", "batch"],
        "--covariates must all have the same number of rows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_taken_out_is_refused(invoke, files, name, monkeypatch):
    folder, *_ = files
    monkeypatch.chdir(folder)
    (folder / "short.txt").write_text("a\nb\nc")
    more, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        invoke("compare", "x.csv", "y.csv", "--measures", "CKA", *more)


@pytest.mark.parametrize(("column", "is_warned"), [("nCount_peaks", True), ("weight", False)])
def test_a_component_of_depth_is_named_unless_it_is_a_covariate(column, is_warned, tmp_path, invoke_main):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 200, 20))
    X[:, 4] *= 4
    Y[:, 4] = X[:, 4]
    cells = anndata.AnnData(X, obsm={"other": Y})
    cells.obs[column] = np.exp(-X[:, 4])
    cells.write_h5ad(tmp_path / "cells.h5ad")
    for design, is_named in (([], True), (["--covariates", column], False)):
        ended = invoke_main(
            *("compare", tmp_path / "cells.h5ad", "--key", "X", "--key", "obsm/other", "--measures", "CKA", *design)
        )
        assert ended.status == 0
        text = " ".join(ended.out.split())
        assert (f"(component 5) is mostly {column}" in text) == is_named
        assert ("Warning: column 4" in text) == (is_named and is_warned)
