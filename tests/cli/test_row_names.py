"""Names of rows in files: two files whose rows are in a different order are matched, in Python and by commands."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import sim
from shesha.cli._file_inputs import RowOptions
from shesha.cli._run import labels_named
from shesha.inputs import align_labels
from shesha.io import open_file
from shesha.io.read import check_label_order, read_named_labels

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 4))
Y = X + RNG.standard_normal((N, 4))
pytestmark = pytest.mark.filterwarnings("default", "ignore:skipped", "ignore:rows of")
NAMES = [f"cell {row}" for row in range(N)]
MIXED = RNG.permutation(N)
CLASSES = np.repeat([0, 1], N // 2)


def frames():
    columns = list("abcd")
    return pd.DataFrame(X, NAMES, columns), pd.DataFrame(Y, NAMES, columns).iloc[MIXED]


def as_csv(path, frame):
    frame.to_csv(path)


def as_parquet(path, frame):
    pytest.importorskip("pyarrow")
    frame.to_parquet(path)


def as_parquet_column(path, frame):
    pytest.importorskip("pyarrow")
    frame.reset_index(names="cell").to_parquet(path, index=False)


def as_h5ad(path, frame):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(frame.to_numpy(), obs=frame[[]]).write_h5ad(path)


WRITERS = {
    "csv": (as_csv, ".csv"),
    "parquet": (as_parquet, ".parquet"),
    "column": (as_parquet_column, ".parquet"),
    "h5ad": (as_h5ad, ".h5ad"),
}


@pytest.fixture(params=WRITERS)
def pair(request, tmp_path):
    write, ending = WRITERS[request.param]
    paths = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    for path, frame in zip(paths, frames(), strict=True):
        write(path, frame)
    return paths


def test_commands_match_rows_by_their_names_and_say_so(pair, invoke_main):
    expected = shesha.compare(X, Y, "CKA")["CKA"].value
    ended = invoke_main("compare", *pair, "--measures", "CKA")
    assert ended.status == 0
    assert f"{expected:.3f}" in ended.out
    said = " ".join(ended.out.split())
    assert "rows matched by" in said and ", in another order in b" in said
    ended = invoke_main("compare", *pair, "--measures", "CKA", "--by-position")
    assert ended.status == 0
    assert "order" not in ended.err
    assert f"{shesha.compare(X, Y[MIXED], 'CKA')['CKA'].value:.3f}" in ended.out


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
def test_barcodes_that_repeat_in_each_sample_identify_cells_together_with_the_sample(tmp_path, invoke_main):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame(
        {"sample": ["s1", "s2"] * (N // 2), "kind": list("aabb") * (N // 4)}, index=np.repeat(NAMES[::2], 2)
    )
    for name, values, rows in (("a", X, np.arange(N)), ("b", Y, MIXED)):
        anndata.AnnData(values[rows], obs=obs.iloc[rows]).write_h5ad(tmp_path / f"{name}.h5ad")
    asked = ["compare", tmp_path / "a.h5ad", tmp_path / "b.h5ad", "--measures", "CKA"]
    ended = invoke_main(*asked)
    assert ended.status == 2 and "pass --id index,sample,kind; otherwise pass --by-position" in ended.err
    ended = invoke_main(*asked, "--id", "sample,index")
    assert "rows matched by sample and index, in another order in b" in " ".join(ended.out.split())
    assert f"{shesha.compare(X, Y, 'CKA')['CKA'].value:.3f}" in ended.out


BARCODES, SAMPLES = np.resize(NAMES[:25], N), np.repeat(["s1", "s2"], [25, N - 25])


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
@pytest.mark.parametrize("ending", ["h5ad", "npz"])
@pytest.mark.parametrize(
    ("named", "ids", "expected"),
    [
        (["barcode", "sample"], None, "columns barcode, sample together have the same values"),
        (["cell_id", "sample"], None, "in another order"),
        (["place", "sample"], None, "in another order"),
        (["barcode"], None, "got another barcode"),
        (["barcode", "sample"], "sample,barcode", ""),
        (["cell_id", "sample"], "sample,index", ""),
    ],
)
def test_labels_whose_names_repeat_are_matched_by_several_columns_or_refused(tmp_path, ending, named, ids, expected):
    rows, labels = tmp_path / f"rows.{ending}", tmp_path / "labels.csv"
    if ending == "npz":
        np.savez(rows, X=X, barcode=BARCODES, sample=SAMPLES)
        named, ids = [name.replace("cell_id", "barcode") for name in named], ids and ids.replace("index", "barcode")
        expected = expected if named[0] == "barcode" else "got another sample"
    else:
        anndata = pytest.importorskip("anndata")
        anndata.AnnData(X, obs=pd.DataFrame({"sample": SAMPLES}, index=BARCODES)).write_h5ad(rows)
    table = pd.DataFrame({named[0]: BARCODES, "sample": SAMPLES})[named].assign(kind=[f"{name} is" for name in NAMES])
    for order in (MIXED, np.arange(N)):
        table.iloc[order].to_csv(labels, index=False)
        refused = expected and order is MIXED
        with pytest.raises(ValueError, match=expected) if refused else nullcontext():
            y = labels_named("labels", f"{labels}:kind", rows, RowOptions(ids=ids))
            assert np.asarray(align_labels(open_file(rows, ids=ids).row_names, y)).tolist() == list(table["kind"])


def test_files_in_a_store_are_matched_too(pair, tmp_path):
    for _ in range(2):
        found = shesha.compare_all(list(pair), "CKA", store=tmp_path / "store.sqlite")
        assert any(text.startswith("rows matched by") and "in another order" in text for text in found.inputs)
        assert found.matrix("CKA").to_numpy()[0, 1] == pytest.approx(sim.cka(X, Y), abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shesha.RowNamesWarning)
        audit = shesha.audit(list(pair), n_bootstrap=0, n_permutations=19, store=tmp_path / "store.sqlite")
    expected = shesha.audit({"a": X, "b": Y}, n_bootstrap=0, n_permutations=19)
    assert audit.drift.from_first == pytest.approx(expected.drift.from_first, abs=1e-12)


def test_labels_follow_the_names_of_their_file(tmp_path, invoke_main):
    as_csv(tmp_path / "a.csv", frames()[0])
    labels = pd.DataFrame({"label": CLASSES}, index=NAMES)
    labels.iloc[MIXED].to_csv(tmp_path / "y.csv")
    assert read_named_labels(tmp_path / "y.csv").names.tolist() == [NAMES[row] for row in MIXED]
    options = ["--labels", tmp_path / "y.csv", "--bootstrap", 0, "--permutations", 19]
    ended = invoke_main("audit", tmp_path / "a.csv", *options)
    assert ended.status == 0
    assert "y matched by name" in " ".join(ended.out.split())
    labels.to_csv(tmp_path / "y.csv")
    unstated = " ".join(ended.out.split()).replace("; y matched by name", "")
    assert " ".join(invoke_main("audit", tmp_path / "a.csv", *options).out.split()) == unstated
    labels.iloc[MIXED].to_csv(tmp_path / "y.csv", index=False)
    said = " ".join(invoke_main("audit", tmp_path / "a.csv", *options).out.split())
    assert "labels paired with the rows by position: y.csv has no row names" in said


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_labels_follow_the_identifiers_beside_them(tmp_path, ending):
    order, path = np.array(MIXED), tmp_path / f"y.{ending}"
    arrays = {"ids": np.array(NAMES)[order], "labels": np.array(CLASSES)[order]}
    if ending == "npz":
        np.savez(path, **arrays)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, values in arrays.items():
                file[name] = values.astype("S") if values.dtype.kind == "U" else values
    for column in ("labels", None) if ending == "npz" else ("labels",):
        found = read_named_labels(path, column)
        assert [str(name) for name in found.known.as_text().values] == [NAMES[row] for row in MIXED]


@pytest.mark.parametrize(("n_repeats", "refused"), [(0, False), (2, True)])
def test_several_labels_of_one_row_are_refused(tmp_path, invoke_main, n_repeats, refused):
    ids = 7000 + np.arange(N)
    table = pd.DataFrame(X, columns=[f"dim_{k}" for k in range(4)])
    table.assign(pid=ids).to_csv(tmp_path / "e.csv", index=False)
    repeated = np.concatenate([ids[: N - n_repeats], ids[:n_repeats]])
    pd.DataFrame({"pid": repeated, "rel": np.arange(N) % 3}).to_csv(tmp_path / "q.tsv", sep="\t", index=False)
    ended = invoke_main("audit", tmp_path / "e.csv", "--labels", f"{tmp_path / 'q.tsv'}:rel", "--permutations", 19)
    assert ("got repeated values of 'pid' in q.tsv" in ended.err) == refused, ended.err


def test_a_first_column_that_is_no_name_is_left_alone(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"))
    table.assign(kind="k").to_csv(tmp_path / "last.csv", index=False)
    assert open_file(tmp_path / "last.csv").row_names is None
    for kind in (["x", "y"] * (N // 2), [f"en {row}" for row in range(N)]):
        table.insert(0, "text", kind)
        table.to_csv(tmp_path / f"{kind[0]}.csv", index=False)
        table = table.drop(columns="text")
    table.insert(0, "text", ["y", "x"] * (N // 2))
    table.to_csv(tmp_path / "other.csv", index=False)
    # Texts that repeat, and columns that share no text, cannot say which row is which.
    paths = [tmp_path / name for name in ("x.csv", "en 0.csv", "other.csv")]
    assert shesha.compare_all(paths, "CKA").matrix("CKA").to_numpy().min() == pytest.approx(1)


@pytest.mark.parametrize(("other", "refused"), [("moved", True), ("same", False), ("predicted", False)])
def test_labels_of_two_files_show_that_rows_are_in_another_order(tmp_path, invoke_main, other, refused):
    classes = np.arange(N) % 3
    others = {"moved": classes[::-1], "same": classes, "predicted": np.where(np.arange(N) % 4, classes, 0)}[other]
    np.savez(tmp_path / "a.npz", features=X, labels=classes)
    np.savez(tmp_path / "b.npz", features=Y, labels=others)
    for options in ([], ["--labels", "labels"]):
        ended = invoke_main("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--permutations", 19, *options)
        assert ("got another labels in" in ended.err) == refused, options


@pytest.mark.parametrize(
    ("column", "values", "refused"),
    [
        ("pid", 7000 + np.arange(N), True),
        ("place", 7000 + 3 * np.arange(N), True),
        ("place", [f"at {i}" for i in range(N)], True),
        ("rank", np.arange(N), False),
        ("place", np.resize([1, 2], N), False),
    ],
)
def test_labels_in_another_order_than_a_column_shows_are_refused(tmp_path, column, values, refused):
    rows, labels = tmp_path / "e.csv", tmp_path / "l.csv"
    table = pd.DataFrame({f"dim_{k}": X[:, k] for k in range(4)}).assign(topic=CLASSES, **{column: values})
    table.to_csv(rows, index=False)
    table[["topic", column]].to_csv(labels, index=False)
    check_label_order(rows, labels)
    table[["topic", column]].iloc[MIXED].to_csv(labels, index=False)
    # A column that is named like identifiers matches labels without an option.
    assert hasattr(read_named_labels(labels, "topic"), "names") == (column == "pid")
    with pytest.raises(ValueError, match=f"pass --id {column}; otherwise") if refused else nullcontext():
        check_label_order(rows, labels)


def test_repeats_of_one_stimulus_are_named(invoke, tmp_path, rng):
    shown = [f"im{k}" for k in rng.permutation(np.repeat(np.arange(30), 4))]
    for name in ("V4", "IT"):
        table = pd.DataFrame(rng.standard_normal((120, 6)), columns=[f"unit_{k}" for k in range(6)])
        table.assign(stimulus_id=shown).to_csv(tmp_path / f"{name}.csv", index=False)
    ended = invoke("compare", tmp_path / "V4.csv", tmp_path / "IT.csv")
    assert "120 rows have 30 values of" in " ".join(ended.out.split()), ended


def test_only_shared_tokens_are_compared_on_request(rng, tmp_path, invoke_main):
    X = rng.standard_normal((60, 8))
    first, second = rng.permutation(60)[:40], rng.permutation(60)[:40]
    path = tmp_path / "a.npz"
    np.savez(path, e0=X[first], e0_token_idx=first, e1=X[second[:30]], e1_token_idx=second[:30], router=X[:40])
    keys = ["--key", "e0", "--key", "e1", "--measures", "CKA"]
    refused = invoke_main("compare", path, *keys)
    n_shared = len(np.intersect1d(first, second[:30]))
    assert f"got {n_shared} shared values of token_idx of 30 and 40" in refused.err and "--shared-rows" in refused.err
    said = " ".join(invoke_main("compare", path, *keys, "--shared-rows").out.split())
    assert said.startswith(f"Only {n_shared} of 40 and 30 rows shared by token_idx.")
    assert "(rows named by token_idx)" in said and open_file(path).names_of("router") is None
