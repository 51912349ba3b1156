"""Nothing that a file says is executed: each payload here would leave a mark if it were unpickled."""

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shesha import io as files


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.fixture
def mark(tmp_path):
    mark = tmp_path / "executed"
    yield mark
    assert not mark.exists()


def refuse(path, **options):
    for read in (files.read, files.read_labels):
        with pytest.raises(files.UnreadableFileError, match="pickle"):
            read(path)


def test_payloads_do_execute_when_unpickled(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("shape", [(2,), (2, 1), (1, 2, 1)])
def test_npy(tmp_path, mark, shape):
    np.save(tmp_path / "m.npy", np.array([Payload(mark)] * 2, dtype=object).reshape(shape), allow_pickle=True)
    refuse(tmp_path / "m.npy")


@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors", "parquet", "h5ad"])
@pytest.mark.parametrize("protocol", [2, 5])
def test_a_pickle_behind_a_known_ending(tmp_path, mark, ending, protocol):
    (tmp_path / f"m.{ending}").write_bytes(pickle.dumps(Payload(mark), protocol=protocol))
    for read in (files.read, lambda path: files.read_labels(path, "y")):
        with pytest.raises(files.UnreadableFileError, match="content looks like a Python pickle, which is never read"):
            read(tmp_path / f"m.{ending}")


def test_versions_of_torch_that_a_file_can_make_run_code_read_no_file(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(3, 2), tmp_path / "m.pt")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(ImportError, match=r"torch must be at least 2\.6 to read .*m\.pt safely, got 2\.5\.1"):
        files.read(tmp_path / "m.pt")


def test_npz(tmp_path, mark):
    np.savez(tmp_path / "m.npz", allow_pickle=True, objects=np.array([[Payload(mark)]], dtype=object))
    refuse(tmp_path / "m.npz")
    np.savez(tmp_path / "m.npz", a=np.eye(3), y=np.array([Payload(mark)] * 3, dtype=object))
    assert list(files.read(tmp_path / "m.npz")) == ["a"]
    for read in (
        lambda: files.read(tmp_path / "m.npz", keys=["y"]),
        lambda: files.read_labels(tmp_path / "m.npz", "y"),
    ):
        with pytest.raises(ValueError, match=r"'y', which .*contains pickled Python objects, which are never read"):
            read()


def test_a_pickle_inside_a_zip(tmp_path, mark):
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("data.npy", pickle.dumps(Payload(mark)))
    with pytest.raises(files.UnreadableFileError, match=r"m.npz must be a complete .npz file"):
        files.read(tmp_path / "m.npz")


def zarr_array(folder, mark, **changes):
    """An array of format 2 whose chunk is a pickle."""
    document = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "fill_value": "",
        "order": "C",
        "compressor": None,
        "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}],
    }
    folder.mkdir(parents=True)
    (folder / ".zarray").write_text(json.dumps(document | changes))
    (folder / "0").write_bytes(pickle.dumps([Payload(mark), "|O", (1,)]))
    return folder


@pytest.fixture
def trusting_zarr(monkeypatch):
    """Zarr as it was before numcodecs, and then zarr itself, asked for consent: the refusal must be ours."""
    pickles = pytest.importorskip("numcodecs.pickles")
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    zarr = pytest.importorskip("zarr")
    with zarr.config.set({"array.allow_unsafe_pickle_decode": True}):
        yield zarr


def test_the_zarr_payload_is_live(tmp_path, trusting_zarr):
    path = zarr_array(tmp_path / "m.zarr", tmp_path / "executed")
    array = trusting_zarr.open_array(path, mode="r")
    with pytest.raises(Exception):  # noqa: B017 - the payload returns no text, whatever that leads to
        array[...]
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"filters": [{"id": "pickle"}]},
        {"filters": None},
        {"filters": None, "dtype": [["x", "<f8"], ["y", "|O"]]},
        {"filters": [{"id": "vlen-utf8"}], "compressor": {"id": "pickle"}},
        {"dtype": "<f8"},
    ],
)
def test_zarr_array(tmp_path, mark, trusting_zarr, changes):
    refuse(zarr_array(tmp_path / "m.zarr", mark, **changes))


@pytest.mark.parametrize("attributes", [{}, {"encoding-type": "anndata"}])
def test_zarr_groups(tmp_path, mark, trusting_zarr, attributes):
    path = tmp_path / "m.zarr"
    zarr_array(path / "obs" / "deep", mark)
    for group in (path, path / "obs"):
        (group / ".zgroup").write_text('{"zarr_format": 2}')
        (group / ".zattrs").write_text(json.dumps(attributes))
    refuse(path)


def test_zarr_array_behind_a_link(tmp_path, mark, trusting_zarr):
    target = zarr_array(tmp_path / "elsewhere", mark)
    path = tmp_path / "m.zarr"
    path.mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / "linked").symlink_to(target)
    for read in (files.read, files.read_labels):
        with pytest.raises(files.UnreadableFileError, match="must contain only files and folders, got a link"):
            read(path)


def test_zarr_array_below_what_looks_like_an_array(tmp_path, mark, trusting_zarr):
    path = tmp_path / "m.zarr"
    zarr_array(path / "a", mark)
    (path / ".zarray").write_text('{"zarr_format": 2}')
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for read in (files.read, files.read_labels):
        with pytest.raises(files.UnreadableFileError, match="must be either an array or a group, got metadata of both"):
            read(path)


def test_zarr_format_3(tmp_path, mark, trusting_zarr):
    trusting_zarr.create_array(tmp_path / "m.zarr", data=np.eye(3), zarr_format=3)
    document = json.loads((tmp_path / "m.zarr" / "zarr.json").read_text())
    document["codecs"] = [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": "numcodecs.pickle"}]}}]
    (tmp_path / "m.zarr" / "zarr.json").write_text(json.dumps(document))
    refuse(tmp_path / "m.zarr")


def test_consolidated_metadata_is_not_believed(tmp_path, mark, trusting_zarr):
    path = tmp_path / "m.zarr"
    hostile = zarr_array(path / "a", mark)
    array = json.loads((hostile / ".zarray").read_text())
    group = {"zarr_format": 2}
    (path / ".zgroup").write_text(json.dumps(group))
    (path / ".zmetadata").write_text(
        json.dumps({"zarr_consolidated_format": 1, "metadata": {".zgroup": group, "a/.zarray": array}})
    )
    harmless = array | {"dtype": "<f8", "filters": None, "fill_value": 0}
    (hostile / ".zarray").write_text(json.dumps(harmless))
    with pytest.raises(files.UnreadableFileError):
        files.read(path)
