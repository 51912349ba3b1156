"""Arrays come in the order in which they were saved; if a program sorted them as text, layer 2 is before layer 10."""

import numpy as np
import pytest

from shesha import io as files

X = np.arange(12.0).reshape(4, 3)
SAVED = ["layer.10", "embeddings", "layer.2", "Layer.1"]


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_own_files_keep_the_order(tmp_path, ending):
    pytest.importorskip("safetensors")
    kinds = [np.float32, np.float64, np.int64, np.float32]
    arrays = {name: (X + i).astype(kind) for i, (name, kind) in enumerate(zip(SAVED, kinds, strict=True))}
    files.save(tmp_path / f"a{ending}", arrays)
    found = files.read(tmp_path / f"a{ending}")
    assert list(found) == SAVED
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_foreign_files_are_in_natural_order(tmp_path):
    safetensors, zarr = pytest.importorskip("safetensors.numpy"), pytest.importorskip("zarr")
    h5py = pytest.importorskip("h5py")
    names = [f"layer.{i}" for i in (10, 2, 1)]
    as_text = {f"Block_{i}/__call__": X for i in sorted(range(12), key=str)}
    np.savez(tmp_path / "a.npz", **as_text)
    assert list(files.read(tmp_path / "a.npz")) == [f"Block_{i}/__call__" for i in range(12)]
    safetensors.save_file(dict.fromkeys(names, X), tmp_path / "a.safetensors")
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    for name in names:
        group.create_array(name, data=X)
    for tracked in (False, True):
        with h5py.File(tmp_path / f"{tracked}.h5", "w", track_order=tracked) as file:
            for name in names:
                file[name] = X
    natural = ["layer.1", "layer.2", "layer.10"]
    assert list(files.read(tmp_path / "a.safetensors")) == natural
    assert list(files.read(tmp_path / "a.zarr")) == natural
    assert list(files.read(tmp_path / "False.h5")) == natural
    assert list(files.read(tmp_path / "True.h5")) == names


@pytest.mark.parametrize("recorded", ["[", "[1, 2]", '["a"]', '{"a": 1}'])
def test_a_damaged_record_of_the_order_is_ignored(tmp_path, recorded):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"b": X, "a": X}, tmp_path / "a.safetensors", metadata={"shesha.order": recorded})
    assert list(files.read(tmp_path / "a.safetensors")) == ["a", "b"]
