"""Files as other programs export them: what is read, which rows belong together, and what is refused."""

import json
import re
import shlex
import struct
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

rng = np.random.default_rng(0)
N, D = 24, 6
X = rng.standard_normal((N, D))
Y = X @ rng.standard_normal((D, 5)) + 0.1 * rng.standard_normal((N, 5))
ORDER = rng.permutation(N)
DIMS = [f"dim_{i}" for i in range(D)]
TIMES = pd.date_range("2024-01-01", periods=N, freq="7D")


def value(out: str) -> float:
    """Return the CKA in the first line."""
    return float(out.split("CKA ")[1].split()[0].rstrip("."))


def one_line(out: str) -> str:
    """Return printed text without its line breaks."""
    return " ".join(out.split())


@pytest.fixture
def compare(invoke_main, tmp_path, monkeypatch):
    """Compare two representations by CKA."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: invoke_main("compare", *args, "--no-calibrate", "--measures", "CKA")


@pytest.fixture
def audit(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *args: invoke_main("audit", *args, "--permutations", 0, "--bootstrap", 0)


def write_pair(ending, columns, others=None):
    """Write X and, in another order, Y, each with columns that identify the rows."""
    for name, matrix, found, order in (("a", X, columns, range(N)), ("b", Y, others or columns, ORDER)):
        frame = pd.DataFrame({**found, **{f"dim_{i}": column for i, column in enumerate(matrix.T)}})
        frame = frame.iloc[list(order)].reset_index(drop=True)
        frame.to_csv(f"{name}.csv", index=False) if ending == "csv" else frame.to_parquet(
            f"{name}.parquet", index=False
        )


KEYS = {
    "subject, session, trial": {
        "subject": np.repeat([1, 2, 3], 8),
        "session": np.tile(np.repeat([1, 2], 4), 3),
        "trial": np.tile(range(4), 6),
    },
    "plate, well, site": {"plate": ["P1"] * N, "well": np.repeat(list("ABC"), 8), "site": np.tile(range(8), 3)},
    "user, item": {"user": np.repeat(range(5, 11), 4), "item": np.tile([9, 2, 7, 4], 6)},
    "doc_id, chunk": {"doc_id": np.repeat([f"d{i}" for i in range(6)], 4), "chunk": np.tile(range(4), 6)},
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", KEYS)
def test_columns_that_identify_rows_together_match_them(compare, ending, kind):
    write_pair(ending, KEYS[kind])
    ended = compare(f"a.{ending}", f"b.{ending}")
    used = [name for name in KEYS[kind] if len(set(KEYS[kind][name])) > 1]
    assert f"rows matched by {' and '.join(used)}" in " ".join(ended.out.split())
    assert value(ended.out) > 0.5


def test_columns_of_other_names_are_named_if_they_show_another_order(compare):
    write_pair("csv", {"gene": np.repeat([f"G{i}" for i in range(6)], 4), "guide": np.tile(list("wxyz"), 6)})
    assert "pass --id gene,guide" in compare("a.csv", "b.csv").err
    matched = compare("a.csv", "b.csv", "--id", "gene,guide")
    assert "rows matched by gene and guide" in " ".join(matched.out.split()) and value(matched.out) > 0.5
    assert "must be among" in compare("a.csv", "b.csv", "--id", "gene,nothing").err
    write_pair("csv", {"week": np.repeat(range(6), 4), "store_id": np.tile(range(101, 105), 6)})
    assert "pass --id week,store_id" in compare("a.csv", "b.csv").err


SHOWN = {
    "text": ("stimulus", np.repeat(["cat", "dog", "owl"], 8), True),
    "numbers": ("image_id", np.repeat([3, 5, 9], 8), True),
    "fractions": ("contrast", np.repeat([0.25, 0.5, 1], 8), True),
    "other sets": ("stim", np.r_[np.repeat(["cat", "dog"], 8), ["fox"] * 8], True),
    "choices": ("choice", np.repeat(["left", "right"], 12), True),
    "folds": ("fold", np.repeat(["a", "b"], 12), False),
}


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_trials_of_other_stimuli_are_not_paired_by_position(compare, ending, kind):
    column, shown, refused = SHOWN[kind]
    first = np.repeat(["cat", "dog", "owl"], 8) if kind == "other sets" else shown
    if ending == "npz":
        np.savez("a.npz", X=X, **{column: first})
        np.savez("b.npz", X=Y, **{column: shown[ORDER] if kind != "other sets" else shown})
    else:
        order = ORDER if kind != "other sets" else np.arange(N)
        for name, matrix, values in (("a", X, first), ("b", Y, shown[order])):
            frame = pd.DataFrame(matrix).add_prefix("dim_").assign(**{column: values})
            frame.to_csv(f"{name}.csv", index=False) if ending == "csv" else frame.to_parquet(f"{name}.parquet")
    ended = compare(f"a.{ending}", f"b.{ending}")
    assert (f"got another {column} in" in ended.err) == refused
    assert value(compare(f"a.{ending}", f"b.{ending}", "--by-position").out) > 0.5


NOTATIONS = {
    "days first": (TIMES.strftime("%Y-%m-%d"), TIMES.strftime("%d/%m/%Y")),
    "months first": (TIMES.strftime("%Y-%m-%d"), TIMES.strftime("%m/%d/%y").str.replace("/24", "/2024")),
    "names of months": (TIMES.strftime("%d %b %Y"), TIMES.strftime("%Y-%m-%d")),
    "times": (TIMES.strftime("%Y-%m-%d %H:%M"), TIMES.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "zeros": ([f"sub-{i:03}" for i in range(N)], [f"sub-{i}" for i in range(N)]),
    "names in R": ([f"cell-{i}" for i in range(N)], [f"cell.{i}" for i in range(N)]),
    "spaces": ([f"Mouse {i}" for i in range(N)], [f"Mouse_{i}" for i in range(N)]),
    "hexadecimal": (
        [f"{i:08x}-0a1b-4c2d-8e3f-0123456789ab" for i in range(N)],
        [f"{i:08X}0A1B4C2D8E3F0123456789AB" for i in range(N)],
    ),
    "stored times": (TIMES, TIMES.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "times with a zone": (TIMES.tz_localize("UTC"), TIMES.strftime("%Y-%m-%d")),
}


@pytest.mark.parametrize("kind", NOTATIONS)
def test_names_in_two_notations_are_refused(compare, kind):
    ending = "csv" if isinstance(NOTATIONS[kind][0], list) or NOTATIONS[kind][0].dtype == object else "parquet"
    write_pair(ending, *({"first": names} for names in NOTATIONS[kind]))
    assert f"{N} would match if" in compare(f"a.{ending}", f"b.{ending}").err
    assert value(compare(f"a.{ending}", f"b.{ending}", "--by-position").out) < 0.8


@pytest.mark.filterwarnings("ignore:rows of b")
def test_a_shuffled_table_is_matched_with_the_default_index_of_the_other(compare):
    for name, matrix, order in (("a", X, np.arange(N)), ("b", Y, ORDER)):
        pd.DataFrame({"label": "x", "vector": list(matrix)}).iloc[order].to_parquet(f"{name}.parquet")
    ended = compare("a.parquet", "b.parquet")
    assert value(ended.out) > 0.5 and "matched by row number, in another order" in " ".join(ended.out.split())
    for name in "ab":
        pd.DataFrame({"vector": list(X)}).to_parquet(f"{name}.parquet")
    assert "paired by position (no ids)" in " ".join(compare("a.parquet", "b.parquet").out.split())


def test_covariates_are_matched_by_numbers_that_only_count_the_rows_of_the_data(compare):
    for name, matrix in (("a", X), ("b", Y)):
        pd.DataFrame({"trial_id": range(N), "vector": list(matrix)}).to_parquet(f"{name}.parquet")
    speed = pd.DataFrame({"trial_id": range(N), "speed": X[:, 0]})
    speed.to_csv("speed.csv", index=False)
    speed.iloc[ORDER].to_csv("shuffled.csv", index=False)
    ordered, shuffled = (
        compare("a.parquet", "b.parquet", "--covariates", f"{f}.csv:speed") for f in ("speed", "shuffled")
    )
    assert value(ordered.out) == value(shuffled.out)
    assert "covariates matched by trial_id" in " ".join(shuffled.out.split())


def test_layers_state_once_how_rows_were_matched(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = np.array([f"n{i}" for i in range(N)])
    for name, matrix, order in (("a", X, np.arange(N)), ("b", Y, ORDER)):
        np.savez(f"{name}.npz", layer_0=matrix[order], layer_1=2 * matrix[order] ** 2, ids=ids[order])
    out = " ".join(invoke_main("layers", "a.npz", "b.npz", "--permutations", 19).out.split())
    assert "rows matched by ids, in another order" in out and "by position" not in out


def test_files_of_layers_are_in_the_order_of_their_numbers(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layers").mkdir()
    for layer in range(12):
        np.save(tmp_path / "layers" / f"layer_{layer}.npy", X + layer * Y[:, [0]])
    files = sorted(map(str, (tmp_path / "layers").iterdir()))
    for given in (["layers"], files):
        invoke_main("audit", *given, "--permutations", 0, "--bootstrap", 0, "--json", "a.json")
        read = json.loads((tmp_path / "a.json").read_text())["representations"]
        assert [one["name"] for one in read] == [f"layer_{layer}" for layer in range(12)]


def test_a_first_line_of_data_is_no_line_of_column_names(compare, tmp_path):
    for name, matrix, order in (("a", X, range(N)), ("b", Y, ORDER)):
        lines = [f"doc-{i}\tsome text\t[{','.join(map(str, matrix[i]))}]\n" for i in order]
        lines[3] = lines[3].partition("[")[0] + "\\N\n" if name == "b" else lines[3]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    assert f"got NaN or infinity in rows 3 (1 of {N}: doc-{ORDER[3]})" in compare("a.tsv", "b.tsv").err


TURNED = {"dim": True, "component": True, "Probe": False, "sample": False}


@pytest.mark.parametrize("column", TURNED)
@pytest.mark.filterwarnings("ignore:.*rows look like")
def test_the_name_of_the_first_column_tells_features_in_rows(audit, column):
    frame = pd.DataFrame(X.T if TURNED[column] else X)
    frame.columns = [f"doc-{i:x}" for i in range(N)] if TURNED[column] else [f"Merkmal {i}" for i in range(D)]
    frame.insert(0, column, [f"d{i}" for i in range(len(frame))])
    frame.to_csv("a.csv", index=False)
    assert ("rows look like features" in " ".join(audit("a.csv").out.split())) == TURNED[column]


@pytest.mark.parametrize("name", ["dimension", "feature_idx", "component"])
def test_tables_of_one_number_per_line_are_refused(audit, name):
    frame = pd.DataFrame({"id": np.repeat(range(N), D), name: np.tile(range(D), N), "value": X.ravel()})
    frame.to_csv("a.csv", index=False)
    assert f"one row for each id and {name}" in audit("a.csv").err


@pytest.mark.filterwarnings("ignore:d looks like")
def test_what_may_be_a_mistake_is_stated(audit, tmp_path):
    np.save("x.npy", X)
    (tmp_path / "y.txt").write_text("condition\n" + "a\nb\n" * (N // 2))
    assert "first line 'condition' read as a heading" in " ".join(audit("x.npy", "--labels", "y.txt").out.split())
    np.save("y.npy", np.r_[np.arange(N - 4) % 2, [-999] * 4])
    assert "-999 is used as a class of 4 rows" in " ".join(audit("x.npy", "--labels", "y.npy").out.split())
    np.save("y.npy", np.r_[np.arange(N - 4) % 2, [-1] * 4])
    assert "-1 is used as a class of 4 rows" in " ".join(audit("x.npy", "--labels", "y.npy").out.split())
    np.save("y.npy", np.r_[np.resize(["T", "B"], N - 4), ["Unknown"] * 4])
    assert "Unknown is used as a class of 4 rows" in " ".join(audit("x.npy", "--labels", "y.npy").out.split())
    np.save("y.npy", np.arange(N) % 2 * 2 - 1)
    assert "is used as a class" not in audit("x.npy", "--labels", "y.npy").out
    pd.DataFrame({"region": np.resize(["NA", "EU", "AS"], N)}).to_csv("y.csv", index=False)
    printed = " ".join(audit("x.npy", "--labels", "y.csv:region").out.split())
    assert f"region: {N // 3} rows labelled 'NA' are read as unlabelled; write another word" in printed
    np.save("g.npy", np.arange(N))
    printed = " ".join(audit("x.npy", "--groups", "g.npy").out.split())
    assert "each of 24 groups has one row, so that groups declare no dependence" in printed
    np.save("d.npy", squareform(pdist(X)))
    assert "d looks like a matrix of distances, but is used as features" in " ".join(audit("d.npy").out.split())
    np.savez("q.npz", codes=rng.integers(-127, 127, (N, D)).astype(np.int8), scale=np.ones(D))
    assert "left out" not in audit("q.npz").out


def test_translations_in_the_first_column_are_paired_by_position(compare):
    write_pair("csv", {"line": [f"one sentence {i}" for i in range(N)]}, {"line": [f"ein Satz, {i}" for i in range(N)]})
    assert "paired by position: their names have nothing in common" in " ".join(compare("a.csv", "b.csv").out.split())


def test_tables_of_distances_between_other_inputs_are_refused(compare):
    for name, kind in (("a", "image"), ("b", "word")):
        names = [f"{kind} {i}" for i in range(N)]
        pd.DataFrame(squareform(pdist(X)), names, names).to_csv(f"{name}.csv")
    assert "got 0 shared names of 24 and 24" in compare("a.csv", "b.csv", "--rdm").err


def test_pickled_identifiers_are_refused_and_those_of_a_group_belong_to_it(compare):
    names = np.array([f"n{i}" for i in range(N)])
    np.savez("a.npz", X=X, ids=names.astype(object))
    np.savez("b.npz", X=Y[ORDER], ids=names[ORDER].astype(object))
    assert "ids in a.npz must be text or numbers" in compare("a.npz", "b.npz").err
    assert "by position, as requested" in compare("a.npz", "b.npz", "--by-position").out
    h5py = pytest.importorskip("h5py")
    with h5py.File("x.h5", "w") as file:
        file["a/emb"], file["a/ids"] = X, names.astype("S")
        file["b/emb"], file["b/ids"] = Y[ORDER], names[ORDER].astype("S")
    ended = compare("x.h5")
    assert "rows matched by a/ids and b/ids, in another order in b/emb" in " ".join(ended.out.split())
    assert value(ended.out) > 0.5


@pytest.mark.parametrize("content", [b"version https://git-lfs.github.com/spec/v1\noid", b"<!DOCTYPE html><html>"])
@pytest.mark.parametrize("ending", ["npy", "csv", "json", "parquet", "safetensors", "pt"])
def test_what_a_failed_download_leaves_is_named(audit, tmp_path, ending, content):
    (tmp_path / f"x.{ending}").write_bytes(content)
    expected = "git lfs pull" if b"lfs" in content else "a web page"
    assert expected in audit(f"x.{ending}").err


PARTS = {
    "numbered parts": ([f"emb_part{i}" for i in range(3)], "look like parts of one"),
    "ranges of rows": ([f"emb_{8 * i:04}_{8 * i + 8:04}" for i in range(3)], "look like parts of one"),
    "ranks": ([f"preds_rank{i}" for i in range(3)], "look like parts of one"),
    "checkpoints": ([f"step_{100 * i}" for i in range(3)], ""),
    "models": (["vit_16_224", "vit_32_224", "vit_8_224"], ""),
    "embeddings": (
        [f"img_emb_{i}" for i in range(3)],
        "3 representations of the same 8 rows; if they are parts of one",
    ),
}


@pytest.mark.parametrize("command", ["audit", "compare"])
@pytest.mark.parametrize("kind", PARTS)
def test_parts_of_one_matrix_in_a_folder_are_refused_or_stated(audit, compare, tmp_path, kind, command):
    names, expected = PARTS[kind]
    (tmp_path / "f").mkdir()
    for part, name in enumerate(names):
        np.save(tmp_path / "f" / f"{name}.npy", X[8 * part : 8 * part + 8])
    ended = audit("f") if command == "audit" else compare("f")
    printed = one_line(ended.err + ended.out)
    assert expected in printed and ("parts of one" in printed) is bool(expected)


def test_tokens_of_single_inputs_are_refused(audit, tmp_path):
    torch = pytest.importorskip("torch")
    ragged = [torch.randn(3 + i % 4, D) for i in range(N)]
    torch.save(ragged, "list.pt")
    torch.save({f"n{i}": one for i, one in enumerate(ragged)}, "dict.pt")
    np.savez("dict.npz", **{f"n{i}": one.numpy() for i, one in enumerate(ragged)})
    pd.DataFrame({"embedding": [[list(map(float, row)) for row in one] for one in ragged]}).to_parquet("x.parquet")
    for name in ("list.pt", "dict.pt", "dict.npz"):
        assert "24 matrices of 3 to 6 rows, which look like the tokens" in audit(name).err
    (tmp_path / "x.json").write_text(json.dumps([one.tolist() for one in ragged]))
    assert "look like the tokens of each row" in audit("x.parquet").err
    assert "got 3 lists in row 1 and 4 in row 2, which look like the tokens of each row" in audit("x.json").err


NUMBERED = {
    "documents": ("doc-{}", [6] * 9, "9 matrices of 6 rows, which look like the tokens or times of one input each"),
    "images": ("train/img_{:03}/patches", [6] * 9, "look like the tokens"),
    "few documents": ("doc_{}", [6, 8, 7], "3 matrices of 6 to 8 rows, which look like the tokens"),
    "few alike": ("doc_{}", [6] * 7, ""),
    "layers of a text": ("text_encoder.layer.{}", [6] * 9, ""),
    "layers of an image": ("img_3/block_{}", [6] * 9, ""),
    "seeds": ("seed{}", [6] * 9, ""),
    "unknown": ("a{}", [6] * 21, "or the mean of each if its rows are tokens"),
}


BESIDE = {
    "doclens": ([4, 6, 5, 3, 6], "doclens has the numbers of rows of parts"),
    "offsets": ([0, 4, 10, 15, 18, 24], "offsets has the first rows of parts"),
    "row_starts": ([0, 4, 10, 15, 18], "row_starts has the first rows of parts"),
    "cluster_sizes": ([4, 6, 5, 3, 6], ""),
    "steps": ([0, 4, 10, 15, 18, 24], ""),
    "lengths": ([4, 6, 5, 3, 5], ""),
}


@pytest.mark.parametrize("name", BESIDE)
def test_lengths_of_documents_beside_their_tokens_are_named(audit, name):
    values, said = BESIDE[name]
    np.savez("a.npz", vectors=X, **{name: np.array(values)})
    printed = one_line(audit("a.npz").out)
    assert said in printed and ("tokens or chunks" in printed) == bool(said)


@pytest.mark.parametrize("kind", NUMBERED)
def test_numbered_arrays_of_single_inputs_are_refused(audit, tmp_path, kind):
    name, lengths, said = NUMBERED[kind]
    rows = np.random.default_rng(0).standard_normal((8, D))
    np.savez("a.npz", **{name.format(place): rows[:n] for place, n in enumerate(lengths)})
    ended = audit("a.npz")
    printed = one_line(ended.err + ended.out)
    assert said in printed and ("one input" in printed or "tokens" in printed) == bool(said)
    assert ("look like the tokens" in ended.err) == (ended.status == 2) == (kind in list(NUMBERED)[:3])


@pytest.mark.filterwarnings("ignore:left out", "ignore:skipped")
def test_files_that_are_no_matrix_are_stated(audit, tmp_path):
    (tmp_path / "f").mkdir()
    np.save(tmp_path / "f" / "a.npy", X)
    np.save(tmp_path / "f" / "b.npy", Y)
    np.save(tmp_path / "f" / "labels.npy", np.arange(N))
    (tmp_path / "f" / "notes.txt").write_text("text")
    assert "files: left out labels.npy, which is no matrix; notes.txt" in " ".join(audit("f").out.split())


@pytest.mark.parametrize("names", ["ids.npy", "doc_ids.txt", "vectors.txt", "ids.json", "metadata.csv", "meta.tsv"])
def test_names_beside_the_matrices_of_a_folder_match_the_rows(compare, tmp_path, names):
    for name, matrix, order in (("a", X, np.arange(N)), ("b", Y, ORDER)):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "vectors.npy", matrix[order])
        ids = [f"u{i}" for i in order]
        if names.endswith(".npy"):
            np.save(tmp_path / name / names, ids)
        elif "meta" in names:
            frame = pd.DataFrame({"label": "x", "id": ids, "length": 0.5})
            frame.to_csv(tmp_path / name / names, index=False, sep="\t" if names.endswith("tsv") else ",")
        else:
            (tmp_path / name / names).write_text(json.dumps(ids) if names.endswith("json") else "\n".join(ids))
    ended = compare("a", "b")
    assert value(ended.out) > 0.5 and "in another order in b:vectors" in one_line(ended.out)


@pytest.mark.filterwarnings("ignore:skipped:shesha.support.warnings.MeasureWarning")
def test_lists_beside_several_matrices_name_no_rows(audit, tmp_path):
    (tmp_path / "f").mkdir()
    for name, order, matrix in (("a", np.arange(N), X), ("b", ORDER, np.random.default_rng(7).random(X.shape))):
        np.save(tmp_path / "f" / f"{name}.npy", matrix)
        (tmp_path / "f" / f"{name}.txt").write_text("\n".join(f"u{i}" for i in order))
    assert "left out a.txt, which is no matrix; b.txt" in one_line(audit("f").out)


def test_a_folder_with_a_single_table_is_this_table(compare, tmp_path):
    for name, matrix, order in (("a", X, np.arange(N)), ("b", Y, ORDER)):
        (tmp_path / name).mkdir()
        frame = pd.DataFrame({"id": [f"u{i}" for i in order], "embedding": list(matrix[order])})
        frame.to_parquet(tmp_path / name / "embeddings.parquet")
    ended = compare("a", "b")
    assert value(ended.out) > 0.5 and "a: column embedding, 24 x 6 (rows named by id)" in one_line(ended.out)


def test_lists_of_batches_and_folders_of_layers_are_named(audit, invoke_main, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({f"layer{k}": list(torch.tensor(X + k).split(8)) for k in range(3)}, "a.pt")
    assert "layer0[0] to layer0[2] are read as 3 representations of the same 8 rows" in one_line(audit("a.pt").out)
    parts = torch.tensor(X).split(8)
    torch.save({"hidden": list(parts)}, "b.pt")
    assert "hidden[0] to hidden[2] are read as 3 representations" in one_line(audit("b.pt").out)
    torch.save([{"embedding": part, "batch_idx": number} for number, part in enumerate(parts)], "c.pt")
    assert "look like parts of one. Save them as one array" in one_line(audit("c.pt").err)
    labels = torch.arange(len(X)) % 3
    torch.save(list(zip(torch.tensor(X).split(7), labels.split(7), strict=True)), "d.pt")
    assert "0[0] to 0[3] with 7, 7, 7, 3 rows, which look like parts of one" in one_line(audit("d.pt").err)
    torch.save({"x": torch.tensor(X), "label": list(labels.split(7))}, "e.pt")
    assert "Labels: label, 3 classes of 8 rows" in one_line(audit("e.pt", "--labels", "label").out)
    for name in "xy":
        np.save(f"{name}.npy", np.stack([X, X + 1], axis=1))
    assert "parts of one" not in audit("x.npy", "y.npy").out
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "layer_0.npy", X)
    assert "the files as the layers of one model" in invoke_main("diff", "old", "new").err


def test_means_of_inputs_are_read_beside_their_tokens(audit, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "f").mkdir()
    for number, row in enumerate(torch.tensor(X)):
        tokens = row.repeat(3 + number % 4, 1)
        torch.save({"label": f"p{number}", "mean": {33: row}, "tokens": {33: tokens}}, tmp_path / "f" / f"p{number}.pt")
    assert "f: 24 files of one vector each" in one_line(audit("f").out)


def test_an_axis_of_one_token_is_no_axis_of_tokens(audit):
    torch = pytest.importorskip("torch")
    steps = tuple(tuple(torch.tensor(X + k + step)[:, None] for k in range(3)) for step in range(2))
    torch.save({"hidden_states": steps}, "a.pt")
    assert "1 representation of 24 rows along axis 1 of 24 x 1 x 6" in one_line(audit("a.pt").out)


def test_labels_in_records_and_in_one_hot_columns(audit, tmp_path):
    rows = [{"id": f"u{i}", "embedding": X[i].tolist(), "metadata": {"kind": "ab"[i % 2]}} for i in range(N)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.savez("a.npz", x=X, y=np.eye(2)[np.arange(N) % 2], p=rng.dirichlet(np.ones(2), N))
    for file, column in (("a.jsonl", "metadata.kind"), ("a.npz", "y")):
        assert "2 classes of 12 rows" in one_line(audit(file, "--labels", column).out)
    assert "among the 1-D arrays of a.npz, got 'p', which has shape (24, 2)" in audit("a.npz", "--labels", "p").err
    (tmp_path / "y.txt").write_text("cat\nCat\n" * (N // 2))
    assert "classes 'cat' and 'Cat' differ in letter case only" in one_line(audit("a.npz", "--labels", "y.txt").out)


def test_neighbours_are_no_vectors(audit, tmp_path):
    with (tmp_path / "gt.ivecs").open("wb") as stream:
        for row in range(N):
            stream.write(struct.pack("<6i", 5, *range(row, row + 5)))
    assert "row numbers of nearest neighbours" in audit("gt.ivecs").err


def test_missing_vectors_of_databases_are_rows_without_numbers(audit, tmp_path):
    lines = ["{" + ",".join(map(str, row)) + "}" for row in X]
    for marker in ("\\N", "NULL", "n/a"):
        pd.DataFrame({"id": range(N), "embedding": [*lines[:-1], marker]}).to_csv("a.csv", index=False)
        assert f"1 row of {N} ({N - 1})" in " ".join(audit("a.csv").out.split())


def test_separators_of_thousands_matter_only_in_features(audit):
    frame = pd.DataFrame(X, columns=DIMS)
    frame["n_chars"] = "1,234"
    frame.to_csv("a.csv", index=False)
    assert "left out: n_chars" in audit("a.csv").out
    frame.map(lambda number: f"{1e6 + number:,.0f}" if not isinstance(number, str) else number).to_csv(
        "b.csv", index=False
    )
    assert "may be a decimal comma or separate thousands" in audit("b.csv").err


def test_files_of_polars_are_read(compare):
    polars = pytest.importorskip("polars")
    names = [f"n{i}" for i in range(N)]
    frame = polars.DataFrame(
        {"key": names, "emb": X}, schema={"key": polars.String, "emb": polars.Array(polars.Float64, D)}
    )
    frame.write_ipc("a.arrow")
    frame[ORDER.tolist()].write_ipc("b.feather", compression="zstd")
    ended = compare("a.arrow", "b.feather")
    assert value(ended.out) == 1 and "rows matched by key, in another order" in " ".join(ended.out.split())


def test_traces_of_suite2p_are_times_by_cells(audit, tmp_path):
    (tmp_path / "plane0").mkdir()
    traces = rng.random((9, 50)).astype(np.float32)
    for name in ("F", "Fneu", "spks"):
        np.save(tmp_path / "plane0" / f"{name}.npy", traces)
    np.save(tmp_path / "plane0" / "iscell.npy", np.c_[np.arange(9) < 5, rng.random(9)])
    out = " ".join(audit("plane0").out.split())
    assert "5 of 9 regions are cells (iscell.npy); rows are times" in out and "left out Fneu" in out
    from shesha.io import read

    np.testing.assert_array_equal(read(tmp_path / "plane0")["F"], traces[:5].T)
    np.save(tmp_path / "plane0" / "spks.npy", traces[:7])
    assert "one row for each of the 9 regions" in audit("plane0").err


@pytest.mark.parametrize(("mark", "rate"), [("_", 30000), (".", 1)])
def test_spikes_of_sorters_are_refused_with_lines_that_count_them(audit, tmp_path, mark, rate):
    (tmp_path / "ks").mkdir()
    plural = "spikes" if mark == "." else "spike"
    np.save(tmp_path / "ks" / f"{plural}{mark}times.npy", np.sort(rng.random(500) * 20 * rate)[:, None])
    np.save(tmp_path / "ks" / f"{plural}{mark}clusters.npy", rng.integers(0, 5, 500))
    np.save(tmp_path / "ks" / "templates.npy", rng.random((5, 20, 8)))
    error = audit("ks").err
    lines = [line.strip() for line in error.splitlines() if line.startswith("    ")]
    exec("\n".join(lines).replace("ONSETS", "numpy.arange(0, 19, 0.5)"), {})
    assert np.load("ks_counts.npy").shape == (38, 5)


def test_distances_of_rsatoolbox_need_their_option(invoke_main, audit):
    h5py = pytest.importorskip("h5py")
    names = np.array([f"s{i}" for i in range(10)], dtype="S")
    for name, order in (("a", np.arange(10)), ("b", ORDER[ORDER < 10])):
        with h5py.File(f"{name}.h5", "w") as file:
            file["dissimilarities"] = pdist(X[order])[None]
            file["pattern_descriptors/stim"] = names[order]
            file["pattern_descriptors/index"] = np.arange(10)
    assert "the distances of rsatoolbox; pass --rdm" in audit("a.h5").err
    ended = invoke_main("compare", "a.h5", "b.h5", "--rdm", "--no-calibrate", "--measures", "RSA")
    assert "RSA 1.000" in ended.out


def test_colours_of_the_rsa_toolbox_are_no_distances(invoke_main, tmp_path, monkeypatch):
    from scipy.io import savemat

    monkeypatch.chdir(tmp_path)
    records = np.zeros((1, 2), dtype=[("RDM", object), ("name", object), ("color", object)])
    for place, scale in enumerate((1, 2)):
        records[0, place] = (squareform(pdist(X)) * scale, f"subject {place}", np.array([0.0, 0.0, 1.0]))
    savemat("RDMs.mat", {"RDMs": records})
    assert "RSA 1.000" in invoke_main("compare", "RDMs.mat", "--rdm", "--no-calibrate", "--measures", "RSA").out


def test_a_stack_of_subjects_is_read_by_the_rows_of_the_models(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("subjects.npy", np.array([X + 0.5 * rng.standard_normal(X.shape) for _ in range(5)])[:, :12])
    np.savez("models.npz", good=X[:12], poor=rng.standard_normal((12, 4)))
    ended = invoke_main("rank", "models.npz", "--data", "subjects.npy", "--permutations", 19, "--resamples", 50)
    assert "5 representations of 12 rows along axis 0 of 5 x 12 x 6" in " ".join(ended.out.split())


def test_tables_of_trials_and_cells_are_refused(audit):
    frame = pd.DataFrame({"roi": np.tile(list("abcd"), N), "stimulus": np.repeat(np.arange(N) % 6, 4)})
    frame["repeat"], frame["dff"] = np.repeat(np.arange(N) // 6, 4), rng.random(4 * N)
    frame.to_csv("a.csv", index=False)
    assert "table.pivot(index=['stimulus', 'repeat'], columns='roi'" in audit("a.csv").err


def test_responses_named_after_interval_tables(audit, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.7.0"
        table = file.create_group("intervals/gratings_presentations")
        table["id"], table["start_time"], table["stop_time"] = np.arange(8), np.arange(8.0), np.arange(8.0) + 0.5
        table["orientation"] = np.arange(8) % 4
        units = file.create_group("units")
        units["id"], units["spike_times_index"] = np.arange(5), np.arange(1, 6) * 40
        units["spike_times"] = np.concatenate([np.sort(rng.random(40) * 8) for _ in range(5)])
        out = None
    out = " ".join(audit("a.nwb", "--labels", "orientation").out.split())
    assert "spikes of 5 units in 8 intervals of gratings_presentations" in out and "orientation, 4 classes" in out
    with h5py.File(tmp_path / "a.nwb", "a") as file:
        file.copy("intervals/gratings_presentations", "intervals/movie_presentations")
    assert "name the trials 'trials', or count spikes" in audit("a.nwb").err


@pytest.mark.filterwarnings("ignore:rows of b")
def test_matrices_of_kallisto_have_the_names_beside_them(compare, tmp_path):
    from scipy.io import mmwrite
    from scipy.sparse import coo_matrix

    names = [f"AC{'ACGT'[i % 4]}{i}" for i in range(N)]
    for folder, order in (("a", np.arange(N)), ("b", ORDER)):
        (tmp_path / folder).mkdir()
        mmwrite(tmp_path / folder / "cells_x_genes.mtx", coo_matrix(np.round(np.exp(X[order]), 2)))
        (tmp_path / folder / "cells_x_genes.barcodes.txt").write_text("\n".join(names[i] for i in order) + "\n")
    assert value(compare("a/cells_x_genes.mtx", "b/cells_x_genes.mtx").out) == 1


def test_identifiers_that_are_missing_are_explained(audit):
    np.save("x.npy", X)
    error = audit("x.npy", "--id", "key").err
    assert "x.npy must contain ids as a 1-D array" in error


def test_numbers_of_rows_in_another_order_are_no_feature(compare):
    names = ["area", "angle", "depth", "mass", "width", "height"]
    frame = pd.DataFrame(X, columns=names)
    frame.insert(0, "ImageNumber", range(1, N + 1))
    frame["Metadata_Well"], frame["Metadata_Site"] = np.repeat(list("ABCDEF"), 4), np.tile(range(4), 6)
    frame.to_csv("a.csv", index=False)
    frame.iloc[ORDER].to_csv("b.csv", index=False)
    assert value(compare("a.csv", "b.csv").out) == 1


def test_printed_commands_can_be_run(invoke_main, audit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a (s)": [f"t{i // 4}" for i in range(N)], "b": [f"u{i % 4}" for i in range(N)]})
    for name, order in (("x", np.arange(N)), ("y", ORDER)):
        (frame.assign(**{f"f{j}": X[:, j] for j in range(6)})).iloc[order].to_csv(f"{name}.csv", index=False)
        np.save(f"{name}.npy", X + len(name))
    refused = one_line(invoke_main("compare", "x.csv", "y.csv").err)
    option = shlex.split(re.search(r"pass (--id '.*?');", refused)[1])
    assert "CKA is 1.000" in invoke_main("compare", "x.csv", "y.csv", *option).out
    command = re.search(r"shesha (compare .*--calibrate)", audit("x.npy", "y.npy").out)[1]
    assert invoke_main(*shlex.split(command), "--permutations", 19, "--alpha", 0.1).status == 0


def test_several_lines_of_column_names_are_refused(audit):
    levels = pd.MultiIndex.from_product([["DLC"], ["nose", "tail"], ["x", "y", "likelihood"]])
    pd.DataFrame(X, columns=levels).to_csv("a.csv")
    assert "one line of column names, got 3, as pandas writes" in audit("a.csv").err


@pytest.mark.parametrize(
    "names",
    [
        ("doc", "chunk"),
        ("clip_id", "frame"),
        ("doc_id", "chunk_uid"),
        ("file", "id"),
        ("spk", "id"),
        ("File", "Start (s)"),
    ],
)
def test_parts_of_documents_are_matched_and_their_dependence_is_stated(invoke_main, tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    # Parts are numbered in each document, or have identifiers of their own.
    numbers = {"chunk": np.arange(N) % 3, "frame": np.arange(N) % 3, "Start (s)": 1.5 * (np.arange(N) % 3)}
    parts = numbers.get(names[1], [f"p{i}" for i in range(N)])
    keys = {names[0]: [f"d{i // 3}" for i in range(N)], names[1]: parts}
    for name, matrix, order in (("a", X, np.arange(N)), ("b", Y, np.arange(N).reshape(-1, 3)[:, ::-1].ravel())):
        frame = pd.DataFrame({**keys, **{f"f{j}": matrix[:, j] for j in range(matrix.shape[1])}})
        frame.iloc[order].to_csv(f"{name}.csv", index=False)
    plain, grouped = (
        invoke_main("compare", "a.csv", "b.csv", "--measures", "CKA", "--calibrate", *more)
        for more in ((), ("--permutations", 19, "--alpha", 0.1, "--groups", names[0]))
    )
    found = [re.search(r"CKA +([\d.]+) \[", ended.out) for ended in (plain, grouped)]
    assert found[0] and found[1] and found[0][1] == found[1][1] > "0.5"
    warning = f"rows of one {names[0]} may resemble one another"
    assert warning in one_line(plain.out) and warning not in one_line(grouped.out)


def write_records(path, vectors, groups):
    lines = zip(vectors.tolist(), groups, strict=True)
    text = "\n".join(
        json.dumps({"embedding": v, "metadata": {"page": i % 3, "source": g}}) for i, (v, g) in enumerate(lines)
    )
    Path(path).write_text(text)


def write_json_text(path, vectors, groups):
    texts = [json.dumps({"user": group}) for group in groups]
    pd.DataFrame({"embedding": vectors.tolist(), "cmetadata": texts}).to_csv(path, index=False)


def write_struct(path, vectors, groups):
    records = [{"doc_id": group, "page": 1} for group in groups]
    pd.DataFrame({"embedding": list(vectors), "payload": records}).to_parquet(path)


def write_hdf5(path, vectors, groups):
    with h5py.File(path, "w") as file:
        file["train/x"], file["train/donor"] = vectors, np.array(groups, dtype="S")


def write_torch(path, vectors, groups):
    torch = pytest.importorskip("torch")
    torch.save({"x": torch.tensor(vectors), "doc_id": groups}, path)


GROUPS_OF_ROWS = {
    "a.npz": ("speaker", lambda path, vectors, groups: np.savez(path, x=vectors, speaker=groups)),
    "b.npz": ("user_id", lambda path, vectors, groups: np.savez(path, x=vectors, user_id=np.arange(N) // 3)),
    "a.pt": ("doc_id", write_torch),
    "a.h5": ("train/donor", write_hdf5),
    "a.jsonl": ("metadata.source", write_records),
    "a.csv": ("cmetadata.user", write_json_text),
    "a.parquet": ("payload.doc_id", write_struct),
    "one per row.npz": ("", lambda path, vectors, groups: np.savez(path, x=vectors, speaker=np.arange(N).astype(str))),
    "classes.npz": ("", lambda path, vectors, groups: np.savez(path, x=vectors, speaker=np.arange(N) % 2)),
    "condition.npz": ("", lambda path, vectors, groups: np.savez(path, x=vectors, stimulus_id=np.arange(N) // 3)),
}


@pytest.mark.parametrize("file", GROUPS_OF_ROWS)
def test_what_several_rows_share_is_named_in_every_format(audit, monkeypatch, tmp_path, file):
    monkeypatch.chdir(tmp_path)
    name, write = GROUPS_OF_ROWS[file]
    write(file, np.random.default_rng(0).standard_normal((N, 8)), [f"d{i // 3}" for i in range(N)])
    plain = one_line(audit(file).out)
    assert f"rows of one {name} may resemble one another" in plain if name else "resemble" not in plain
    if name:
        grouped = audit(file, "--groups", name)
        assert grouped.status == 0 and "resemble" not in grouped.out


LAYOUTS = {
    "mixed": (lambda i: i % 8 // 2 if i % 11 else i // 8 % 4, "are confounded with lang (association"),
    "nested": (lambda i: i % 8, "all rows with one lang have the same class"),
    "one to one": (lambda i: i % 8 // 2, "each class has its own value of lang"),
    "balanced": (lambda i: i // 8 % 4, ""),
}
"""Batch of a row, whose class is i % 8 // 2."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["lang", "Metadata_Well", "embedding_model"])
def test_the_joint_design_of_classes_and_batches_decides_what_can_be_separated(audit, layout, name):
    batch, expected = LAYOUTS[layout]
    rows = np.random.default_rng(0).permutation(240)
    frame = pd.DataFrame({"id": rows, "embedding": list(np.random.default_rng(1).standard_normal((240, 8)))})
    frame[name] = [f"b{batch(i)}" for i in rows]
    frame.assign(topic=[f"c{i % 8 // 2}" for i in rows]).to_parquet("a.parquet")
    out = one_line(audit("a.parquet", "--labels", "topic", "--full").out)
    assert expected.replace("lang", name) in out
    assert ("confounded labels" in out) == bool(expected)


@pytest.mark.parametrize(("labels", "confounded"), [("topic", True), ("lang", False)])
def test_columns_that_confound_labels_are_named_but_not_the_labels_themselves(audit, labels, confounded):
    lang = np.arange(120) % 2
    topic = np.where(np.arange(120) % 11 == 0, 1 - lang, lang)
    rows = np.random.default_rng(0).standard_normal((120, 8)) + 2 * lang[:, None]
    frame = pd.DataFrame({"id": [f"t{i}" for i in range(120)], "embedding": list(rows)})
    frame.assign(lang=np.array(["de", "en"])[lang], topic=np.array(["a", "b"])[topic]).to_parquet("a.parquet")
    out = one_line(audit("a.parquet", "--labels", labels, "--full").out)
    assert ("classes are confounded with lang" in out) == confounded


@pytest.mark.parametrize(
    ("clusters", "name", "named"),
    [("leiden", "leiden", True), ("leiden", "sample", False), ("other", "leiden", False), ("rows", "leiden", False)],
)
def test_labels_that_are_named_after_clusters_are_circular(audit, clusters, name, named):
    rng = np.random.default_rng(0)
    leiden = rng.integers(0, 6, 120)
    values = {"leiden": leiden, "other": rng.integers(0, 6, 120), "rows": np.arange(120)}[clusters]
    rows = rng.standard_normal((120, 8)) + 4 * rng.standard_normal((6, 8))[leiden]
    frame = pd.DataFrame({"id": [f"t{i}" for i in range(120)], "embedding": list(rows)})
    # Two clusters have one type.
    frame.assign(**{name: values, "cell_type": np.array(list("abcdee"))[leiden]}).to_parquet("a.parquet")
    out = one_line(audit("a.parquet", "--labels", "cell_type", "--quick").out)
    assert (f"Rows of one cluster in {name} have one label. If these labels are" in out) == named
