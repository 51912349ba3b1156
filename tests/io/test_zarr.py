"""Zarr: one array, groups of arrays in natural order, and stores that are not what they seem."""

import json

import numpy as np
import pytest

from shesha import io as files

zarr = pytest.importorskip("zarr")


@pytest.fixture(params=[2, 3])
def zarr_format(request):
    return request.param


def test_a_plain_array_is_named_after_the_store(tmp_path, zarr_format):
    path = tmp_path / "model.zarr"
    zarr.create_array(path, data=np.eye(4, dtype=np.float32), chunks=(2, 4), zarr_format=zarr_format)
    read = files.read(path)
    assert list(read) == ["model"]
    assert type(read["model"]) is np.ndarray
    assert read["model"].dtype == np.float32
    np.testing.assert_array_equal(read["model"], np.eye(4))


def test_a_group_follows_the_rules_of_npz(tmp_path, zarr_format):
    group = zarr.open_group(tmp_path / "m.zarr", mode="w", zarr_format=zarr_format)
    for layer in (10, 2, 1):
        group.create_array(f"encoder/layer{layer}", data=np.full((4, 2), layer, dtype=np.float16))
    group.create_array("hidden", data=np.zeros((4, 2, 3)))
    group.create_array("label", data=np.arange(4))
    group.create_array("images", data=np.zeros((4, 2, 2), dtype=np.uint8))
    found = files.open_file(tmp_path / "m.zarr")
    layers = [f"encoder/layer{layer}" for layer in (1, 2, 10)]
    assert list(found.representations) == [*layers, "hidden[0]", "hidden[1]"]
    assert found.representations["encoder/layer10"].tolist() == [[10, 10]] * 4
    assert found.representations["encoder/layer10"].dtype == np.float16
    assert set(found.skipped) == {"label", "images"}
    assert found.labels_available == ("label",)
    assert files.read_labels(tmp_path / "m.zarr").tolist() == [0, 1, 2, 3]
    assert list(files.read(tmp_path / "m.zarr", keys=["hidden[1]"])) == ["hidden[1]"]
    with pytest.raises(ValueError, match="got 'images', which cannot be used because it is 3-D"):
        files.read(tmp_path / "m.zarr", keys=["images"])


def test_text_labels(tmp_path):
    group = zarr.open_group(tmp_path / "m.zarr", mode="w", zarr_format=3)
    group.create_array("type", shape=(3,), dtype="string")[:] = np.array(
        ["a", "bb", "a"], dtype=np.dtypes.StringDType()
    )
    labels = files.read_labels(tmp_path / "m.zarr")
    assert labels.dtype.kind == "U"
    assert labels.tolist() == ["a", "bb", "a"]


def test_files_that_are_no_part_of_the_store(tmp_path, zarr_format):
    group = zarr.open_group(tmp_path / "m.zarr", mode="w", zarr_format=zarr_format)
    group.create_array("a", data=np.eye(3))
    (tmp_path / "m.zarr" / ".DS_Store").write_bytes(b"\0")
    (tmp_path / "m.zarr" / "notes").mkdir()
    assert list(files.read(tmp_path / "m.zarr")) == ["a"]


def test_links_in_a_circle(tmp_path):
    group = zarr.open_group(tmp_path / "m.zarr", mode="w")
    group.create_array("a", data=np.eye(3))
    (tmp_path / "m.zarr" / "again").symlink_to(tmp_path / "m.zarr")
    (tmp_path / "m.zarr" / "a" / "up").symlink_to(tmp_path / "m.zarr")
    with pytest.raises(files.UnreadableFileError, match=r"m.zarr must contain only files and folders, got a link: "):
        files.read(tmp_path / "m.zarr")


def test_a_declared_size_beyond_the_limit_is_refused(tmp_path):
    zarr.create_array(tmp_path / "m.zarr", shape=(10**7, 10**7), chunks=(100, 100), dtype="f8")
    with pytest.raises(files.UnreadableFileError, match=r"m in .* must fit the memory budget"):
        files.read(tmp_path / "m.zarr")


def test_not_a_store(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(files.UnreadableFileError, match=r"empty.zarr must be a Zarr store, got a directory without"):
        files.read(tmp_path / "empty.zarr")
    (tmp_path / "file.zarr").write_bytes(b"PK\x03\x04")
    with pytest.raises(NotADirectoryError, match=r"path must be a Zarr store, which is a directory, got the file"):
        files.read(tmp_path / "file.zarr")


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"zarr_format": 3}', '{"node_type": "array"}', "\x00"])
def test_damaged_metadata(tmp_path, text):
    (tmp_path / "m.zarr").mkdir()
    (tmp_path / "m.zarr" / "zarr.json").write_text(text)
    with pytest.raises(files.UnreadableFileError, match=r"m.zarr must be a complete .zarr"):
        files.read(tmp_path / "m.zarr")


def test_damaged_chunks(tmp_path, zarr_format):
    zarr.create_array(tmp_path / "m.zarr", data=np.eye(4), chunks=(4, 4), zarr_format=zarr_format)
    [chunk] = [
        path
        for path in (tmp_path / "m.zarr").rglob("*")
        if path.name == ("0.0" if zarr_format == 2 else "0") and path.is_file()
    ]
    chunk.write_bytes(chunk.read_bytes()[:-5])
    with pytest.raises(files.UnreadableFileError, match=r"m.zarr must be a complete .zarr"):
        files.read(tmp_path / "m.zarr")


def test_user_metadata_may_speak_of_pickles(tmp_path):
    array = zarr.create_array(tmp_path / "m.zarr", data=np.eye(4), zarr_format=3)
    array.attrs["source"] = {"name": "pickled cucumbers"}
    assert "pickled" in json.dumps(json.loads((tmp_path / "m.zarr" / "zarr.json").read_text()))
    assert list(files.read(tmp_path / "m.zarr")) == ["m"]
