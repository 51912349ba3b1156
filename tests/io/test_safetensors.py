"""Safetensors: the order of the file, bfloat16, and headers that lie."""

import json
import struct

import numpy as np
import pytest

from shesha import io as files

numpy_safetensors = pytest.importorskip("safetensors.numpy")


def write(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def tensor(dtype, shape, start, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_tensors_follow_the_rules_of_npz(tmp_path):
    path = tmp_path / "m.safetensors"
    hidden = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float16)
    arrays = {"hidden": hidden, "pca": np.eye(5), "label": np.arange(5), "conv": np.zeros((5, 2, 2, 2))}
    numpy_safetensors.save_file(arrays, path, metadata={"made": "by hand"})
    found = files.open_file(path)
    assert set(found.representations) == {"hidden[0]", "hidden[1]", "pca", "conv"}
    np.testing.assert_array_equal(found.representations["hidden[1]"], hidden[:, 1])
    assert found.representations["hidden[1]"].dtype == np.float16
    assert found.skipped == {"label": "is 1-D with shape (5,), so it may contain labels"}
    assert found.labels_available == ("label",)


def test_order_is_that_of_the_bytes(tmp_path):
    header = {"a": tensor("U8", [4, 1], 4, 8), "b": tensor("U8", [4, 1], 0, 4)}
    path = write(tmp_path / "m.safetensors", header, bytes(range(8)))
    assert {name: matrix.ravel().tolist() for name, matrix in files.read(path).items()} == {
        "b": [0, 1, 2, 3],
        "a": [4, 5, 6, 7],
    }
    assert list(files.read(path, keys=["a"])) == ["a"]


def test_bfloat16_is_widened_to_float32(tmp_path):
    values = np.array([[1.0, -2.5], [0.0, np.inf], [np.nan, 3e38], [2**-130, -0.0]], dtype=np.float32)
    halves = (values.view(np.uint32) >> 16).astype("<u2")
    header = {"label": tensor("U8", [4], 0, 4), "x": tensor("BF16", [4, 2], 4, 20)}
    path = write(tmp_path / "m.safetensors", header, bytes(4) + halves.tobytes())
    matrix = files.read(path)["x"]
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix.view(np.uint32) >> 16, halves)
    assert matrix[0].tolist() == [1.0, -2.5]


def test_bfloat16_layers(tmp_path):
    halves = (np.arange(8, dtype=np.float32).view(np.uint32) >> 16).astype("<u2")
    path = write(tmp_path / "m.safetensors", {"x": tensor("BF16", [2, 2, 2], 0, 16)}, halves.tobytes())
    assert files.read(path, keys=["x[1]"])["x[1]"].tolist() == [[2, 3], [6, 7]]


def test_types_that_numpy_lacks_are_skipped(tmp_path):
    header = {"x": tensor("U8", [4, 1], 0, 4), "f8": tensor("F8_E4M3", [4, 1], 4, 8)}
    path = write(tmp_path / "m.safetensors", header, bytes(8))
    assert files.open_file(path).skipped == {"f8": "contains F8_E4M3 values, which NumPy lacks; save it as F32"}
    with pytest.raises(ValueError, match="got 'f8', which cannot be used because it contains F8_E4M3 values"):
        files.read(path, keys=["f8"])


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 90_000_000) + b"{}",
        struct.pack("<Q", 4) + b"nope",
        struct.pack("<Q", 2) + b"[]",
        b"abc",
    ],
)
def test_headers_that_lie(tmp_path, content):
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(files.UnreadableFileError, match=r"m.safetensors must be a complete .safetensors file"):
        files.read(path)


@pytest.mark.parametrize(
    "entry",
    [tensor("F32", [4, 4], 0, 8), tensor("F32", [1, 2], 0, 2**40), tensor("F32", [-1, 2], 0, 8), {"dtype": "F32"}],
)
def test_offsets_that_lie(tmp_path, entry):
    with pytest.raises(files.UnreadableFileError, match="cannot be read"):
        files.read(write(tmp_path / "m.safetensors", {"x": entry}, bytes(8)))
