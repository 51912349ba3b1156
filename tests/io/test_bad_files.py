"""Bad files of every kind become messages that name the file and say what to do."""

import io
import os
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from shesha import io as files

ENDINGS = [".npy", ".npz", ".safetensors", ".parquet", ".csv", ".tsv", ".h5ad"]
MATRIX = np.random.default_rng(0).normal(size=(50, 4))


def written(folder, ending):
    """A good file of each kind."""
    path = folder / f"good{ending}"
    if ending == ".npy":
        np.save(path, MATRIX)
    elif ending == ".npz":
        np.savez_compressed(path, a=MATRIX)
    elif ending == ".safetensors":
        pytest.importorskip("safetensors.numpy").save_file({"a": MATRIX}, path)
    elif ending == ".parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(MATRIX, columns=list("abcd")).to_parquet(path)
    elif ending == ".h5ad":
        pytest.importorskip("anndata").AnnData(MATRIX).write_h5ad(path)
    return path


@pytest.mark.parametrize("read", [files.read, files.open_file, files.read_labels])
def test_missing_file(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=r"path must be an existing file, got .*nowhere.npy"):
        read(tmp_path / "nowhere.npy")
    with pytest.raises(TypeError, match="path must be a string or a path, got int"):
        read(3)


@pytest.mark.parametrize("strange", [[[1], [1, 2]], np.array([[1], [2]]), pd.Series([[1], [1, 2]]).to_numpy()])
def test_names_of_columns_that_are_no_texts(tmp_path, strange):
    with pytest.raises((ValueError, TypeError), match="labels_column must"):
        files.open_file(written(tmp_path, ".npy"), labels_column=strange)


@pytest.mark.parametrize("ending", ENDINGS)
def test_directory(tmp_path, ending):
    (tmp_path / f"m{ending}").mkdir()
    with pytest.raises(IsADirectoryError, match=rf"path must be a {ending} file, got the directory .*m{ending}"):
        files.read(tmp_path / f"m{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_file(tmp_path, ending):
    (tmp_path / f"m{ending}").touch()
    for read in (files.read, files.read_labels):
        with pytest.raises(files.UnreadableFileError, match=rf"m{ending} must be a {ending} file, got an empty file"):
            read(tmp_path / f"m{ending}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_pipe(tmp_path, ending):
    (tmp_path / "parts").mkdir()
    places = [tmp_path / f"m{ending}", tmp_path / "parts" / f"m-0{ending}"]
    for place in places:
        os.mkfifo(place)
    for read, place in ((files.read, places[0]), (files.open_matrix, places[0]), (files.open_matrix, places[1].parent)):
        with pytest.raises(files.UnreadableFileError, match=r"path must be a regular file|must contain"):
            read(place)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors", ".parquet", ".h5ad"])
@pytest.mark.parametrize("share", [0.02, 0.99])
def test_truncated_file(tmp_path, ending, share):
    path = written(tmp_path, ending)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(
        files.UnreadableFileError, match=rf"good{ending} must be a complete {ending} file, got one that"
    ):
        files.read(path)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors", ".parquet", ".h5ad"])
@pytest.mark.parametrize("content", [b"hello world, this is text\n" * 40, bytes(500)])
def test_other_content_behind_a_known_ending(tmp_path, ending, content):
    path = tmp_path / f"m{ending}"
    path.write_bytes(content)
    for read in (files.read, lambda path: files.read_labels(path, "y")):
        with pytest.raises(
            files.UnreadableFileError, match=rf"m{ending} must be .* the file is damaged or has another format"
        ):
            read(path)


KINDS = {".npy": "a .npy file", ".npz": "a zip archive", ".parquet": "a .parquet file", ".h5ad": "an HDF5 file"}


@pytest.mark.parametrize(
    ("true", "ending"),
    [(true, ending) for true in KINDS for ending in [*KINDS, ".safetensors", ".csv"] if true != ending],
)
def test_files_with_the_wrong_ending(tmp_path, true, ending):
    path = written(tmp_path, true).rename(tmp_path / f"m{ending}")
    with pytest.raises(
        files.UnreadableFileError, match=rf"a complete {ending} file, .* its content looks like {KINDS[true]}"
    ):
        files.read(path)


def test_header_that_promises_more_than_the_file_holds(tmp_path):
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    np.lib.format.write_array_header_1_0(buffer, header)
    (tmp_path / "m.npy").write_bytes(buffer.getvalue() + bytes(64))
    with pytest.raises(files.UnreadableFileError, match=r"m.npy must be a complete .npy file"):
        files.read(tmp_path / "m.npy")
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("a.npy", buffer.getvalue() + bytes(64))
    with pytest.raises(
        files.UnreadableFileError, match=r"m.npz must contain 'a' completely, shape \(1000000000, 1000000\)"
    ):
        files.read(tmp_path / "m.npz")


@pytest.mark.parametrize("header", [b"{'descr': '<f8'}", b"[" * 9000, b"{'descr': ().__class__}", b"\x00" * 100])
def test_headers_that_are_no_headers(tmp_path, header):
    path = tmp_path / "m.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(files.UnreadableFileError, match=r"must be a complete .npy file"):
        files.read(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_forbidden_file(tmp_path):
    path = written(tmp_path, ".npy")
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"good.npy"):
        files.read(path)


@pytest.mark.parametrize(
    ("ending", "module"),
    [(".parquet", "pyarrow.parquet"), (".safetensors", "safetensors"), (".h5ad", "h5py"), (".zarr", "zarr")],
)
def test_missing_library_names_the_extra(tmp_path, monkeypatch, ending, module):
    path = tmp_path / f"m{ending}"
    if ending == ".zarr":
        path.mkdir()
        (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    else:
        path.write_bytes(b"content")
    monkeypatch.setitem(sys.modules, module, None)
    package = module.partition(".")[0]
    with pytest.raises(
        ImportError, match=rf'{package} must be installed to read {ending} files .*"shesha-representations\[files\]"'
    ):
        files.read(path)
