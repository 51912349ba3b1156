"""Files of vector databases: several vectors of a record, identifiers in groups, and codes stored as whole numbers."""

import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from shesha.io import open_file, read

N = 20


@pytest.fixture
def X(rng):
    return rng.standard_normal((N, 8))


@pytest.mark.parametrize("field", ["vector", "vectors"])
@pytest.mark.parametrize(
    "wrap", [list, lambda points: {"result": {"points": points}}, lambda points: {"points": points}]
)
def test_each_named_vector_of_a_record_is_a_representation(tmp_path: Path, X, field, wrap):
    points = [{"id": 7 * i, field: {"text": X[i].tolist(), "image": X[i, :5].tolist()}} for i in range(N)]
    path = tmp_path / "points.json"
    path.write_text(json.dumps(wrap(points)))
    found = open_file(path)
    assert {name: array.shape for name, array in found.representations.items()} == {
        f"{field}.text": (N, 8),
        f"{field}.image": (N, 5),
    }
    assert found.row_names is not None
    assert [int(name) for name in found.row_names.values] == [7 * i for i in range(N)]
    np.testing.assert_allclose(read(path, keys=[f"{field}.text"])[f"{field}.text"], X)


def test_a_sparse_vector_is_not_a_vector(tmp_path: Path, X):
    rows = [
        {"id": f"v{i}", "values": X[i].tolist(), "sparse_values": {"indices": [1, 2 + i], "values": [0.5, 0.1]}}
        for i in range(N)
    ]
    path = tmp_path / "hybrid.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert list(open_file(path).representations) == ["values"]


@pytest.mark.parametrize(
    ("keys", "arrays", "names"),
    [
        (
            ["train/features"],
            {"train/features": N, "train/paths": N, "test/features": 9, "test/paths": 9},
            "train/paths",
        ),
        (["train/features"], {"train/features": N, "train/paths": N, "val/features": N, "val/ids": N}, "train/paths"),
        (["train/features"], {"train/features": N, "val/features": N, "val/ids": N}, None),
        (None, {"train/features": N, "train/ids": N, "val/features": N, "val/ids": N}, None),
        (None, {"data/features": N, "meta/filenames": N}, "meta/filenames"),
        (None, {"data/features": N, "names": N}, "names"),
    ],
)
def test_identifiers_in_a_group_belong_to_its_matrices(tmp_path: Path, keys, arrays, names):
    path = tmp_path / "splits.h5"
    with h5py.File(path, "w") as file:
        for name, n in arrays.items():
            if name.endswith("features"):
                file[name] = np.random.default_rng(n).standard_normal((n, 5))
            else:
                file.create_dataset(name, data=[f"{i}.wav" for i in range(n)], dtype=h5py.string_dtype())
    found = open_file(path, keys=keys).row_names
    assert (None if found is None else found.column) == names


@pytest.mark.parametrize("name", ["emb_ubinary", "embedding_binary", "packed_bits"])
@pytest.mark.parametrize("signed", [False, True])
def test_packed_bits_in_lists_of_whole_numbers_are_unpacked(tmp_path: Path, X, name, signed):
    codes = np.packbits(X > 0, axis=1).astype(int) - 128 * signed
    pd.DataFrame({"id": range(N), name: codes.tolist()}).to_parquet(tmp_path / "codes.parquet")
    np.testing.assert_array_equal(read(tmp_path / "codes.parquet")[name], np.where(X > 0, 1, -1))


def test_signs_and_numbers_of_other_names_are_not_unpacked(tmp_path: Path, X):
    signs, counts = np.where(X > 0, 1, -1), np.random.default_rng(0).integers(0, 200, X.shape)
    pd.DataFrame({"emb_binary": signs.tolist()}).to_parquet(tmp_path / "signs.parquet")
    pd.DataFrame({"embedding": counts.tolist()}).to_parquet(tmp_path / "counts.parquet")
    np.testing.assert_array_equal(read(tmp_path / "signs.parquet")["emb_binary"], signs)
    np.testing.assert_array_equal(read(tmp_path / "counts.parquet")["embedding"], counts)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (lambda i: {"indices": [i, i + 3, 90], "values": [0.1, 0.5, i]}, "sparse vectors"),
        (lambda i: {"sparse_values": {"indices": [i, i + 3, 90], "values": [0.1, 0.5, i]}}, "sparse vectors"),
        (
            lambda i: {"embedding": [[0.1, i]] * (2 + i % 2)},
            "got 2 vectors at first and 3 in record 2, which look like",
        ),
    ],
)
def test_values_of_sparse_vectors_and_tokens_are_no_vectors(tmp_path: Path, record, found):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({"id": f"d{i}"} | record(i)) for i in range(N)))
    with pytest.raises(ValueError, match=found):
        read(path)
    path.write_text("\n".join(json.dumps({"vector": [i, 2.5, 1]} | record(i)) for i in range(N)))
    if "sparse" in found:
        assert list(read(path)) == ["vector"]


def test_vectors_of_each_number_type_are_a_representation(tmp_path: Path, X):
    path = tmp_path / "response.json"
    codes = (9 * X).astype(int)
    path.write_text(
        json.dumps({"id": "x", "embeddings": {"float": X.tolist(), "int8": codes.tolist()}, "texts": ["t"] * N})
    )
    found = read(path)
    assert list(found) == ["float", "int8"]
    np.testing.assert_allclose(found["float"], X)
    np.testing.assert_allclose(found["int8"], codes)


def test_answers_out_of_order_come_in_the_order_of_their_index(tmp_path: Path, X):
    order = np.random.default_rng(0).permutation(N)
    answers = [{"index": int(i), "embedding": [X[i].tolist()]} for i in order]
    (tmp_path / "a.json").write_text(json.dumps(answers))
    np.testing.assert_allclose(read(tmp_path / "a.json")["embedding"], X)
    (tmp_path / "a.json").write_text(json.dumps([{**one, "index": 7} for one in answers]))
    assert not np.allclose(read(tmp_path / "a.json")["embedding"], X)


def test_pairs_of_path_and_vector_in_a_torch_file(tmp_path: Path, X):
    torch = pytest.importorskip("torch")
    torch.save([(f"img/{i}.jpg", torch.tensor(X[i])) for i in range(N)], tmp_path / "a.pt")
    torch.save({f"img/{i}.jpg": torch.tensor(X[i]) for i in range(N)}, tmp_path / "b.pt")
    for name in "ab":
        found = open_file(tmp_path / f"{name}.pt")
        assert found.row_names is not None
        assert list(found.row_names.values) == [f"img/{i}.jpg" for i in range(N)]
        np.testing.assert_allclose(next(iter(found.representations.values())), X)


def test_control_characters_in_the_names_of_fields_are_shown_as_escapes(tmp_path: Path, X):
    lines = [json.dumps({"id": f"d{i}", "ki\x1b[2Jnd": "a", "embedding": X[i].tolist()}) for i in range(N)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert [name for name in open_file(tmp_path / "a.jsonl").skipped if "nd" in name] == ["ki\\x1b[2Jnd"]
