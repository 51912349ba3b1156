"""Files made to lead elsewhere, to fill the memory or never to end are refused with one line, before they are read."""

import gzip
import importlib.util
import os
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shesha import io as files
from shesha.io.file_checks import reading

X = np.random.default_rng(0).normal(size=(30, 6))


def adata_file(folder):
    anndata = pytest.importorskip("anndata")
    path = folder / "m.h5ad"
    anndata.AnnData(X, obsm={"X_pca": X[:, :5]}).write_h5ad(path)
    return path, pytest.importorskip("h5py")


def refused(path, told, **options):
    with pytest.raises(files.UnreadableFileError, match=told):
        files.read(path, **options)


def test_links_out_of_an_h5ad_file(tmp_path):
    path, h5py = adata_file(tmp_path)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = X
    for link in (h5py.ExternalLink(str(tmp_path / "other.h5"), "/secret"), h5py.SoftLink("/X")):
        with h5py.File(path, "a") as file:
            del file["obsm/X_pca"]
            file["obsm/X_pca"] = link
        refused(path, r"must contain obsm/X_pca itself, got a link to .*(other.h5|/X); copy the target into")


def test_values_of_other_files(tmp_path):
    path, h5py = adata_file(tmp_path)
    (tmp_path / "raw").write_bytes(X.tobytes())
    with h5py.File(path, "a") as file:
        del file["obsm/X_pca"]
        file["obsm"].create_dataset("X_pca", X.shape, X.dtype, external=[(str(tmp_path / "raw"), 0, X.nbytes)])
    refused(path, "must contain the values of obsm/X_pca, got values in other files")
    with h5py.File(path, "a") as file:
        del file["obsm/X_pca"]
        layout = h5py.VirtualLayout(X.shape, X.dtype)
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "secret", X.shape)
        file["obsm"].create_virtual_dataset("X_pca", layout)
    refused(path, "must contain the values of obsm/X_pca, got values in other files")


def test_groups_within_themselves(tmp_path):
    path, h5py = adata_file(tmp_path)
    with h5py.File(path, "a") as file:
        file["obsm/again"] = file["obsm"]
    refused(path, "must contain every group once, got obsm/again twice")


@pytest.mark.parametrize(
    ("shape", "chunks", "told"),
    [
        (
            (10_000, 20_000),
            (100, 100),
            r"X in .* must have at most 1,000 unpacked bytes per stored byte, got 1.5 GiB in",
        ),
        ((1000, 1000), (1, 1), r"X in .* must be stored in at most 262,144 chunks, got 1,000,000 of shape \(1, 1\)"),
        ((10**6, 10**6), (100, 100), "X in .* must fit the memory budget of 4.0 GiB"),
    ],
)
def test_arrays_that_only_declare_their_size(tmp_path, monkeypatch, shape, chunks, told):
    monkeypatch.setenv("SHESHA_MEMORY", "4G")
    path, h5py = adata_file(tmp_path)
    with h5py.File(path, "a") as file:
        del file["X"]
        file.create_dataset("X", shape, "f8", chunks=chunks)
    refused(path, told, keys=["X"])
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "X.zarr", shape=shape, chunks=chunks, dtype="f8")
    refused(tmp_path / "X.zarr", told)


def test_a_sparse_matrix_that_is_all_zeros(tmp_path, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "4G")
    path, h5py = adata_file(tmp_path)
    with h5py.File(path, "a") as file:
        del file["X"]
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": (30, 10**7)})
        for name, values in {"data": np.empty(0), "indices": np.empty(0, int), "indptr": np.zeros(31, int)}.items():
            group[name] = values
    refused(
        path, r"X in .* must have at most 1,000 unpacked bytes per stored byte, got 2.2 GiB in 248 bytes", keys=["X"]
    )


@pytest.mark.parametrize("inside", ["group", "chunks"])
@pytest.mark.parametrize("kind", ["a link", "a pipe or device"])
def test_what_is_neither_file_nor_folder_in_a_store(tmp_path, kind, inside):
    zarr = pytest.importorskip("zarr")
    store = tmp_path / "m.zarr"
    group = zarr.open_group(store, mode="w")
    group.create_array("a", data=X, chunks=(10, 6))
    place = store / "more" if inside == "group" else store / "a" / "c" / "0" / "0"
    place.unlink(missing_ok=True)
    if kind == "a link":
        place.symlink_to("/dev/zero")
    else:
        os.mkfifo(place)
    refused(store, f"must contain only files and folders, got {kind}: ")


def test_members_of_an_archive_that_unpack_to_more_than_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("shesha.io.file_checks._MOST_UNASKED", 1 << 20)
    header = np.lib.format.header_data_from_array_1_0(np.empty((1, 1)))
    with zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_BZIP2) as archive, archive.open("a.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, {**header, "shape": (3, 10**5)})
        member.write(bytes(24 * 10**5))
    refused(tmp_path / "m.npz", "a in .* must have at most 1,000 unpacked bytes per stored byte, got 2 MiB in")
    monkeypatch.setenv("SHESHA_MEMORY", "1k")
    np.savez(tmp_path / "m.npz", a=X)
    refused(tmp_path / "m.npz", r"a in .* must fit the memory budget of 1 KiB, got shape \(30, 6\) of float64")
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"a": X}, tmp_path / "m.safetensors")
    refused(tmp_path / "m.safetensors", "a in .* must fit the memory budget of 1 KiB")


def test_members_of_an_archive_that_share_their_bytes(tmp_path):
    np.savez(tmp_path / "m.npz", a=X, b=X)
    data = bytearray((tmp_path / "m.npz").read_bytes())
    directory = data.find(b"PK\x01\x02")
    for field in (20, 24):
        struct.pack_into("<I", data, directory + field, len(data))
    (tmp_path / "m.npz").write_bytes(data)
    refused(tmp_path / "m.npz", "must not contain overlapping members, got")


def test_values_of_parquet_that_are_counted_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}), tmp_path / "m.parquet")
    assert (tmp_path / "m.parquet").stat().st_size < 10_000
    refused(tmp_path / "m.parquet", r"a in .* must fit the memory budget of 1 MiB, got .*8 MiB")
    lists = pa.FixedSizeListArray.from_arrays(np.zeros(10**6), 100)
    parquet.write_table(pa.table({"e": lists}), tmp_path / "m.parquet")
    refused(tmp_path / "m.parquet", r"e in .* must fit the memory budget of 1 MiB, got .*3 MiB")


def test_a_panic_is_one_line():
    class PanicException(BaseException):
        pass

    told = pytest.raises(
        files.UnreadableFileError, match=r"\(PanicException: index out of bounds\): the file is damaged"
    )
    with told, reading(Path("m.safetensors")):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), reading(Path("m.safetensors")):
        raise KeyboardInterrupt


def fuzzing():
    script = Path(__file__).parents[2] / "scripts" / "fuzz_files.py"
    spec = importlib.util.spec_from_file_location("fuzz_files", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_end_in_a_result_or_in_one_line(tmp_path, monkeypatch):
    """A bounded part of `scripts/fuzz_files.py`, in this process: it has found no crash in any of these kinds."""
    for module in ("anndata", "pyarrow", "safetensors", "zarr"):
        pytest.importorskip(module)
    monkeypatch.setenv("SHESHA_MEMORY", "64M")
    fuzz = fuzzing()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = fuzz.seeds(tmp_path)
    tried = 0
    for number in range(12):
        for kind in ("npy", "npz", "safetensors", "parquet", "lists.parquet", "csv", "tsv", "v3.zarr", "v2.zarr"):
            path = fuzz.write_case(kind, good[kind], number, 7, tmp_path)
            assert fuzz.read_whole(path) in ("read", "refused"), (kind, number)
            tried += 1
    assert tried == 108


def test_obs_that_is_no_table(tmp_path):
    path, h5py = adata_file(tmp_path)
    with h5py.File(path, "a") as file:
        del file["obs"]
        file["obs"] = X
        file["obs"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(files.UnreadableFileError, match="must contain obs as a table, got ndarray"):
        files.read_labels(path, "kind")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_text_tables_with_more_fields_than_fit_the_memory_are_refused(tmp_path, monkeypatch, name):
    """The parser of pandas takes ten times the memory of a text of short fields."""
    monkeypatch.setenv("SHESHA_MEMORY", "20M")
    text = b"a,b,c,d\n" + b"1,2,3,4\n" * 350_000
    (tmp_path / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    with pytest.raises(files.UnreadableFileError, match=r"the table in .* must fit the memory budget of 20"):
        files.open_file(tmp_path / name)
