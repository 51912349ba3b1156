"""Files with features in rows, narrow matrices and feature maps: what commands read, and what they say about it."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.io import open_file

BARCODES = [f"AAACCTGAGAAAC{a}{b}{c}-1" for a in "ACGT" for b in "ACGT" for c in "AC"]
GENES = [f"ENSG{number:011d}" for number in range(80)]


@pytest.fixture
def table(rng):
    return pd.DataFrame(rng.standard_normal((80, 32)), index=GENES, columns=BARCODES)


def write(kind, path, table):
    path = path.with_suffix(kind)
    if kind == ".csv":
        table.to_csv(path)
    elif kind == ".parquet":
        table.to_parquet(path)
    elif kind == ".npy":
        np.save(path, table.to_numpy())
    elif kind == ".npz":
        np.savez(path, data=table.to_numpy(), cell_id=np.array(table.columns, dtype=str))
    elif kind == ".h5ad":
        anndata = pytest.importorskip("anndata")
        anndata.AnnData(table.to_numpy(), pd.DataFrame(index=table.index), pd.DataFrame(index=table.columns)).write(
            path
        )
    return path


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".npy", ".npz", ".h5ad"])
@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_a_transposed_file_has_the_names_of_its_columns(tmp_path, table, kind):
    path = write(kind, tmp_path / "genes", table)
    found = open_file(path, transpose=True)
    (matrix,) = found.representations.values()
    assert np.array_equal(matrix, table.to_numpy().T)
    assert found.row_names is None if kind == ".npy" else found.row_names.values.tolist() == BARCODES
    if kind not in (".npy", ".npz"):
        assert found.column_names.values.tolist() == GENES


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_transposed_tables_are_matched_by_the_names_of_their_columns(tmp_path, table, invoke_main, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    write(".csv", tmp_path / "a", table)
    write(".parquet", tmp_path / "b", table.iloc[:, rng.permutation(32)])
    ended = invoke_main("compare", "a.csv", "b.parquet", "--transpose", "--measures", "CKA", "--no-calibrate")
    said = " ".join(ended.out.split())
    assert "a (32 x 80) and b (32 x 80)" in said and "CKA 1.000" in said
    assert "a.csv, b.parquet: transposed to 32 x 80, as requested" in said and "rows matched by name" in said


@pytest.mark.parametrize(
    "command",
    [
        ["audit", "a.csv", "--bootstrap", "0", "--permutations", "0"],
        ["audit", "a.csv", "--bootstrap", "0", "--permutations", "0", "--store", "s.sqlite"],
        ["compare", "a.csv", "b.csv", "--store", "t.sqlite", "--measures", "CKA"],
        ["diff", "a.csv", "b.csv"],
        ["layers", "a.csv", "b.csv", "--permutations", "20"],
        ["consensus", "a.csv", "b.csv", "c.csv"],
        ["rank", "a.csv", "b.csv", "--data", "c.csv", "--permutations", "20", "--resamples", "20"],
        ["monitor", "init", "a.csv", "--out", "m"],
    ],
    ids=lambda command: " ".join(command[:2]) + ("store" if "--store" in command else ""),
)
@pytest.mark.filterwarnings("ignore")
def test_every_command_transposes(tmp_path, table, rng, invoke_main, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        (table + rng.standard_normal(table.shape)).to_csv(f"{name}.csv")
    ended = invoke_main(*command, "--transpose")
    assert ended.status == 0, ended.err
    assert "32" in ended.out and ("transposed to 32 x 80" in " ".join(ended.out.split()) or command[0] == "monitor")
    if command[0] == "monitor":
        assert "canary rows" in ended.out
        ended = invoke_main("monitor", "check", "m", "a.csv", "--transpose")
        assert ended.status == 0, ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "d.npy", "--rdm"], "transpose must come with features, got distances between rows"),
        (["audit", "layers.npy"], "transpose must be False unless every array is 2-D, got layers[0]"),
        (["audit", "a.csv", "--labels", "kind"], "transpose must come with labels in a file of their own"),
    ],
)
def test_what_cannot_be_transposed_is_refused(tmp_path, table, rng, invoke_main, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    table.assign(kind=np.arange(80) % 2).to_csv("a.csv")
    np.save("d.npy", np.ones((9, 9)) - np.eye(9))
    np.save("layers.npy", rng.standard_normal((20, 3, 5)))
    ended = invoke_main(*arguments, "--transpose")
    assert ended.status == 2 and message in ended.err


@pytest.mark.filterwarnings("default::shesha.RowNamesWarning")
def test_genes_in_rows_are_doubted_with_the_option_that_decides(tmp_path, table, invoke_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(".csv", tmp_path / "a", table)
    ended = invoke_main("audit", "a.csv", "--bootstrap", "0", "--permutations", "0")
    assert "to compare cells, pass --transpose" in ended.err
    assert "rows look like genes" in ended.out and "pass --transpose" in ended.out
    assert "genes" not in invoke_main("audit", "a.csv", "--bootstrap", "0", "--permutations", "0", "--transpose").err


NARROW = {1: "only 1 column, like a label or score", 2: "only 2 columns, like a UMAP or coordinates", 4: None}


@pytest.mark.parametrize("width", NARROW)
def test_narrow_matrices_are_doubted(rng, tmp_path, invoke_main, monkeypatch, width):
    monkeypatch.chdir(tmp_path)
    X, Y = rng.standard_normal((2, 40, width)) + 5
    np.save("x.npy", X)
    np.save("y.npy", Y)
    results = {"compare": shesha.compare(X, Y, "CKA"), "diff": shesha.diff({"x": X}, {"x": Y}, max_rows=40)}
    for name, result in results.items():
        said = [text for text in result.inputs if "only" in text]
        assert bool(said) == (NARROW[width] is not None)
        assert all(NARROW[width] in text for text in said)
        # Layers are called by their names, and a single matrix by that of the argument.
        assert all(text.startswith({"compare": ("X: ", "Y: "), "diff": "x: "}[name]) for text in said)
        ended = invoke_main(name, "x.npy", "y.npy", *(["--measures", "CKA", "--no-calibrate"] * (name == "compare")))
        assert (NARROW[width] or "\0") in " ".join(ended.out.split()) or width == 4
        assert ("x, y: only" in " ".join(ended.out.split())) == (width != 4)


def test_feature_maps_are_read_alike_in_python_and_on_the_command_line(rng, tmp_path, invoke_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A, B = rng.standard_normal((40, 6, 4, 4)), rng.standard_normal((40, 6, 2, 2))
    np.save("a.npy", A)
    np.save("b.npy", B)
    here = shesha.compare(A, B, "CKA", names=("a", "b"))
    assert here.inputs[0] == "a: feature maps 40 x 6 x 4 x 4, folded by each measure as in ReSi (commands flatten)"
    assert here["CKA"].value == shesha.measures.cka(A, B)
    flat = "a: feature maps 40 x 6 x 4 x 4, flattened to 40 x 96"
    value = shesha.measures.cka(A.reshape(40, -1), B.reshape(40, -1))
    for ended in (
        invoke_main("compare", "a.npy", "b.npy", "--measures", "CKA", "--no-calibrate"),
        invoke_main("compare", "a.npy", "b.npy", "--measures", "CKA", "--store", "s.sqlite"),
    ):
        said = " ".join(ended.out.split())
        assert f"{value:.3f}" in said and flat in said
    changed = shesha.diff({"a": A}, {"a": A + 0.1})
    assert changed.inputs[0] == flat
    assert changed.layers["a"].value == shesha.diff({"a": A.reshape(40, -1)}, {"a": A.reshape(40, -1) + 0.1})["a"].value
    audited = shesha.audit({"a": A}, n_bootstrap=0, n_permutations=0)
    assert audited.inputs[0] == flat
    assert flat in " ".join(invoke_main("audit", "a.npy", "--bootstrap", "0", "--permutations", "0").out.split())
    tokens = shesha.audit({"t": A.reshape(40, 6, 16)}, n_bootstrap=0, n_permutations=0, layer_axis=None)
    assert tokens.inputs[0] == "t: token sequences 40 x 6 x 16, flattened to 40 x 96"
    assert tokens["t"].scores == audited["a"].scores


@pytest.mark.filterwarnings("error")
def test_arrays_that_are_left_out_are_stated_once(rng, tmp_path, invoke_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", emb=rng.standard_normal((30, 6)), note=np.array("text"), kind=np.arange(30) % 2)
    quick = ["--bootstrap", "0", "--permutations", "0"]
    ended = invoke_main("audit", "a.npz", "--labels", "kind", *quick)
    said = " ".join(ended.out.split())
    assert ended.err == "" and "a.npz: emb, 30 x 6; left out note, which contains text, not numbers" in said
    assert said.count("note, which") == 1 and "left out kind" not in said
    ended = invoke_main("audit", "a.npz", "--key", "emb", *quick)
    assert "left out" not in ended.out


@pytest.mark.filterwarnings("error")
def test_what_was_read_from_a_file_of_arrays_is_stated_unless_the_answer_shows_it(rng, tmp_path, invoke_main):
    quick = ["--bootstrap", "0", "--permutations", "0"]
    A, B = rng.standard_normal((2, 30, 6))
    beside = {f"field_{k}": np.arange(30) % 3 for k in range(8)}

    def read(*options: str, **arrays: np.ndarray) -> str:
        np.savez(tmp_path / "a.npz", **arrays)
        said = " ".join(invoke_main("audit", tmp_path / "a.npz", *options, *quick).out.split())
        return said.partition("Read: ")[2]

    assert read(A=A) == ""
    assert read(A=A, ids=rng.permutation(30)).startswith("a.npz: A, 30 x 6 (rows named by ids). ")
    assert read(A=A, ids=np.arange(30)).startswith("a.npz: A, 30 x 6 (rows numbered by ids). ")
    assert read(A=A, B=B).startswith("rows paired by position (no ids). ")
    assert read(A=A, B=B[:20]) == ""
    listed = (
        "a.npz: A, B, 30 x 6; left out field_0, field_1, field_2, field_3, field_4, field_5 and 2 more; rows paired"
    )
    assert read(A=A, B=B, **beside).startswith(listed)
    assert read("--key", "A", **{"A": A, "B": B} | beside) == ""
    assert read(A=A, ids=rng.permutation(30), **{"y": beside["field_0"]}).startswith(
        "a.npz: A, 30 x 6 (rows named by ids); left out y, which is 1-D"
    )
    # The layers of one array have the same rows.
    assert "by position" not in read(H=rng.standard_normal((30, 3, 6)))


@pytest.mark.parametrize(
    ("arrays", "stated"),
    [
        ({"dFF": (12, 40)}, True),
        ({"Fneu": (12, 40)}, True),
        ({"data.traces": (12, 40)}, True),
        ({"dFF": (40, 12)}, False),
        ({"responses": (12, 40)}, False),
        ({"responses": (12, 40), "fs": ()}, True),
        ({"features": (12, 40)}, False),
    ],
)
def test_neurons_in_rows_are_said(tmp_path, rng, invoke_main, arrays, stated):
    np.savez(tmp_path / "a.npz", **{name: rng.standard_normal(shape) for name, shape in arrays.items()})
    said = " ".join(invoke_main("audit", tmp_path / "a.npz", "--quick").out.split())
    assert ("If rows are neurons and columns are times, pass --transpose" in said) == stated
    said = " ".join(invoke_main("audit", tmp_path / "a.npz", "--quick", "--transpose").out.split())
    assert "If rows are neurons" not in said


@pytest.mark.parametrize(("n", "said"), [(12, "labels of the columns, which --transpose makes rows"), (40, "labels;")])
def test_labels_of_columns_are_recognised_by_their_number(tmp_path, n, said, invoke_main):
    np.savez(tmp_path / "x.npz", betas=np.random.default_rng(0).standard_normal((40, 12)), stim=np.arange(n), one=1)
    text = " ".join(invoke_main("audit", tmp_path / "x.npz", "--quick").out.split())
    assert f"so it may contain {said}" in text


@pytest.mark.parametrize("first", ["kept", "constant"])
def test_times_in_columns_are_named_whatever_the_first_one_holds(tmp_path, invoke_main, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    traces = np.random.default_rng(0).standard_normal((12, 400)).cumsum(axis=1)
    traces[:, 0] = 0.0 if first == "constant" else traces[:, 0]
    np.save("traces.npy", traces)
    ended = invoke_main("audit", "traces.npy", "--bootstrap", "0", "--permutations", "0")
    assert "neighbouring columns are nearly equal" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("width", "measures", "warned"),
    [
        (2, "RSA", "correlation distances of either 0 or 2"),
        (3, "RSA,CKA", "RSA of rotated copies is about 0.55 instead of 1"),
        (4, "RSA", "RSA of rotated copies is about 0.67 instead of 1"),
        (5, "RSA", ""),
        (3, "RSA(metric=euclidean),CKA,mutual kNN", ""),
    ],
)
def test_correlation_distances_of_few_columns_are_doubted(rng, width, measures, warned):
    X = rng.standard_normal((60, width))
    found = shesha.compare(X, X @ np.linalg.qr(rng.standard_normal((width, width)))[0], measures.split(","))
    doubts = [text for text in found.inputs if "distances" in text]
    assert (warned in doubts[0]) if warned else not doubts


def test_a_place_at_the_origin_is_no_row_without_a_direction(tmp_path, rng, invoke_main):
    places = np.stack(np.meshgrid(range(6), range(6)), axis=-1).reshape(-1, 2).astype(float)
    np.savez(tmp_path / "cells.npz", spatial=places, other=places, X_pca=rng.standard_normal((36, 5)))
    shown = " ".join(invoke_main("compare", tmp_path / "cells.npz", "--key", "spatial", "--key", "X_pca").out.split())
    assert "Without a value: RSA: spatial: constant rows have no correlation distance: rows 0, 7" in shown
    assert "coordinates need metric=euclidean" in shown and "three measures" not in shown
    assert "zero rows 0" in invoke_main("compare", tmp_path / "cells.npz", "--key", "other", "--key", "X_pca").err
