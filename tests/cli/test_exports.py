"""Exports of services and databases, in another order than the first: matched by identifiers, or refused."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N, D = 30, 8
X = np.random.default_rng(0).standard_normal((N, D)).astype("f4")
ROWS = np.arange(N)
MIXED = np.random.default_rng(1).permutation(N)


def lines(path, records):
    path.write_text("\n".join(map(json.dumps, records)))


def document(path, content):
    path.write_text(json.dumps(content))


def batch(path, rows):
    def record(i):
        body = {"data": [{"index": 0, "embedding": X[i].tolist()}], "model": "m"}
        return {"custom_id": f"r-{i}", "response": {"status_code": 200, "body": body}, "error": None}

    lines(path, [record(i) for i in rows])


def points(path, rows):
    found = [{"id": 1000 + 3 * int(i), "vector": X[i].tolist(), "payload": {"n": int(i)}} for i in rows]
    document(path, {"result": {"points": found}, "status": "ok"})


def fetched(path, rows):
    document(path, {"vectors": {f"d{i}": {"id": f"d{i}", "values": X[i].tolist()} for i in rows}, "namespace": ""})


def collection(path, rows):
    vectors = [X[i].tolist() for i in rows]
    document(path, {"ids": [f"d{i}" for i in rows], "embeddings": vectors, "documents": ["a"] * N, "data": None})


def serial(path, rows):
    """Write what COPY of pgvector writes: numbers that count the rows of the first export, and vectors as text."""
    vectors = [json.dumps(X[i].tolist()) for i in rows]
    pd.DataFrame({"id": rows + 1, "content": "same", "embedding": vectors}).to_csv(path, index=False)


def fixed(path, rows):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].astype("f2").ravel()), D)
    table = {"vector": vectors, "text": [f"t{i}" for i in rows], "_rowid": pa.array(ROWS, pa.uint64())}
    parquet.write_table(pa.table(table), path)


def uuids(path, rows):
    ids = pa.array([uuid.UUID(int=7 * int(i) + 2**100).bytes for i in rows], pa.binary(16))
    parquet.write_table(pa.table({"id": ids, "v": pa.array(X[rows].tolist(), pa.list_(pa.float32()))}), path)


def words(path, rows):
    text = [" ".join([f"w{i}", *map(str, X[i])]) for i in rows]
    path.write_text("\n".join([f"{N} {D}", *text]))


def items(path, rows):
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({f"P{int(i) * 7 % N:03d}": X[i] for i in rows}, path)


def arrays(path, rows):
    np.savez(path, embeddings=X[rows], onehot=np.eye(5)[ROWS % 5], ids=100 + 3 * rows)


def plain(path, rows):
    np.save(path, X[rows])


def instances(path, rows):
    lines(
        path, [{"instance": {"content": "a"}, "predictions": [{"embeddings": {"values": X[i].tolist()}}]} for i in rows]
    )


def counted(path, rows):
    pd.DataFrame({"index": ROWS, "embedding": list(X[rows])}).to_parquet(path, index=False)


BY = "rows matched by {}"
EXPORTS = {
    "batch.jsonl": (batch, BY.format("custom_id")),
    "points.json": (points, BY.format("id")),
    "fetched.json": (fetched, BY.format("id")),
    "collection.json": (collection, BY.format("id")),
    "serial.csv": (serial, BY.format("id")),
    "fixed.parquet": (fixed, "column 'text' has the same values"),
    "uuids.parquet": (uuids, BY.format("id")),
    "words.vec": (words, BY.format("word")),
    "items.safetensors": (items, BY.format("key")),
    "arrays.npz": (arrays, BY.format("ids")),
    "plain.npy": (plain, "the same rows in another order"),
    "instances.jsonl": (instances, "the same rows in another order"),
    "counted.parquet": (counted, "the same rows in another order"),
}


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_in_another_order_is_matched_or_refused(name, tmp_path, invoke_main):
    write, decision = EXPORTS[name]
    old, new = tmp_path / f"old.{name}", tmp_path / f"new.{name}"
    write(old, ROWS)
    write(new, MIXED)
    ended = invoke_main("compare", old, new, "--measures", "CKA")
    if decision.startswith("rows matched"):
        assert ended.status == 0, ended.err
        assert " CKA 1.000" in ended.out
        assert decision in " ".join(ended.out.split())
        assert "onehot" not in ended.out.split("Read:")[0]
    else:
        assert ended.status == 2
        assert decision in ended.err and "--id" in ended.err and "--by-position" in ended.err


def test_commands_read_maps_alike(tmp_path, invoke_main):
    rng = np.random.default_rng(0)
    for name in "abc":
        np.savez(tmp_path / f"{name}.npz", conv=rng.standard_normal((20, 4, 3, 3)))
    a, b, c = (tmp_path / f"{name}.npz" for name in "abc")
    for command in (
        ("compare", a, b, "--measures", "CKA"),
        ("diff", a, b),
        ("layers", a, b, "--permutations", "19"),
        ("audit", a, "--quick"),
        ("monitor", "init", a, "--out", tmp_path / "m"),
        ("rank", a, b, "--data", c),
        ("consensus", a, b, c),
    ):
        ended = invoke_main(*command)
        assert "feature maps 20 x 4 x 3 x 3, flattened to 20 x 36" in " ".join(ended.out.split()), command


@pytest.mark.parametrize("command", ["compare", "diff"])
def test_texts_in_another_order_are_refused_beside_row_numbers(command, tmp_path, invoke_main):
    other = np.random.default_rng(2).standard_normal((N, D))
    for name, rows, vectors in (("old", ROWS, X), ("new", MIXED, other[MIXED])):
        table = pd.DataFrame({"index": ROWS, "text": [f"t{i}" for i in rows], "embedding": list(vectors)})
        table.to_parquet(tmp_path / f"{name}.parquet", index=False)
    refused = invoke_main(command, tmp_path / "old.parquet", tmp_path / "new.parquet")
    assert refused.status == 2
    assert "column 'text' has the same values in old.parquet and new.parquet, in another order" in refused.err
    assert "pass --id text; otherwise pass --by-position" in refused.err
    ended = invoke_main(command, tmp_path / "old.parquet", tmp_path / "new.parquet", "--id", "text")
    assert "rows matched by text, in another order" in " ".join(ended.out.split())


def test_records_of_numpy_are_read_by_field(tmp_path, invoke_main):
    for name, rows in (("old", ROWS), ("new", MIXED)):
        records = np.zeros(N, dtype=[("id", "i8"), ("vec", "f4", (D,))])
        records["id"], records["vec"] = 100 + 3 * rows, X[rows]
        np.save(tmp_path / f"{name}.npy", records)
    ended = invoke_main("compare", tmp_path / "old.npy", tmp_path / "new.npy", "--measures", "CKA")
    assert " CKA 1.000" in ended.out and "rows matched by id, in another order" in " ".join(ended.out.split())


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_a_transposed_table_is_said(tmp_path, invoke_main):
    frame = pd.DataFrame(X.T, index=[f"dim_{k}" for k in range(D)], columns=[f"doc {i}" for i in range(N)])
    frame.to_csv(tmp_path / "a.csv")
    ended = invoke_main("audit", tmp_path / "a.csv", "--quick")
    assert "rows look like features (dim_0), columns like inputs (doc 0)" in " ".join(ended.out.split())
    assert f"{N} rows x {D} features" in invoke_main("audit", tmp_path / "a.csv", "--quick", "--transpose").out


def test_an_unknown_key_lists_the_columns_of_vectors(tmp_path, invoke_main):
    document(
        tmp_path / "a.json", {"embeddings": {"uint8": X.tolist(), "int8": X.astype(int).tolist()}, "texts": ["a"] * N}
    )
    refused = invoke_main("audit", tmp_path / "a.json", "--key", "embeddings")
    assert "--key must be among uint8, int8 in" in refused.err


def test_vectors_of_several_number_types_are_compared(tmp_path, invoke_main):
    codes = (X / np.abs(X).max() * 127).round().astype(int)
    kinds = {"uint8": (codes + 128).tolist(), "int8": codes.tolist()}
    document(tmp_path / "a.json", {"embeddings": kinds, "texts": ["a"] * N})
    ended = invoke_main("compare", tmp_path / "a.json", "--measures", "CKA", "--no-calibrate")
    assert f"uint8 ({N} x {D}) and int8 ({N} x {D})" in ended.out
