"""Files as other tools write them give the matrix that was written, with the names that the format stores."""

import base64
import gzip
import json

import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy import sparse
from typer.testing import CliRunner

import shesha
from shesha import io as files
from shesha.cli._app import app
from shesha.io.read import read_named
from shesha.support.provenance import collect_statements

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 8)).astype(np.float32)
L = X.tolist()
NAMES = [f"word{i}" for i in range(20)]
COUNTS = rng.poisson(1.0, (20, 30)).astype(np.float32)


def embedding(i, index=0):
    return {"object": "embedding", "index": index, "embedding": L[i]}


def batch(i):
    body = {"object": "list", "data": [embedding(i)], "model": "m"}
    return {"id": f"b{i}", "custom_id": NAMES[i], "response": {"status_code": 200, "body": body}, "error": None}


def as_lines(records):
    return "\n".join(map(json.dumps, records)) + "\n"


def base64_of(i):
    return base64.b64encode(X[i].tobytes()).decode()


JSON = {
    "responses in another order": ("a.json", {"data": [embedding(i, i) for i in reversed(range(20))]}, None),
    "base64": ("a.json", {"data": [embedding(i, i) | {"embedding": base64_of(i)} for i in range(20)]}, None),
    "a batch output": ("a.jsonl", [batch(i) for i in range(20)], NAMES),
    "vectors with texts beside them": ("a.json", {"id": "x", "texts": NAMES, "embeddings": L}, NAMES),
    "vectors by type": ("a.json", {"embeddings": {"float": L}}, None),
    "vectors as values": ("a.json", {"embeddings": [{"values": row} for row in L]}, None),
    "a batch with keys": (
        "a.jsonl",
        [{"key": NAMES[i], "response": {"embedding": {"values": L[i]}}} for i in range(20)],
        NAMES,
    ),
    "predictions": ("a.json", {"predictions": [{"embeddings": {"values": row, "statistics": {}}} for row in L]}, None),
    "records with output": (
        "a.jsonl",
        [{"recordId": NAMES[i], "modelInput": {}, "modelOutput": {"embedding": L[i]}} for i in range(20)],
        NAMES,
    ),
    "a batch output of Bedrock": (
        "a.jsonl.out",
        [{"recordId": NAMES[i], "modelOutput": {"embedding": L[i]}} for i in range(20)],
        NAMES,
    ),
    "a table of wandb": (
        "a.table.json",
        {"columns": ["id", "loss", "v"], "data": [[NAMES[i], 0.5, L[i]] for i in range(20)], "ncols": 3, "nrows": 20},
        NAMES,
    ),
    "points of a store": ("a.json", {"vectors": [{"id": NAMES[i], "values": L[i]} for i in range(20)]}, NAMES),
    "a collection": ("a.json", {"ids": NAMES, "embeddings": L, "documents": NAMES}, NAMES),
    "records": ("a.jsonl", [{"id": NAMES[i], "text": "t", "embedding": L[i]} for i in range(20)], NAMES),
    "records with text": ("a.jsonl", [{"id": NAMES[i], "embedding": json.dumps(L[i])} for i in range(20)], NAMES),
    "records under .json": ("a.json", as_lines({"id": NAMES[i], "embedding": L[i]} for i in range(20)), NAMES),
    "lists": ("a.json", L, None),
    "a list per line": ("a.jsonl", L, None),
    "actions before documents": (
        "a.jsonl",
        [
            line
            for i in range(20)
            for line in ({"index": {"_index": "docs", "_id": NAMES[i]}}, {"text": "t", "embedding": L[i]})
        ],
        NAMES,
    ),
    "words": ("a.json", dict(zip(NAMES, L, strict=True)), NAMES),
    "nested layers": ("a.json", {"model": {"layer.0": L}}, None),
}


@pytest.mark.parametrize("kind", JSON)
def test_json(tmp_path, kind):
    name, content, names = JSON[kind]
    packed = kind in ("base64", "words", "a batch output")
    text = content if isinstance(content, str) else as_lines(content) if ".jsonl" in name else json.dumps(content)
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    expect(path, names)


def expect(path, names=None, matrix=X, **options):
    """Check that a file holds one representation, with these row names."""
    found = files.open_file(path, **options)
    (array,) = found.representations.values()
    np.testing.assert_allclose(np.asarray(array, dtype=float), matrix, atol=1e-6)
    assert (None if found.row_names is None else found.row_names.values.tolist()) == names


def test_a_failed_request_is_a_row_without_numbers(tmp_path):
    records = [batch(i) for i in range(20)]
    records[5] = {"custom_id": NAMES[5], "response": None, "error": {"code": "x"}}
    (tmp_path / "a.jsonl").write_text(as_lines(records))
    with collect_statements() as statements:
        found = files.open_file(tmp_path / "a.jsonl")
    assert np.isnan(found.representations["embedding"]).all(axis=1).nonzero()[0].tolist() == [5]
    assert found.row_names.values.tolist() == NAMES
    assert "a: 1 of 20 records without embedding" in statements


def vectors_file(path, kind):
    with path.open("wb") as stream:
        for row in X.astype(kind):
            np.int32(8).tofile(stream)
            row.tofile(stream)


def text(path, *, header=False, separator=" ", words=NAMES, end="\n", last=""):
    lines = [separator.join([word, *map(str, row)]) for word, row in zip(words, X, strict=True)]
    path.write_bytes((end.join(["20 8"] * header + lines) + last).encode())


def test_a_binary_archive_of_kaldi_is_refused_with_a_command_that_converts_it(tmp_path):
    (tmp_path / "a.ark").write_bytes(b"utt1 \0BFV \4\2\0\0\0" + np.float32([1, 2]).tobytes())
    with pytest.raises(ValueError, match=r"copy-vector ark:.*a\.ark ark,t:.*a\.txt"):
        files.read(tmp_path / "a.ark")


def half(path):
    np.save(path, (X.view("u4") >> 16).astype("u2").view("V2"))


VECTORS = {
    "GloVe": ("a.txt", text, NAMES),
    "word2vec": ("a.txt", lambda path: text(path, header=True), NAMES),
    "fastText": ("a.vec", lambda path: text(path, header=True), NAMES),
    "Kaldi": ("a.ark", lambda path: text(path, words=[f"{name}  [" for name in NAMES], end=" ]\n", last=" ]\n"), NAMES),
    "tabs": ("a.txt", lambda path: text(path, separator="\t"), NAMES),
    "a table with names of rows": (
        "a.txt",
        lambda path: pd.DataFrame(X, index=NAMES).add_prefix("f").to_csv(path, sep="\t"),
        NAMES,
    ),
    "line ends of Windows": ("a.txt", lambda path: text(path, end="\r\n"), NAMES),
    "words with spaces": (
        "a.txt",
        lambda path: text(path, words=[f". . {n}" for n in NAMES]),
        [f". . {n}" for n in NAMES],
    ),
    "words that are numbers": (
        "a.txt",
        lambda path: text(path, words=list(map(str, range(2000, 2020)))),
        [*range(2000, 2020)],
    ),
    "plain numbers": ("a.txt", lambda path: np.savetxt(path, X), None),
    "fvecs": ("a.fvecs", lambda path: vectors_file(path, "f4"), None),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors(tmp_path, kind):
    name, write, names = VECTORS[kind]
    write(tmp_path / name)
    expect(tmp_path / name, names)


def test_bfloat16(tmp_path):
    half(tmp_path / "a.npy")
    np.testing.assert_allclose(files.read(tmp_path / "a.npy")["a"], X, rtol=1e-2)
    np.savez(tmp_path / "b.npz", a=np.load(tmp_path / "a.npy"))
    np.testing.assert_allclose(files.read(tmp_path / "b.npz")["a"], X, rtol=1e-2)


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_compressed_tables(tmp_path, packed, ending, separator):
    path = tmp_path / f"a{ending}{packed}"
    pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).to_csv(path, index=False, sep=separator)
    assert list(files.read(path)) == ["a"]
    expect(path)


def torch_file(path, content):
    pytest.importorskip("torch").save(content, path)


def test_torch(tmp_path):
    torch = pytest.importorskip("torch")
    T = torch.tensor(X)
    cases = {
        "a": T,
        "b": {"embeddings": T.bfloat16(), "note": "x", "step": 3},
        "c": {"layers": {"x": torch.nn.Parameter(T)}},
        "d": [T],
        "e": {"s": T.to_sparse()},
        "f": [{"id": name, "embedding": row} for name, row in zip(NAMES, T, strict=True)],
        "g": dict(zip(NAMES, T, strict=True)),
        "h": {7: T},
    }
    keys = {"a": "a", "b": "embeddings", "c": "layers.x", "d": "d[0]", "e": "s", "f": "embedding", "g": "g", "h": "7"}
    for name, content in cases.items():
        torch.save(content, tmp_path / f"{name}.pt")
        found = files.open_file(tmp_path / f"{name}.pt")
        assert list(found.representations) == [keys[name]]
        np.testing.assert_allclose(found.representations[keys[name]], X, rtol=1e-2)
        names = None if found.row_names is None else found.row_names.values.tolist()
        assert names == (NAMES if name in "fg" else None)
    torch.save(T, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    expect(tmp_path / "old.pt")


def test_weights_are_no_representations(tmp_path):
    torch = pytest.importorskip("torch")
    layers = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.Linear(5, 3))
    torch.save(layers.state_dict(), tmp_path / "m.pt")
    optimizer = {key: {"exp_avg": torch.eye(6), "exp_avg_sq": torch.eye(6)} for key in range(3)}
    torch.save({"epoch": 3, "model": layers.state_dict(), "optimizer": {"state": optimizer}}, tmp_path / "c.pt")
    with pytest.raises(files.UnreadableFileError, match=r"got the weights of a model \(model.0.weight"):
        files.read(tmp_path / "c.pt")
    with pytest.raises(files.UnreadableFileError, match=r"got the weights of a model \(0.weight, 1.weight"):
        files.read(tmp_path / "m.pt")
    assert files.read(tmp_path / "m.pt", keys=["0.weight"])["0.weight"].shape == (5, 8)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "m.weights.h5", "w") as root:
        for layer in ("dense", "dense_1"):
            root[f"layers/{layer}/vars/0"], root[f"layers/{layer}/vars/1"] = np.eye(6), np.ones(6)
    with pytest.raises(files.UnreadableFileError, match=r"got the weights of a model \(layers/dense/vars/0"):
        files.read(tmp_path / "m.weights.h5")


def cell(values):
    found = np.empty(len(values), object)
    found[:] = list(values)
    return found


MATLAB = {
    "a matrix": ({"R": X, "stim": np.arange(20.0)[None], "info": {"animal": "M1"}}, "R"),
    "a struct": ({"data": {"responses": X, "rate": 30.0}}, "data.responses"),
    "a cell": ({"c": cell(X)}, "c"),
    "an array of structs": ({"s": np.array([(row, 1) for row in X], dtype=[("v", "O"), ("id", "O")])}, "s.v"),
    "a sparse matrix": ({"S": sparse.csc_matrix(X)}, "S"),
}


@pytest.mark.parametrize("kind", MATLAB)
@pytest.mark.parametrize("packed", [False, True])
def test_matlab(tmp_path, kind, packed):
    content, name = MATLAB[kind]
    scipy.io.savemat(tmp_path / "a.mat", content, do_compression=packed)
    assert list(files.read(tmp_path / "a.mat")) == [name]
    expect(tmp_path / "a.mat")
    if kind == "a matrix":
        assert files.read_labels(tmp_path / "a.mat", "stim").tolist() == list(range(20))


def test_matlab_of_version_7_3_is_transposed(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file["R"] = X.T
        file["s/stim"] = np.arange(20.0)[None].T
        references = file.create_group("#refs#")
        for i, name in enumerate(NAMES):
            references[str(i)] = np.array(list(map(ord, name)), "u2")[:, None]
            references[str(i)].attrs["MATLAB_class"] = np.bytes_("char")
        names = file.create_dataset("names", (1, 20), dtype=h5py.ref_dtype)
        names[0] = [references[str(i)].ref for i in range(20)]
        names.attrs["MATLAB_class"] = np.bytes_("cell")
    with (tmp_path / "a.mat").open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(116) + b"\0" * 8 + b"\x00\x02IM")
    expect(tmp_path / "a.mat", NAMES)
    assert files.read_labels(tmp_path / "a.mat", "s.stim").tolist() == list(range(20))


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        file["b/deep"], file["a"], file["b/label"], file["note"] = X, X * 2, np.arange(20), "x"
    assert list(files.read(tmp_path / "groups.h5")) == ["a", "b/deep"]
    with h5py.File(tmp_path / "items.h5", "w") as file:
        for name, row in zip(NAMES, X, strict=True):
            file[name] = row
    order = np.argsort([int(name[4:]) for name in NAMES])
    expect(tmp_path / "items.h5", [NAMES[i] for i in order])
    with h5py.File(tmp_path / "nested.h5", "w") as file:
        for name, row in zip(NAMES, X, strict=True):
            file[f"{name}/mean"], file[f"{name}/last"] = row, row + 1
    found = files.open_file(tmp_path / "nested.h5")
    np.testing.assert_array_equal(found.representations["last"], X + 1)
    assert list(found.representations) == ["last", "mean"] and found.row_names.values.tolist() == NAMES


@pytest.mark.parametrize("attribute", ["original_id", "length"])
@pytest.mark.parametrize("group", ["", "embeddings/"])
def test_numbered_items_have_the_names_that_their_attributes_tell(tmp_path, attribute, group):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, (name, row) in enumerate(zip(NAMES, X, strict=True)):
            file[f"{group}{number}"] = row
            file[f"{group}{number}"].attrs[attribute] = name
    found = files.open_file(tmp_path / "a.h5")
    is_named = attribute == "original_id"
    assert (found.row_names.word, found.row_names.values.tolist()) == (
        (attribute, NAMES) if is_named else ("key", list(range(len(NAMES))))
    )
    np.testing.assert_array_equal(next(iter(found.representations.values())), X)


def test_groups_of_other_items_keep_their_names(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "gap.h5", "w", track_order=True) as file:
        for group, rows in (("a", range(20)), ("b", range(19, 2, -1))):
            for i in rows:
                file.require_group(group)[NAMES[i]] = X[i] + (group == "b")
    named = read_named(tmp_path / "gap.h5")
    assert [len(named[group]) for group in "ab"] == [20, 17]
    found = shesha.compare_all(named, "CKA", rows="shared")
    assert found.matrix("CKA").to_numpy().min() == pytest.approx(1)
    with pytest.raises(ValueError, match="got 17 shared keys of 17 and 20"):
        shesha.compare_all(named, "CKA")
    assert set(files.open_file(tmp_path / "gap.h5", keys=["b"]).names_of("b").values) == set(NAMES[3:])


def test_tokens_for_a_model_are_no_vectors(tmp_path):
    tokens = {"input_ids": np.arange(60).reshape(20, 3), "attention_mask": np.ones((20, 3), int)}
    np.savez(tmp_path / "t.npz", **tokens)
    with pytest.raises(
        ValueError, match="must contain vectors, got only what a model encodes in input_ids, attention_"
    ):
        files.open_file(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", **tokens, X=X)
    assert list(files.open_file(tmp_path / "t.npz").representations) == ["X"]
    assert list(files.open_file(tmp_path / "t.npz", keys=["input_ids"]).representations) == ["input_ids"]


def tenx(folder, *, prefix="", packed=True, transposed=True):
    folder.mkdir()
    scipy.io.mmwrite(folder / "m.mtx", sparse.coo_matrix(COUNTS.T if transposed else COUNTS))
    parts = {
        "matrix.mtx": (folder / "m.mtx").read_bytes(),
        "barcodes.tsv": "\n".join(NAMES).encode(),
        "features.tsv": "\n".join(f"E{i}\tG{i}\tGene Expression" for i in range(30)).encode(),
    }
    (folder / "m.mtx").unlink()
    for name, content in parts.items():
        path = folder / f"{prefix}{name}{'.gz' * packed}"
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.mark.parametrize("options", [{}, {"packed": False}, {"prefix": "GSM1_"}, {"transposed": False}])
def test_folders_of_10x(tmp_path, options):
    expect(tenx(tmp_path / "sample", **options), NAMES, COUNTS)
    scipy.io.mmwrite(tmp_path / "alone.mtx", sparse.coo_matrix(COUNTS.T))
    with collect_statements() as statements:
        expect(tmp_path / "alone.mtx", None, COUNTS.T)
    assert "alone: 30 x 20, rows as in the file, because no barcodes show" in next(iter(statements))


@pytest.mark.parametrize("group", ["matrix", "GRCh38"])
def test_files_of_10x(tmp_path, group):
    h5py = pytest.importorskip("h5py")
    M = sparse.csc_matrix(COUNTS.T.astype("i4"))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("data", "indices", "indptr"):
            file[f"{group}/{name}"] = getattr(M, name)
        file[f"{group}/shape"], file[f"{group}/barcodes"] = np.array(M.shape), np.array(NAMES, "S")
    expect(tmp_path / "a.h5", NAMES, COUNTS)


def test_loom(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.loom", "w") as file:
        file["matrix"], file["row_attrs/Gene"] = COUNTS.T, np.array([f"G{i}" for i in range(30)], "S")
        file["col_attrs/CellID"], file["col_attrs/kind"] = np.array(NAMES, "S"), np.arange(20) % 2
        file.create_group("layers")["spliced"] = COUNTS.T * 2
    expect(tmp_path / "a.loom", NAMES, COUNTS)
    assert files.read(tmp_path / "a.loom", keys=["layers/spliced"])["layers/spliced"].tolist() == (COUNTS * 2).tolist()
    assert files.read_labels(tmp_path / "a.loom", "kind").tolist() == [0, 1] * 10


@pytest.mark.filterwarnings("ignore")
def test_modalities_of_other_cells(tmp_path):
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    obs = pd.DataFrame(index=NAMES)
    first = anndata.AnnData(COUNTS, obs=obs, obsm={"X_pca": X})
    second = anndata.AnnData(COUNTS[5:][::-1].copy(), obs=obs[5:][::-1])
    mudata.MuData({"rna": first, "atac": second}).write(tmp_path / "a.h5mu")
    with collect_statements() as statements:
        found = files.open_file(tmp_path / "a.h5mu")
    np.testing.assert_array_equal(found.representations["rna/obsm/X_pca"], X[5:])
    np.testing.assert_array_equal(found.representations["atac/X"], COUNTS[5:])
    assert found.row_names.values.tolist() == NAMES[5:]
    assert any("15 of 20 cells" in statement for statement in statements)
    assert len(files.read(tmp_path / "a.h5mu", keys=["rna"])["rna/obsm/X_pca"]) == 20


DIMENSIONS = {
    ("presentation", "neuroid"): True,
    ("n_cells", "n_genes"): True,
    ("foo", "voxel"): True,
    ("time", "channel"): True,
    ("cell", "gene"): True,
    ("a", "b"): False,
}


@pytest.mark.parametrize("dims", DIMENSIONS)
@pytest.mark.parametrize("transposed", [False, True])
def test_dimensions_of_netcdf(tmp_path, dims, transposed):
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(X, dims=dims, name="R")
    (array.T if transposed else array).to_netcdf(tmp_path / "a.nc", engine="scipy")
    if DIMENSIONS[dims]:
        expect(tmp_path / "a.nc")
    else:
        with pytest.raises(files.UnreadableFileError, match=r"^netCDF file .* got R .*accepted names are rows: presen"):
            files.read(tmp_path / "a.nc")


@pytest.mark.parametrize("n_rdms", [1, 5, 12])
def test_rdms_that_rsatoolbox_stored_keep_the_names_of_their_patterns(tmp_path, n_rdms):
    h5py = pytest.importorskip("h5py")
    squares = np.abs(rng.normal(size=(n_rdms, 9, 9)))
    squares = (squares + squares.transpose(0, 2, 1)) * (1 - np.eye(9))
    with h5py.File(tmp_path / "r.hdf5", "w") as file:
        file["dissimilarities"] = squares[:, *np.triu_indices(9, k=1)]
        file["pattern_descriptors/condition"] = np.array(list("ihgfedcba"), dtype="S1")
        file["pattern_descriptors/index"], file["rdm_descriptors/index"] = np.arange(9), np.arange(n_rdms)
    found = files.open_file(tmp_path / "r.hdf5", distances=True)
    np.testing.assert_allclose(np.stack(list(found.representations.values())), squares)
    assert (found.row_names.column, found.row_names.values.tolist()) == ("condition", list("ihgfedcba"))


@pytest.mark.parametrize("order", [range(20), range(19, -1, -1), rng.permutation(20)])
def test_tables_of_distances_keep_the_order_of_their_rows(tmp_path, order):
    square = np.add.outer(np.arange(20.0), np.arange(20.0)) * (1 - np.eye(20))
    names = [f"obj{i}" for i in range(20)]
    frame = pd.DataFrame(square, index=names, columns=names).iloc[order]
    frame.iloc[:, rng.permutation(20)].to_csv(tmp_path / "d.csv")
    found = files.open_file(tmp_path / "d.csv", distances=True)
    np.testing.assert_array_equal(found.representations["d"], square[np.ix_(order, order)])


@pytest.mark.parametrize(
    ("ending", "header"),
    [
        ("txt", "x y z"),
        ("txt", "one\ntwo"),
        ("csv", "made by a script"),
        ("csv", ",".join(f"dim_{j}" for j in range(6))),
    ],
)
def test_comments_at_the_top_are_no_rows(tmp_path, ending, header):
    matrix = rng.normal(size=(20, 6))
    np.savetxt(tmp_path / f"a.{ending}", matrix, delimiter="," if ending == "csv" else " ", header=header)
    np.testing.assert_allclose(files.read(tmp_path / f"a.{ending}")["a"], matrix)


def test_the_word_for_a_hash_sign_is_no_comment(tmp_path):
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip("#ab", rng.normal(size=(3, 6)), strict=True)]
    (tmp_path / "a.vec").write_text("".join(lines))
    assert files.open_file(tmp_path / "a.vec").row_names.values.tolist() == ["#", "a", "b"]


@pytest.mark.parametrize(
    ("name", "first", "n"), [("m.tsv", "c0", 12), ("m.tsv", "kind", 11), ("m.txt", "c0", 12), ("m.txt", "label", 11)]
)
def test_a_list_of_labels_may_have_a_heading(tmp_path, name, first, n):
    (tmp_path / name).write_text("\n".join([first, *(f"c{i % 4}" for i in range(1, 12))]) + "\n")
    assert len(files.read_labels(tmp_path / name)) == n


def test_excel_may_begin_with_the_separator(tmp_path):
    (tmp_path / "a.csv").write_text("sep=;\na;b;c\n" + "".join(f"{i},5;{-i},25;1,0\n" for i in range(5)))
    assert files.read(tmp_path / "a.csv")["a"].tolist() == [[i + 0.5, -i - (0.25 if i else -0.25), 1] for i in range(5)]


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split"])
def test_tables_that_pandas_wrote_as_json(tmp_path, orient):
    frame = pd.DataFrame(X.round(6), columns=[f"dim_{j}" for j in range(X.shape[1])])
    frame.assign(id=[f"a{i}" for i in range(len(X))]).to_json(tmp_path / "a.json", orient=orient)
    found = files.open_file(tmp_path / "a.json")
    np.testing.assert_allclose(found.representations["a"], X.round(6))
    assert found.row_names.column == "id"


@pytest.mark.parametrize("kind", ["f4", "i2", "u1"])
@pytest.mark.parametrize("name", [None, "spike_counts"])
def test_times_of_netcdf_are_layers_and_coordinates_are_labels(tmp_path, kind, name):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    cube = (
        np.stack([X, X + 1], axis=2) if kind == "f4" else np.stack([COUNTS[:, :8], COUNTS[:, :8] + 1], 2).astype(kind)
    )
    coords = {"stimulus_id": ("presentation", [f"s{i % 4}" for i in range(20)])}
    array = xarray.DataArray(cube, dims=("presentation", "neuroid", "time_bin"), coords=coords, name=name)
    array.transpose("neuroid", "presentation", "time_bin").to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    found = files.read(tmp_path / "a.nc")
    np.testing.assert_allclose(found[f"{name or 'a'}[1]"], cube[:, :, 1])
    assert files.read_labels(tmp_path / "a.nc", "stimulus_id").tolist()[:5] == ["s0", "s1", "s2", "s3", "s0"]


def test_units_and_trials(tmp_path):
    """Counts per trial agree with `spike_counts`, which does not read files."""
    h5py = pytest.importorskip("h5py")
    from shesha.neuro import spike_counts

    trains = [np.sort(rng.uniform(0, 20, 50)) for _ in range(8)]
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["intervals/trials/id"], file["units/id"] = np.arange(20), np.arange(8)
        file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = np.arange(20.0), np.arange(20) + 0.5
        file["intervals/trials/stimulus"] = np.arange(20) % 4
        file["units/spike_times"], file["units/spike_times_index"] = np.concatenate(trains), 50 * np.arange(1, 9)
        file["acquisition/lfp/data"] = rng.normal(size=(40, 3))
    expected = spike_counts(trains, np.arange(20.0), window=(0, 0.5))
    np.testing.assert_array_equal(files.read(tmp_path / "a.nwb")["units"], expected)
    assert files.read_labels(tmp_path / "a.nwb", "stimulus").tolist() == [0, 1, 2, 3] * 5
    assert files.read(tmp_path / "a.nwb", keys=["acquisition/lfp/data"])["acquisition/lfp/data"].shape == (40, 3)
    for name, words in (("quality", ["good"] * 8), ("group", [*["good"] * 5, "mua", "mua", "noise"])):
        with h5py.File(tmp_path / "a.nwb", "a") as file:
            file[f"units/{name}"] = np.array(words, dtype="S")
        with collect_statements() as statements:
            np.testing.assert_array_equal(files.read(tmp_path / "a.nwb")["units"], expected)
        assert ("a.nwb: units by group: 5 good, 2 mua, 1 noise; all are used" in statements) == (name == "group")
    stops = np.arange(20) + rng.uniform(0.2, 0.9, 20)
    stops[3], stops[4] = 3, np.nan
    with h5py.File(tmp_path / "a.nwb", "a") as file:
        file["intervals/trials/stop_time"][:] = stops
    with collect_statements() as statements:
        rates = files.read(tmp_path / "a.nwb")["units"]
    assert "a.nwb: spikes per second of 8 units in 20 trials, because these last" in next(iter(statements))
    for trial in (0, 7):
        window = {"window": (0, stops[trial] - trial)}
        np.testing.assert_allclose(rates[trial] * window["window"][1], spike_counts(trains, [trial], **window)[0])
    assert np.isnan(rates).all(axis=1).nonzero()[0].tolist() == [3, 4]
    damage = {
        "units/spike_times_in_ms": (
            1000 * (1 + np.concatenate(trains)),
            r"spikes in its trials, got spikes from .* and trials from 0 to 19.*; both must be in seconds",
        ),
        "units/spike_times_in_trials": (
            np.concatenate(trains) / 20,
            r"spikes in its trials, got spikes from .* to (1|0)",
        ),
        "units/spike_times_in_ms_as_well": (1000 * np.concatenate(trains), r"spikes in its trials, got spikes from .*"),
        "units/spike_times": (np.zeros((400, 2)), r"units/spike_times as one row of numbers, got float64 of shape"),
        "intervals/trials/stop_time": (np.arange(19.0), "one stop per start of intervals/trials, got 19"),
        "units": (np.zeros(9), "units as a group, got another object"),
        "intervals": (np.zeros(9), "intervals as a group, got another object"),
    }
    for place, (value, message) in damage.items():
        with h5py.File(tmp_path / "a.nwb", "a") as file:
            place = place.partition("_in_")[0]
            del file[place]
            file[place] = value
        with pytest.raises(files.UnreadableFileError, match=f"must (have|contain) {message}"):
            np.asarray(files.read(tmp_path / "a.nwb")["units"])


@pytest.mark.parametrize("n_empty", [0, 80, 200])
def test_droplets_without_a_cell_are_named(tmp_path, n_empty):
    h5py = pytest.importorskip("h5py")
    draw = np.random.default_rng(0)
    totals = np.r_[draw.lognormal(7, 0.5, 100), draw.uniform(1, 6, n_empty)]
    M = sparse.csc_array(draw.poisson(np.outer(totals, np.full(30, 1 / 30))).T.astype(np.int32))
    names = [f"{'ACGT' * 4}-{k}" for k in range(len(totals))]
    folder = tmp_path / "raw"
    folder.mkdir()
    scipy.io.mmwrite(folder / "matrix.mtx", M)
    (folder / "barcodes.tsv").write_text("\n".join(names))
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        for part in ("data", "indices", "indptr"):
            file[f"matrix/{part}"] = getattr(M, part)
        file["matrix/shape"], file["matrix/barcodes"] = np.array(M.shape), np.array(names, "S")
    for path in (folder, tmp_path / "raw.h5"):
        with collect_statements() as statements:
            (counts,) = files.read(path).values()
        np.testing.assert_array_equal(counts, M.toarray().T)
        text = f"{n_empty} of {len(totals)} rows have at most 2 % of the counts of the largest rows"
        assert any(text in one for one in statements) == (n_empty > 100)
    found = shesha.doubts(counts[counts.any(axis=1)])
    assert ("like droplets without a cell" in str(found)) == (n_empty > 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda times: times, ""),
        (lambda times: times % 1, "spikes from 0"),
        (lambda times: 1000 * times, "both must be in seconds"),
        (lambda times: times[times < 15], "5 of 20 trials are before the first or after the last spike"),
    ],
    ids=["right", "relative", "milliseconds", "ended early"],
)
def test_spikes_on_another_clock_are_named(tmp_path, change, message):
    h5py = pytest.importorskip("h5py")
    draw = np.random.default_rng(0)
    trains = [change(np.sort(np.repeat(np.arange(20.0), 3) + draw.uniform(0, 0.5, 60))) for _ in range(4)]
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["intervals/trials/id"], file["units/id"] = np.arange(20), np.arange(4)
        file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = np.arange(20.0), np.arange(20) + 0.5
        file["units/spike_times"] = np.concatenate(trains)
        file["units/spike_times_index"] = np.cumsum([len(train) for train in trains])
    if message and "trials are" not in message:
        with pytest.raises(files.UnreadableFileError, match=message):
            np.asarray(files.read(tmp_path / "a.nwb")["units"])
        return
    with collect_statements() as statements:
        files.read(tmp_path / "a.nwb")
    assert [message in one for one in statements if one.startswith("warning")] == [True] * bool(message)
    # Units that were observed in the first 10 seconds, in two parts of the session, and always or not known.
    with h5py.File(tmp_path / "a.nwb", "a") as file:
        file["units/obs_intervals"] = [[0.0, 10.4], [0.0, 5.0], [12.0, 20.0], [0.0, 21.0]]
        file["units/obs_intervals_index"] = [1, 3, 4, 4]
    with collect_statements() as statements:
        counts = files.read(tmp_path / "a.nwb")["units"]
    missing = np.zeros((20, 4), dtype=bool)
    missing[11:, 0] = missing[5:12, 1] = True
    np.testing.assert_array_equal(np.isnan(counts), missing)
    assert any("2 of 4 units were not observed in up to 9 of 20 trials" in one for one in statements)
    # Intervals that do not belong to the units say nothing.
    with h5py.File(tmp_path / "a.nwb", "a") as file:
        del file["units/obs_intervals_index"]
        file["units/obs_intervals_index"] = [1, 3, 4]
    assert np.isfinite(files.read(tmp_path / "a.nwb")["units"]).all()


@pytest.mark.parametrize("clock", ["rate", "timestamps"])
def test_fluorescence_is_averaged_in_each_trial(tmp_path, clock):
    h5py = pytest.importorskip("h5py")
    traces, place = rng.normal(size=(100, 4)), "processing/ophys/DfOverF/RoiResponseSeries"
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["intervals/trials/id"], file["intervals/trials/stimulus"] = np.arange(9), np.arange(9) % 3
        file["intervals/trials/start_time"] = np.arange(2.0, 11)
        file["intervals/trials/stop_time"] = np.arange(2.0, 11) + 0.45
        file[f"{place}/data"] = traces
        if clock == "rate":
            file[f"{place}/starting_time"] = 1.0
            file[f"{place}/starting_time"].attrs["rate"] = 10.0
        else:
            file[f"{place}/timestamps"] = 1 + np.arange(100) / 10
    for key in (None, ["RoiResponseSeries"], [place]):
        found = files.read(tmp_path / "a.nwb", keys=key)
        assert list(found) == [place]
        np.testing.assert_allclose(found[place], [traces[k : k + 5].mean(axis=0) for k in range(10, 100, 10)])
    assert files.read_labels(tmp_path / "a.nwb", "stimulus").tolist() == [0, 1, 2] * 3
    with h5py.File(tmp_path / "a.nwb", "a") as file:
        file["intervals/trials/start_time"][:], file["intervals/trials/stop_time"][:] = np.arange(9e3, 9e3 + 9), 9.9e3
    with pytest.raises(
        files.UnreadableFileError, match=r"times of .* in its trials, .* from 1 to 10.9 and trials from 9"
    ):
        np.asarray(files.read(tmp_path / "a.nwb")[place])


@pytest.mark.parametrize("shape", [(8,), (1, 8)])
def test_folders_of_one_vector_per_file(tmp_path, shape):
    (tmp_path / "items").mkdir()
    for name, row in zip(NAMES, X, strict=True):
        np.save(tmp_path / "items" / name, row.reshape(shape))
    (tmp_path / "items" / "notes.txt").write_text("x")
    expect(tmp_path / "items", sorted(NAMES, key=lambda name: int(name[4:])))
    np.save(tmp_path / "items" / "word3", X[3, :5])
    with pytest.raises(files.UnreadableFileError, match=r"one vector of 8 numbers per file, got \(5,\) in word3.npy"):
        files.read(tmp_path / "items")


def parts(folder, names, column="embedding"):
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        rows = slice(5 * number, 5 * number + 5)
        frame = pd.DataFrame({"id": NAMES[rows], column: list(X[rows])})
        if name.endswith(".csv"):
            frame.assign(embedding=[json.dumps(row.tolist()) for row in X[rows]]).to_csv(folder / name, index=False)
        else:
            frame.to_parquet(folder / name, index=False)
    return folder


@pytest.mark.parametrize(
    "names",
    [
        [f"train-{i:05d}-of-00004.parquet" for i in range(4)],
        [f"part-{i:05d}-abc.snappy.parquet" for i in range(4)],
        [f"part.{i}.parquet" for i in range(4)],
        [f"{i:04d}.parquet" for i in range(4)],
        [f"{i}.parquet" for i in range(1, 5)],
        [f"docs_chunk-{i}.parquet" for i in range(4)],
        [f"part-{i:05d}-abc.csv" for i in range(4)],
    ],
)
def test_parts_of_a_table(tmp_path, names):
    pytest.importorskip("pyarrow")
    expect(parts(tmp_path / "export" / "table", names), NAMES)
    (tmp_path / "export" / "README.md").write_text("x")
    for folder in (tmp_path / "export", tmp_path / "export" / "table"):
        assert list(files.read(folder)) == ["embedding"]


@pytest.mark.parametrize("names", [["1", "3"], ["layer_0", "layer_1"], ["2", "3"]])
def test_tables_that_are_not_numbered_from_the_first_are_no_parts(tmp_path, names):
    pytest.importorskip("pyarrow")
    folder = parts(tmp_path / "table", [f"{name}.parquet" for name in names])
    with pytest.raises(ValueError, match=r"got the folder .*; pass the files in it"):
        files.read(folder)


def test_a_folder_lacks_parts_or_holds_several_splits(tmp_path):
    pytest.importorskip("pyarrow")
    folder = parts(tmp_path / "table", [f"train-{i:05d}-of-00004.parquet" for i in range(4)])
    (folder / "test-00000-of-00001.parquet").write_bytes((folder / "train-00000-of-00004.parquet").read_bytes())
    with pytest.raises(files.UnreadableFileError, match="must contain the parts of one split, got test, train"):
        files.read(folder)
    (folder / "test-00000-of-00001.parquet").unlink()
    (folder / "train-00002-of-00004.parquet").unlink()
    with pytest.raises(files.UnreadableFileError, match="must contain all 4 parts that the file names count, got 3"):
        files.read(folder)


def test_partitions_are_labels(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(kind=["a"] * 10 + ["b"] * 10)
    frame.to_parquet(tmp_path / "table", partition_cols=["kind"])
    expect(tmp_path / "table")
    assert files.read_labels(tmp_path / "table", "kind").tolist() == ["a"] * 10 + ["b"] * 10


@pytest.mark.parametrize("ending", [".feather", ".arrow"])
def test_feather(tmp_path, ending):
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(pd.DataFrame({"id": NAMES, "e": list(X)}), tmp_path / f"a{ending}")
    expect(tmp_path / f"a{ending}", NAMES)


@pytest.mark.filterwarnings("ignore:var_names are not unique", "ignore:rows of y")
@pytest.mark.parametrize("labels", ["kind", "rna:type", "adt:type"])
def test_labels_of_modalities_with_unequal_cells(tmp_path, labels):
    """Labels of cells that a modality lacks are not used, whichever modality has them."""
    mudata = pytest.importorskip("mudata")
    anndata = pytest.importorskip("anndata")
    cells, cell_rng = [f"c{k}" for k in range(60)], np.random.default_rng(0)

    def modality(names):
        kind = np.array([int(name[1:]) % 3 for name in names])
        obs = pd.DataFrame({"type": np.array(["B", "NK", "T"])[kind]}, index=names)
        return anndata.AnnData(cell_rng.standard_normal((len(names), 5)) + kind[:, None], obs=obs)

    mudata.set_options(pull_on_update=False)
    data = mudata.MuData({"rna": modality(cells), "adt": modality(cells[20:][::-1])})
    data.obs["kind"] = np.array(["B", "NK", "T"])[[int(name[1:]) % 3 for name in data.obs_names]]
    data.write(tmp_path / "cells.h5mu")
    options = ["--labels", labels, "--quick", "--json", str(tmp_path / "found.json")]
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "cells.h5mu"), *options])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert sum(found["labels"]["sizes"]) == 40


def test_records_with_several_vectors_in_a_list_of_a_document_are_read(tmp_path):
    vectors = [{"image": [0.5 * i, 1.0, 2.0, 3.0], "text": [1.0, 2.0, 3.0, 0.1 * i, 5.0]} for i in range(6)]
    for key in ("vectors", "embeddings"):
        document = {"data": [{"index": i, key: one} for i, one in enumerate(vectors)][::-1]}
        (tmp_path / "a.json").write_text(json.dumps(document))
        found = files.open_file(tmp_path / "a.json").representations
        assert found[f"{key}.image"].tolist() == [one["image"] for one in vectors]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("resp_{}", True), ("{}", True), ("batch-{}_output", True), ("layer_{}", False), ("seed{}", False)],
)
def test_numbered_responses_in_a_folder_are_one_table(tmp_path, name, is_one):
    for k in range(10):
        body = {"object": "list", "data": [embedding(2 * k + i, i) for i in (1, 0)], "model": "m"}
        (tmp_path / f"{name.format(k)}.json").write_text(json.dumps(body))
    if not is_one:
        with pytest.raises(ValueError, match="pass the files in it"):
            files.open_file(tmp_path)
        return
    with collect_statements() as said:
        (found,) = files.open_file(tmp_path).representations.values()
    np.testing.assert_allclose(found, X, rtol=1e-6)
    assert f"{tmp_path.name}: 10 files as one table" in said


def test_similarities_beside_vectors_are_no_features(tmp_path):
    np.savez(tmp_path / "clip.npz", image_embeds=X, text_embeds=-X, logits_per_image=X @ -X.T)
    assert list(files.open_file(tmp_path / "clip.npz").representations) == ["image_embeds", "text_embeds"]
    # Scores of 8 classes, and similarities alone, are representations.
    np.savez(tmp_path / "scores.npz", logits=X, hidden=X)
    np.savez(tmp_path / "alone.npz", similarity=X @ X.T)
    assert list(files.open_file(tmp_path / "scores.npz").representations) == ["logits", "hidden"]
    assert list(files.open_file(tmp_path / "alone.npz").representations) == ["similarity"]


@pytest.mark.parametrize(
    ("start", "kind"), [(b"IxF2", "FAISS"), (b"ARROW1", "Arrow"), (b"SQLite format 3\0", "SQLite")]
)
def test_files_under_a_wrong_ending_are_recognised(tmp_path, start, kind):
    (tmp_path / "x.npy").write_bytes(start + bytes(100))
    with pytest.raises(files.UnreadableFileError, match=f"content looks like an? .*{kind}"):
        files.open_file(tmp_path / "x.npy")


@pytest.mark.parametrize("known", ["timestamps", "rois", "electrodes", "timestamps and rois", "nothing"])
def test_series_with_times_in_columns_are_transposed(tmp_path, known):
    h5py = pytest.importorskip("h5py")
    traces, place = rng.normal(size=(100, 4)), "processing/ophys/F/RoiResponseSeries"

    def read(name, values):
        with h5py.File(tmp_path / name, "w") as file:
            file.attrs["nwb_version"] = "2.6.0"
            file["intervals/trials/id"] = np.arange(9)
            file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = np.arange(9.0), np.arange(9) + 0.5
            file[f"{place}/data"] = values
            if "timestamps" in known:
                file[f"{place}/timestamps"] = np.arange(100) / 10
            else:
                file[f"{place}/starting_time"] = 0.0
                file[f"{place}/starting_time"].attrs["rate"] = 10.0
            for part in {"rois", "electrodes"} & set(known.split()):
                file[f"{place}/{part}"] = np.arange(4)
        with collect_statements() as statements:
            found = np.asarray(files.read(tmp_path / name)[place])
        return found, " ".join(statements)

    right, text = read("right.nwb", traces)
    assert "transposed" not in text
    if known == "nothing":
        with pytest.raises(
            files.UnreadableFileError, match=r"4 x 100, .* in 1 of 9 trials, .* in 9; write it transpos"
        ):
            read("turned.nwb", traces.T)
    else:
        turned, text = read("turned.nwb", traces.T)
        np.testing.assert_array_equal(turned, right)
        assert "has its 100 times in columns and 4 channels in rows, and was transposed" in text
