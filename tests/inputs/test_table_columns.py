"""Which columns of a table are the matrix: what people export, and what is decided, in files and in memory."""

import base64
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.inputs import column_words, split_names
from shesha.io import open_file
from shesha.support.provenance import collect_statements

pytest.importorskip("pyarrow")
N, D = 30, 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)).round(4)
IDS = [f"a{i:03}" for i in RNG.permutation(N)]
TOKENS = RNG.integers(5, 400, N)


def family(prefix, start=0):
    return {f"{prefix}{j + start}": X[:, j] for j in range(D)}


TEXT = {
    "json": lambda row: json.dumps(row.tolist()),
    "numpy": str,
    "list of float64": lambda row: str(list(row)),
    "repr": repr,
    "spaces": lambda row: " ".join(map(str, row)),
    "semicolons": lambda row: ";".join(map(str, row)),
    "decimal commas": lambda row: ";".join(map(str, row)).replace(".", ","),
    "bars": lambda row: "|".join(map(str, row)),
    "braces": lambda row: "{" + ",".join(map(str, row)) + "}",
    "tuple": lambda row: str(tuple(row.tolist())),
    "nested": lambda row: json.dumps([row.tolist()]),
    "record": lambda row: json.dumps({"default": row.tolist()}),
}
OTHER = {
    "lists": lambda row: row.tolist(),
    "arrays": lambda row: row,
    "float64 bytes": lambda row: row.tobytes(),
    "float32 bytes": lambda row: row.astype("f4").tobytes(),
    "float16 bytes": lambda row: row.astype("f2").tobytes(),
    "bfloat16 bytes": lambda row: (row.astype("f4").view("u4") >> 16).astype("u2").tobytes(),
    "base64": lambda row: base64.b64encode(row.astype("f4").tobytes()).decode(),
    "dict": lambda row: {"default": row.tolist()},
    "decimal numbers": lambda row: [Decimal(repr(float(value))) for value in row],
    "fields": lambda row: {f"x{j}": value for j, value in enumerate(row)},
}


@pytest.mark.parametrize("name", ["embedding", "values"])
@pytest.mark.parametrize("form", TEXT)
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "memory"])
def test_vectors_as_text(tmp_path, ending, form, name):
    frame = pd.DataFrame({"doc_id": IDS, "n_tokens": TOKENS, name: list(map(TEXT[form], X)), "score": TOKENS % 5})
    check(tmp_path, ending, frame, name)


@pytest.mark.parametrize("form", OTHER)
@pytest.mark.parametrize("ending", ["parquet", "memory"])
def test_vectors_as_lists_bytes_and_records(tmp_path, ending, form):
    frame = pd.DataFrame({"doc_id": IDS, "n_tokens": TOKENS, "vector": list(map(OTHER[form], X)), "score": TOKENS % 5})
    check(tmp_path, ending, frame, "vector", atol=2e-2 if form.startswith("bf") else 2e-3)


def check(tmp_path, ending, frame, name, atol=1e-7):
    with collect_statements() as said:
        if ending == "memory":
            values, names = split_names(frame, "t")
        else:
            path = tmp_path / f"t.{ending}"
            frame.to_parquet(path, index=False) if ending == "parquet" else frame.to_csv(
                path, index=False, sep="\t" if ending == "tsv" else ","
            )
            found = open_file(path)
            (values,), names = found.representations.values(), found.row_names
    np.testing.assert_allclose(np.asarray(values).reshape(N, D), X, atol=atol)
    assert names.values.tolist() == IDS
    (statement,) = said
    assert f"column {name}" in statement
    assert "30 x 8 (rows named by doc_id; left out: n_tokens, score)" in statement


PLAIN = dict(zip("abcd", X.T, strict=False))
TABLES = {
    "dims after an id": ({"id": range(N), **family("dim_")}, D, "id"),
    "components": ({"sample": IDS, **family("PC", 1), "UMAP_1": X[:, 0], "UMAP_2": X[:, 1]}, D, "sample"),
    "numbers": ({**{str(j): X[:, j] for j in range(D)}, "uuid": IDS}, D, "uuid"),
    "with time": ({**family("x_"), "timestamp": TOKENS, "url": IDS}, D, "url"),
    "with gaps": ({f"dim_{j}": X[:, j] for j in (0, 1, 3, 4, 5, 7)}, 6, None),
    "few columns": ({"id": IDS, "age": TOKENS, "income": X[:, 0]}, 2, "id"),
    "coordinates": ({"id": IDS, "x": X[:, 0], "y": X[:, 1], "z": X[:, 2]}, 3, "id"),
    "pixels": ({"label": TOKENS % 3, **{f"{r}x{c}": TOKENS for r in range(1, 5) for c in range(1, 5)}}, 16, None),
    "genes": (dict.fromkeys(("ACTB", "CD3D", "CD4", "CD8A", "S100A1", "S100A2"), TOKENS), 6, None),
    "tokens beside vectors": ({"input_ids": [[1, 2], [3]] * 15, "embedding": list(X)}, D, None),
    "some channels in each row": ({"cell": IDS, "channel": TOKENS % 3, "a": X[:, 0], "b": X[:, 1]}, 3, "cell"),
    "parts of documents": (
        {"doc_id": [f"d{i // 3}" for i in range(N)], "chunk_index": [i % 3 for i in range(N)], **family("dim_")},
        D,
        "doc_id and chunk_index",
    ),
    "wells of plates": (
        {
            "Metadata_Plate": ["P1"] * 15 + ["P2"] * 15,
            "Metadata_Well": [f"A{i % 15:02d}" for i in range(N)],
            "Metadata_Site": 1,
            **{f"Cells_{c}": x for c, x in PLAIN.items()},
        },
        4,
        "Metadata_Plate and Metadata_Well",
    ),
    "wells of one plate": (
        {
            "Metadata_Plate": "P1",
            "Metadata_Well": [f"{i}A" for i in range(N)],
            **{f"Cells_{c}": x for c, x in PLAIN.items()},
        },
        4,
        "Metadata_Well",
    ),
    "pages": (
        {"pdf_id": [i // 5 for i in range(N)], "page": [i % 5 for i in range(N)], "a": X[:, 0]},
        1,
        "pdf_id and page",
    ),
    "classes": ({"cluster_id": TOKENS % 3, **family("dim_")}, D, None),
    "voxels": (
        {
            "voxel": 7 * TOKENS + range(N),
            "x": TOKENS,
            "y": TOKENS,
            "z": TOKENS,
            **{f"beta_{c}": X[:, 0] for c in "abcd"},
        },
        4,
        "voxel",
    ),
    "repeated ids": ({"id": [1, 2] * 15, **family("dim_")}, D, None),
    "saved twice": ({"Unnamed: 0.1": range(N), "Unnamed: 0": RNG.permutation(N), **PLAIN}, 4, None),
    "counted rows": ({"nr": range(1, N + 1), **PLAIN}, 4, None),
    "counts of rows": ({"count": TOKENS, "n_obs": TOKENS, **PLAIN}, 4, None),
    "times and parts": (
        {
            "unix_ms": 10**9 * (1700 + TOKENS),
            "build": 117,
            "event_time": 1.7e9 + TOKENS,
            "is_train": TOKENS > 99,
            "unix_ts": TOKENS,
            **PLAIN,
        },
        4,
        None,
    ),
    "measured times": ({"time_in_hospital": TOKENS, "reaction_time": X[:, 0], **PLAIN}, 6, None),
    "epochs": ({"time": [-0.1, 0, 0.1] * 10, "epoch": np.arange(N) // 3, "STI 014": TOKENS, **PLAIN}, 4, None),
    "events of a cytometer": ({"Time": np.arange(N) // 2 / 10, **PLAIN}, 4, None),
    "durations": ({"time": X[:, 0], **PLAIN}, 5, None),
    "objects of images": (
        {"ImageNumber": np.arange(N) // 5, "ObjectNumber": np.arange(N) % 5 + 1, "Location_Center_X": TOKENS, **PLAIN},
        4,
        None,
    ),
    "exports and visits": ({"week": 3, "site": TOKENS % 3, "visit": TOKENS % 2, **PLAIN}, 4, None),
    "truth values": ({"smoker": TOKENS > 99, **PLAIN}, 5, None),
    "chromosomes": ({**PLAIN, "chrom": [*"123456789X"] * 3}, 4, None),
    "dates and addresses": ({**PLAIN, "day": ["2024-01-05"] * N, "ip": ["10.0.0.1"] * N, "at": ["12:30"] * N}, 4, None),
    "families of genes": (dict.fromkeys((*(f"RPL{i}" for i in range(9)), "CD3D", "GNLY", "LYZ"), TOKENS), 12, None),
    "codes of classes": (
        {
            **PLAIN,
            "outcome": [*"abc"] * 10,
            "outcome_num": [2, 0, 1] * 10,
            "sick": [1, 0, 0] * 10,
            "visits": TOKENS % 3,
        },
        6,
        None,
    ),
    "clusters and predictions": (
        {**PLAIN, "cluster_kmeans": TOKENS % 3, "pred_proba": X[:, 0], "sample_weight": X[:, 1], "site": 1, "visit": 2},
        4,
        None,
    ),
    "tokens of other numbers beside vectors": (
        {"colbert_vecs": [[[1.0, 2.0]] * (1 + i % 3) for i in range(N)], "dense_vecs": list(X)},
        D,
        None,
    ),
    "codes of labels": (
        {**PLAIN, "label": [5, 7] * 15, "kind": [0.0, 1.0] * 15, "outcome_code": [2, 0, 1] * 10},
        4,
        None,
    ),
    "a code that is none": ({**PLAIN, "outcome": [*"hhmf"] * 7 + [*"hm"], "level": [1, 2, 0, 2] * 7 + [1, 0]}, 5, None),
    "trials": (
        {**PLAIN, "trial_number": TOKENS, "stimulus_id": TOKENS % 4, "session": [1] * N},
        4,
        "trial_number and stimulus_id",
    ),
    "times of events": ({**PLAIN, "stimOn_times": np.sort(TOKENS) / 7, "onset": np.arange(N) * 1.5}, 4, None),
    "a picture alone": ({"cell": IDS, "tSNE_1": X[:, 0], "tSNE_2": X[:, 1]}, 2, "cell"),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("ending", ["csv", "parquet", "memory"])
def test_columns_of_numbers(tmp_path, ending, kind):
    columns, width, identity = TABLES[kind]
    frame = pd.DataFrame(columns)
    if ending == "memory":
        values, names = split_names(frame, "t")
    else:
        if ending == "csv":
            arrays = [name for name in frame if isinstance(frame[name][0], np.ndarray)]
            frame = frame.assign(**{name: frame[name].map(lambda row: str(row.tolist())) for name in arrays})
        path = tmp_path / f"t.{ending}"
        {"csv": frame.to_csv, "parquet": frame.to_parquet}[ending](path, index=False)
        found = open_file(path)
        (values,), names = found.representations.values(), found.row_names
    assert np.shape(values) == (N, width)
    # Repeated ids in a file identify no row, but they tell whether two files have their rows in the same order.
    expected = "id" if kind == "repeated ids" and ending != "memory" else identity or ""
    assert (names.column if names is not None else "") == expected


REFUSED = {
    "two families": (
        {**family("old_"), **family("new_")},
        r"numbered columns, got old \(8 columns\), new",
    ),
    "layers": ({**family("layer_0_dim_"), **family("layer_1_dim_")}, "one family of numbered columns, got layer_0_dim"),
    "ragged": ({"embedding": [[1.0, 2]] * 29 + [[1.0]]}, "one length, got .*row 29"),
    "one unreadable row": ({"embedding": ["[1, 2]"] * 29 + ["error"], "n": TOKENS}, "got 'error' in row 29"),
    "shortened by NumPy": ({"vector": ["[0.1 0.2 ... 0.3]"] * N, "n": TOKENS}, "NumPy shortened"),
    "sparse vectors of pgvector": (
        {"vector": ["{1:0.5,3:2}/16", "{2:1}/16"] * 15, "n": TOKENS},
        "select them as dense",
    ),
    "text in a family": (
        {**family("dim_"), "dim_3": ["1"] * 17 + ["?!"] + ["1"] * 12},
        r"'dim_3' .* '\?!' in row 17",
    ),
    "other bytes": ({"vector": [bytes(RNG.integers(0, 256, 7, dtype=np.uint8)) for _ in range(N)]}, "7 bytes per row"),
    "one row for each trial and neuron": (
        {"trial": np.repeat(np.arange(6), 5), "neuron": [*"abcde"] * 6, "response": X[:, 0], "time": X[:, 1]},
        r"one row for each trial and neuron \(30 rows\); convert it with table.pivot\(index='trial', columns='neuron'",
    ),
    "one row for each gene and cell": (
        {"gene_id": np.tile(np.arange(100, 110), 3), "cell": np.repeat(["x", "y", "z"], 10), "count": TOKENS},
        "one row for each cell and gene_id|one row for each gene_id and cell",
    ),
    "one row for each pair of inputs": (
        {"i": np.triu_indices(8, 1)[0], "j": np.triu_indices(8, 1)[1], "similarity": X[:28, 0]},
        r"one row for each pair of i and j \(8 inputs\)",
    ),
    "thousands": ({"cpu": ["1,234.5", "12.5"] * 15, **PLAIN}, "'cpu' .* plain numbers such as 1234.5, got '1,234.5'"),
    "thousands in Europe": ({"Umsatz": ["1.234,50"] * N, **PLAIN}, "'Umsatz' .* plain numbers"),
    "percent": ({"share": ["12.5%"] * N, **PLAIN}, "'share' .* got '12.5%'"),
    "below detection": ({"il6": ["7", "<2", "5"] * 10, **PLAIN}, "'il6' .* numbers in every row, got '<2' in row 1"),
    "joined files": ({"a": [*map(str, X[:25, 0]), "a", *map(str, X[:4, 0])], "b": TOKENS}, "got them again in row 25"),
    "texts of numbers": (
        {"user": TOKENS, "n": range(N), **{f"e{j}": [f"{v:.3f}" for v in X[:, j]] for j in range(4)}},
        "columns e0 to e3 of .* must contain numbers, got texts of numbers in 4 columns",
    ),
    "rows of two models": (
        {"doc": [f"d{i}" for i in range(15)] * 2, "model": ["a"] * 15 + ["b"] * 15, "embedding": list(X.tolist())},
        r"one row for each doc and model \(2 x 15 rows\); write the rows of each model to a file of their own",
    ),
    "tokens for a model": (
        {"input_ids": [[101, 7, 102]] * N, "attention_mask": [[1, 1, 0]] * N, "label": TOKENS},
        "must contain vectors, got only what a model encodes in input_ids, attention_mask; encode the inputs first",
    ),
    "numbered genes among others": (
        {**{f"Gpr{i}": TOKENS for i in range(1, 7)}, **dict.fromkeys(("Gad", "Sst", "Vip", "Mbp"), X[:, 0])},
        "must contain mainly features, got 6 numbered columns Gpr1 to Gpr6 and 4 other columns of numbers",
    ),
    "nothing but properties": ({"id": IDS, "n_tokens": TOKENS, "score": X[:, 0]}, "n_tokens .*score"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("ending", ["csv", "parquet", "memory"])
def test_what_is_ambiguous_or_unreadable_is_refused(tmp_path, ending, kind):
    columns, message = REFUSED[kind]
    frame = pd.DataFrame(columns)
    if kind in ("other bytes", "texts of numbers") and ending == "csv":
        pytest.skip("text files have neither bytes nor texts of numbers")
    with pytest.raises((ValueError, TypeError), match=message):
        if ending == "memory":
            split_names(frame, "t")
        else:
            path = tmp_path / f"t.{ending}"
            {"csv": frame.to_csv, "parquet": frame.to_parquet}[ending](path, index=False)
            open_file(path)


@pytest.mark.parametrize(
    ("name", "values", "warned"),
    [
        ("model", ["ada", "small"], True),
        ("embedding_model_id", ["ada", "small"], True),
        ("encoder", ["ada"], False),
        ("topic", ["ada", "small"], False),
    ],
)
def test_rows_of_several_models_are_named(name, values, warned):
    frame = pd.DataFrame({"id": range(N), name: (values * N)[:N], "embedding": list(X.tolist())})
    with collect_statements() as stated:
        split_names(frame, "t")
    assert any(f"have 2 values of {name} (ada, small)" in text for text in stated) == warned


@pytest.mark.parametrize(
    ("name", "width", "whole"), [("labels", 8, False), ("visits", 8, True), ("corners", 4, False), ("other", 8, False)]
)
def test_lists_that_are_rather_labels_counts_or_boxes_are_no_vectors_beside_others(tmp_path, name, width, whole):
    lists = np.round(4 * X[:, :width]).astype(int) if whole else X[:, :width]
    pd.DataFrame({"stuff": np.c_[X, X].tolist(), name: lists.tolist()}).to_parquet(tmp_path / "a.parquet")
    assert list(open_file(tmp_path / "a.parquet").representations) == ["stuff", "other"][: 1 + (name == "other")]


@pytest.mark.parametrize("place", [0, 3])
def test_a_column_without_name_names_the_rows_if_it_comes_first(tmp_path, place):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in "abcdefgh"[: X.shape[1]]])
    frame.insert(place, "", [f"r{i}" for i in range(N)])
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = open_file(tmp_path / "a.csv")
    assert (found.row_names is not None and found.row_names.kind == "text") == (place == 0)
    assert list(found.skipped.values()) == [
        "has no name and contains row names" if place == 0 else "contains text, not numbers"
    ]
    assert next(iter(found.representations.values())).shape == X.shape


@pytest.mark.parametrize("names", [["Fp1", "Fp2", "F3", "F4", "F7", "F8", "Fz", "C3", "Cz", "O1", "PO10"]])
def test_electrodes_are_features_of_their_own(names):
    rows = RNG.standard_normal((N, len(names)))
    values, _ = split_names(pd.DataFrame(rows, columns=names).assign(trial=range(N)), "t")
    assert np.asarray(values).shape == rows.shape
    with pytest.raises(ValueError, match="got 4 numbered columns F3 to F8 and 7 other columns of numbers"):
        split_names(pd.DataFrame(rows, columns=[*"abcdegh", "F3", "F4", "F7", "F8"]), "t")


def test_keys_choose_families_patterns_and_columns(tmp_path):
    pd.DataFrame({"id": IDS, **family("old_"), **family("new_"), "n_tokens": TOKENS}).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert list(open_file(tmp_path / "t.csv", keys=["old"]).representations) == ["old"]
    both = open_file(tmp_path / "t.csv", keys=["new", "old"]).representations
    assert {name: matrix.shape for name, matrix in both.items()} == {"new": (N, D), "old": (N, D)}
    assert open_file(tmp_path / "t.csv", keys=["old_*", "n_tokens"]).representations["t"].shape == (N, D + 1)
    with pytest.raises(ValueError, match=r"keys must be among .*, got 'nothing'"):
        open_file(tmp_path / "t.csv", keys=["nothing"])


@pytest.mark.parametrize("names", [[*map(str, range(D))], [f"dim_{j}" for j in range(D)], [*"abcdefgh"]])
def test_two_tables_side_by_side_are_refused(tmp_path, names):
    frame = pd.DataFrame(np.hstack([X, -X]), columns=names * 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for read in (lambda: open_file(tmp_path / "t.csv"), lambda: split_names(frame, "t")):
        with pytest.raises(ValueError, match="must have one column of each name, got 8 names of several columns"):
            read()


def test_a_few_columns_of_one_name_are_all_read(tmp_path):
    frame = pd.DataFrame(X, columns=["ACTB", "CD3D", "CD3D", "LYZ", "MS4A1", "NKG7", "GNLY", "PPBP"])
    frame.insert(0, "donor", ["d1", "d2"] * 15)
    frame.to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_array_equal(split_names(frame, "t")[0], X)
    np.testing.assert_array_equal(open_file(tmp_path / "t.csv").representations["t"], X)


def test_two_lines_of_column_names_are_refused(tmp_path):
    columns = pd.MultiIndex.from_product([["emb"], range(D)])
    pd.DataFrame(X, columns=columns).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"must have one line of column names, got emb for several columns"):
        open_file(tmp_path / "t.csv")


WORDS = {name: table for name, table in vars(column_words).items() if isinstance(table, column_words.Words)}


@pytest.mark.parametrize("name", WORDS)
def test_each_example_fits_its_line_only(name):
    for example, line in WORDS[name].lines.items():
        tables = {place: column_words.Words({example: other}) for place, other in WORDS[name].lines.items()}
        fitting = [place for place, table in tables.items() if table.fit(example) or table.fit_one_word(example)]
        assert tables[example].fit(example) or tables[example].fit_one_word(example), line
        assert [place for place, table in tables.items() if table.fit(example)] in ([example], []), fitting
    assert not WORDS[name].fit("height")


def test_numbered_columns_in_another_order_are_stated(rng):
    names = [f"dim_{k}" for k in range(12)]
    X = pd.DataFrame(rng.standard_normal((20, 12)), columns=names)
    found = shesha.compare(X, X[sorted(names)], "CKA")
    assert found.inputs[0] == "Y: columns dim_0 to dim_11, in the order of their numbers, 20 x 12"
    assert found["CKA"].value == pytest.approx(1) and not any(
        "order of" in one for one in shesha.compare(X, X, "CKA").inputs
    )
