"""The lines of Python that errors print convert files made by their own library into files that are read."""

import pickle
import re
import sqlite3
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.io

from shesha import io as files

X = np.random.default_rng(0).normal(size=(20, 8))
NAMES = [f"word{i}" for i in range(20)]
FRAME = pd.DataFrame({"text": NAMES, "embedding": list(X)}, index=[f"row{i}" for i in range(20)])


def convert(path, message, replace=("", "")):
    """Run the lines as printed, in a new process, and return the path of the file that they name last."""
    lines = [line.strip() for line in message.splitlines()[1:]]
    code = "\n".join(lines).replace(*replace)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=path.parent)
    return next(
        name
        for name in reversed(re.findall(r"'([^']*)'", code))
        if name.startswith(str(path.parent)) and name != str(path)
    )


def refusal(path):
    with pytest.raises((ValueError, files.UnreadableFileError)) as refused:
        files.read(path)
    return str(refused.value)


def dump(path, content):
    path.write_bytes(pickle.dumps(content))


PICKLES = {
    "an array": (X, "a", None),
    "a list of vectors": (list(X), "a", None),
    "vectors by word": (dict(zip(NAMES, X, strict=True)), "a", NAMES),
    "a table": (FRAME, "embedding", list(FRAME.index)),
    "arrays by name": ({"embeddings": X, "texts": NAMES}, "embedding", NAMES),
    "layers": ({"model": {"layer.0": X}}, "model.layer.0", None),
}


@pytest.mark.parametrize("kind", PICKLES)
def test_pickles(tmp_path, kind):
    content, name, names = PICKLES[kind]
    dump(tmp_path / "a.pkl", content)
    message = refusal(tmp_path / "a.pkl")
    assert message.startswith("Pickles are never read, because they can run code, got ")
    found = files.open_file(convert(tmp_path / "a.pkl", message))
    np.testing.assert_array_equal(found.representations[name], X)
    assert (None if found.row_names is None else found.row_names.values.tolist()) == names


def test_torch_files_with_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"layer": X}, tmp_path / "a.pt")
    message = refusal(tmp_path / "a.pt")
    assert re.match(
        r"PyTorch file .* must contain only tensors, .* got numpy\S+_reconstruct, which could run code", message
    )
    np.testing.assert_array_equal(files.read(convert(tmp_path / "a.pt", message))["layer"], X)


def test_a_pickled_model_is_no_file_of_vectors(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(3, 3), tmp_path / "a.pt")
    assert re.search(
        r"got a pickled model \(torch.nn.*\.Linear\), .* shesha.extract.activations", refusal(tmp_path / "a.pt")
    )


def excel(path):
    pytest.importorskip("openpyxl")
    pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).to_excel(path, index=False)


def joblib_file(path):
    pytest.importorskip("joblib").dump(X, path)


def words(path):
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(8)
    vectors.add_vectors(NAMES, X)
    vectors.save(str(path))


def stata(path):
    pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).to_stata(path, write_index=False)


def orc(path):
    pytest.importorskip("pyarrow.orc")
    pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).to_orc(path, index=False)


def epochs(path):
    mne = pytest.importorskip("mne")
    info = mne.create_info(4, 100.0, "eeg")
    mne.EpochsArray(X.reshape(20, 4, 2) * 1e-6, info, verbose="error").save(path, verbose="error")


def recording(path, fdt=False):
    """Write trials of 4 channels and 2 times as EEGLAB does, with the data in a file of their own or not."""
    data = X.astype("f4").reshape(20, 4, 2).transpose(1, 2, 0)
    if fdt:
        data.ravel(order="F").tofile(path.with_suffix(".fdt"))
    fields = {"nbchan": 4.0, "pnts": 2.0, "trials": 20.0, "data": path.with_suffix(".fdt").name if fdt else data}
    scipy.io.savemat(path, fields if fdt else {"EEG": fields}, appendmat=False)


def image(path):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(X.T.reshape(2, 2, 2, 20), np.eye(4)), path)


def r_table(path):
    pytest.importorskip("pyreadr").write_rds(str(path), pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]))


def sqlite(path):
    pytest.importorskip("pyarrow")
    database = sqlite3.connect(path)
    database.execute("create table vectors (id text, vector blob)")
    database.executemany("insert into vectors values (?, ?)", [(n, x.tobytes()) for n, x in zip(NAMES, X, strict=True)])
    database.commit()
    database.close()


def duck(path):
    database = pytest.importorskip("duckdb").connect(str(path))
    frame = pd.DataFrame({"id": NAMES, "vector": list(X)})  # noqa: F841
    database.execute("create table vectors as select * from frame")
    database.close()


def onnx_model(path):
    """Write a model that returns its input."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None, 8]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(onnx.helper.make_model(graph), path)
    np.save(path.parent / "inputs.npy", X)


def packed(path):
    import gzip

    np.save(path.with_suffix(""), X)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    path.with_suffix("").unlink()


WRITERS = {
    "a.joblib": joblib_file,
    "a.xlsx": excel,
    "a.kv": words,
    "a.dta": stata,
    "a.orc": orc,
    "a-epo.fif": epochs,
    "a.set": recording,
    "b.set": partial(recording, fdt=True),
    "a.nii.gz": image,
    "a.npy.gz": packed,
    "a.rds": r_table,
    "a.sqlite": sqlite,
    "a.duckdb": duck,
    "a.onnx": onnx_model,
    "a.dat": lambda path: np.savetxt(path, X),
}


@pytest.mark.parametrize("name", WRITERS)
def test_other_formats(tmp_path, name):
    WRITERS[name](tmp_path / name)
    message = refusal(tmp_path / name)
    assert not message.startswith("path must")
    (found,) = files.read(convert(tmp_path / name, message)).values()
    expected = X * 1e-6 if name == "a-epo.fif" else X
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_raw_numbers(tmp_path):
    X.astype("f4").tofile(tmp_path / "a.bin")
    message = refusal(tmp_path / "a.bin")
    converted = convert(tmp_path / "a.bin", message, ("n_features = 768", "n_features = 8"))
    np.testing.assert_allclose(files.read(converted.replace("a.bin", "a.npy"))["a"], X, rtol=1e-6)


def test_counted_vectors(tmp_path):
    (tmp_path / "a.fbin").write_bytes(np.array(X.shape, "u4").tobytes() + X.astype("f4").tobytes())
    converted = convert(tmp_path / "a.fbin", refusal(tmp_path / "a.fbin"))
    np.testing.assert_allclose(files.read(converted)["a"], X, rtol=1e-6)


def test_binary_word_vectors(tmp_path):
    pytest.importorskip("gensim")
    body = b"".join(word.encode() + b" " + row.astype("f4").tobytes() for word, row in zip(NAMES, X, strict=True))
    (tmp_path / "a.bin").write_bytes(b"20 8\n" + body)
    converted = convert(tmp_path / "a.bin", refusal(tmp_path / "a.bin"))
    np.testing.assert_allclose(files.read(converted)["a"], X, rtol=1e-5)


def test_dimensions_without_known_names(tmp_path):
    xarray = pytest.importorskip("xarray")
    xarray.DataArray(X, dims=("a", "b"), name="R").to_netcdf(tmp_path / "a.nc", engine="scipy")
    np.testing.assert_allclose(files.read(convert(tmp_path / "a.nc", refusal(tmp_path / "a.nc")))["R"], X)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.gguf", "GGUF files hold a model, whose outputs are compared; pass it as --model"),
        ("a.zip", "Archives are not read; unpack it"),
        ("a.tar.gz", "Archives are not read; unpack it"),
        ("a.faiss", "FAISS indexes are not read"),
        ("a.bin", ".bin file"),
        ("saved/index.faiss", "FAISS indexes are not read"),
        ("photos/cat/1.jpg", "Images are not read; encode them"),
    ],
)
def test_reasons(tmp_path, name, told):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"x")
    # A folder is refused as its first file is.
    assert refusal(tmp_path / name.partition("/")[0]).startswith(told)


@pytest.mark.parametrize("name", ["a.faiss", "a.bin", "a.dat"])
def test_identifiers_of_an_index_are_kept(tmp_path, name):
    (tmp_path / name).write_bytes(b"IxMp" + bytes(40))
    assert "faiss_id=ids" in refusal(tmp_path / name)
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexIDMap(faiss.IndexFlatIP(8))
    index.add_with_ids(X.astype("f4"), 100 - np.arange(20))
    faiss.write_index(index, str(tmp_path / name))
    found = files.open_file(convert(tmp_path / name, refusal(tmp_path / name)))
    np.testing.assert_allclose(found.representations["vectors"], X, rtol=1e-6)
    assert list(found.row_names.values) == list(100 - np.arange(20))
