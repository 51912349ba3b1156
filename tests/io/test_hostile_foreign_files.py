"""Files of further formats that lie about their size, lead elsewhere or hold code are refused with one line."""

import gzip
import json
import os
import pickle
import zlib

import numpy as np
import pytest
from scipy import io, sparse

from shesha import io as files
from shesha.io.file_checks import reading

X = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
LINES = "\n".join(f"w{i} " + " ".join(map(str, row)) for i, row in enumerate(X))


class Payload:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def matrix_market(path):
    path.write_text("%%MatrixMarket matrix coordinate real general\n20 8 999999999\n1 1 0.5\n")


def place_outside(path):
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 9 0.5\n")


FILES = {
    "too much text": (
        "a.csv.gz",
        lambda path: path.write_bytes(gzip.compress(b"0" * (1 << 22))),
        "must unpack to at most",
    ),
    "many lists": ("a.json", lambda path: path.write_text("[" + "[]," * 50_000 + "[]]"), "must fit the memory budget"),
    "deep lists": ("a.json", lambda path: path.write_text("[" * 3000 + "]" * 3000), "nested so deeply|memory budget"),
    "a header of words": ("a.vec", lambda path: path.write_text(f"99999999 8\n{LINES}"), "vectors that it declares"),
    "a length": (
        "a.fvecs",
        lambda path: path.write_bytes(b"\xff\xff\xff\x7f" + b"a" * 100),
        "each follow their length",
    ),
    "declared places": ("a.mtx", matrix_market, "must contain the values that it declares"),
    "places outside": ("a.mtx", place_outside, r"must contain places within \(2, 2\), got others"),
    "a pickle": ("a.pt", lambda path: path.write_bytes(pickle.dumps({"x": Payload()})), "never read|never loaded"),
}


@pytest.mark.parametrize("kind", FILES)
def test_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("SHESHA_MEMORY", "2M")
    monkeypatch.chdir(tmp_path)
    name, write, told = FILES[kind]
    if name.endswith(".pt"):
        pytest.importorskip("torch")
    write(tmp_path / name)
    with pytest.raises(files.UnreadableFileError, match=told):
        files.read(tmp_path / name)
    assert not (tmp_path / "executed").exists()


def test_code_in_a_torch_file(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    torch.save({"x": Payload()}, tmp_path / "a.pt")
    with pytest.raises(files.UnreadableFileError, match=r"^PyTorch file .*, which could run code and is never loaded"):
        files.read(tmp_path / "a.pt")
    assert not (tmp_path / "executed").exists()


def test_a_tensor_that_only_declares_its_size(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.zeros(1).expand(10**6, 10**6), tmp_path / "a.pt")
    with pytest.raises(files.UnreadableFileError, match=r"a tensor in .* must fit the memory budget"):
        files.read(tmp_path / "a.pt")


@pytest.mark.parametrize("kind", ["soft", "external", "virtual"])
def test_links_in_hdf5(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = X
        if kind == "virtual":
            layout = h5py.VirtualLayout(X.shape, X.dtype)
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "secret", X.shape)
            file.create_virtual_dataset("b", layout)
        else:
            file["b"] = h5py.SoftLink("/a") if kind == "soft" else h5py.ExternalLink("other.h5", "/secret")
    with pytest.raises(
        files.UnreadableFileError, match=r"^HDF5 file .* must contain b itself, got an entry that is a link"
    ):
        files.read(tmp_path / "a.h5")
    np.testing.assert_array_equal(files.read(tmp_path / "a.h5", keys=["a"])["a"], X)


def test_links_out_of_a_folder_of_parts(tmp_path):
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "table").mkdir()
    parquet.write_table(pa.table({"e": list(X)}), tmp_path / "secret.parquet")
    (tmp_path / "table" / "part-0.parquet").symlink_to(tmp_path / "secret.parquet")
    with pytest.raises(files.UnreadableFileError, match="must contain its files, got a link"):
        files.read(tmp_path / "table")


def test_results_in_a_folder_are_no_representations(tmp_path):
    from shesha.io.formats import is_readable

    (tmp_path / "result.json").write_text(json.dumps({"value": 0.3, "notes": ["a"], "low": 0.1}))
    (tmp_path / "README.txt").write_text("What these files are.\n")
    (tmp_path / "words.txt").write_text(LINES)
    assert [path.name for path in sorted(tmp_path.iterdir()) if is_readable(path)] == ["words.txt"]


@pytest.mark.parametrize("compressed", [False, True])
def test_elements_of_unknown_types_never_reach_scipy(tmp_path, compressed):
    """SciPy takes the type of an element as an index into a table, and ends the process if it is too large."""
    cell = np.empty((1, 2), dtype=object)
    cell[:] = ["text", np.eye(3)]
    path = tmp_path / "a.mat"
    values = {"X": np.ones((5, 3)), "c": cell, "m": sparse.csc_matrix(np.eye(4)), "s": {"inner": cell}}
    io.savemat(path, values, do_compression=False)
    good = path.read_bytes()
    before = len(files.open_file(path).representations)
    assert before > 0
    rowind = good.index(b"m\0\0\0" if b"m\0\0\0" in good else b"m") + 4
    for kind, at in ((5381, rowind), (16, rowind), (200, good.index(b"inner") - 8)):
        found = bytearray(good)
        found[at : at + 4] = kind.to_bytes(4, "little")
        path.write_bytes(pack(bytes(found)) if compressed else found)
        with pytest.raises(files.UnreadableFileError, match=f"elements of known types.* got type {kind}"):
            files.open_file(path)
    path.write_bytes(pack(good) if compressed else good)
    assert len(files.open_file(path).representations) == before


@pytest.mark.parametrize("inside", [False, True])
def test_indices_of_sparse_matlab_matrices_are_checked(tmp_path, inside):
    """SciPy writes outside the array otherwise, which ends the process."""
    m = sparse.csc_matrix(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))
    m.indices = m.indices + np.array([0, 0, 0, 0, 1 << 28], dtype=np.int32)
    io.savemat(tmp_path / "a.mat", {"s": {"m": m}} if inside else {"m": m})
    with pytest.raises(files.UnreadableFileError, match="must be a complete"):
        files.open_file(tmp_path / "a.mat")


@pytest.mark.parametrize(("kind", "place"), [("loom", "col_attrs"), ("loom", "layers"), ("h5mu", "mod")])
def test_arrays_in_place_of_groups_are_refused_unread(tmp_path, kind, place):
    """Names are not looked for in their values, which may be large."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / f"a.{kind}"
    with h5py.File(path, "w") as file:
        for name in ("obs",) if kind == "h5mu" else ("row_attrs", *{"col_attrs"} - {place}):
            file.create_group(name)
        file["matrix"] = X
        file[place] = np.zeros((9, 9))
    with pytest.raises(files.UnreadableFileError, match=f"must contain {place} as a group"):
        files.open_file(path)


def pack(content):
    """Compress each variable of a MATLAB file, as MATLAB does by default."""
    parts, place = [content[:128]], 128
    while place < len(content):
        size = 8 + int.from_bytes(content[place + 4 : place + 8], "little")
        packed = zlib.compress(content[place : place + size])
        parts += [(15).to_bytes(4, "little"), len(packed).to_bytes(4, "little"), packed]
        place += size
    return b"".join(parts)


@pytest.mark.parametrize(("size", "error"), [(1 << 10, files.UnreadableFileError), (1 << 17, MemoryError)])
def test_a_small_file_that_declares_more_than_the_memory_is_damaged(tmp_path, size, error):
    (tmp_path / "a.mat").write_bytes(bytes(size))
    message = "declares more than this" if size < 1 << 16 else "does not fit"
    with pytest.raises(error, match=message), reading(tmp_path / "a.mat"):
        raise MemoryError
    (tmp_path / "a.zarr" / "obs").mkdir(parents=True)
    (tmp_path / "a.zarr" / "obs" / "kind").write_bytes(bytes(size))
    with pytest.raises(error, match=message), reading(tmp_path / "a.zarr"):
        raise MemoryError


def test_the_kind_of_a_matlab_file_does_not_depend_on_its_first_words(tmp_path):
    """SciPy reads any first words, and then uses a type of 265 as an index, which ends the process."""
    io.savemat(tmp_path / "a.mat", {"c": np.array([X[0], X[1]], dtype=object)})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    content[:6] = b"LATLAB"
    place = content.rindex((9).to_bytes(4, "little"))
    content[place : place + 4] = (265).to_bytes(4, "little")
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(files.UnreadableFileError, match=r"elements of known types, .* got type 265"):
        files.open_file(tmp_path / "a.mat")


@pytest.mark.parametrize("compressed", [False, True])
def test_variables_with_a_missing_part_are_refused(tmp_path, compressed):
    """SciPy would take the type of the next variable as that of the imaginary part, which ends the process."""
    io.savemat(tmp_path / "a.mat", {"c": np.array([X[0], X[1] + 1j], dtype=object)})
    content = (tmp_path / "a.mat").read_bytes()
    place = content.index(b"\6\0\0\0\x08\0\0\0\6\0\0\0") + 9
    found = content[:place] + b"\x08" + content[place + 1 :]
    (tmp_path / "a.mat").write_bytes(pack(found) if compressed else found)
    with pytest.raises(files.UnreadableFileError, match="variables of 4 elements, got one of 3"):
        files.open_file(tmp_path / "a.mat")


def test_an_array_in_place_of_the_observations_is_not_searched(tmp_path):
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    anndata.AnnData(X, obsm={"X_pca": X}).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "a") as file:
        del file["obs"]
        file.create_dataset("obs", (1 << 20, 1 << 20), "f8", chunks=(1, 9))
    assert files.open_file(tmp_path / "a.h5ad").row_names is None


def test_hidden_groups_of_matlab_files_are_found_without_following_damaged_links(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file["X"], file["#refs#/a"] = X.T, X.T
    content = bytearray((tmp_path / "a.mat").read_bytes())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(116) + b"\0" * 8 + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(content)
    assert list(files.open_file(tmp_path / "a.mat").representations) == ["X"]
    place = content.index(b"HEAP")
    content[place : place + 4] = b"DAMP"
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(files.UnreadableFileError, match=r"must be a complete \.mat file"):
        files.open_file(tmp_path / "a.mat")
