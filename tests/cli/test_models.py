"""One line from a model to an audit, a comparison or a file."""

import json
import os

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")

import shesha  # noqa: E402
from shesha.cli._model_inputs import parse_texts, read_texts  # noqa: E402
from shesha.extract import encode  # noqa: E402
from shesha.io import read  # noqa: E402

WORDS = ("good", "bad", "film", "plot", "NA", "is", "the")
FAST = ("--bootstrap", "0", "--permutations", "19")


def texts():
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(WORDS, draw.integers(1, 6))) for _ in range(30)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two tiny models, and texts in files of every kind."""
    folder = tmp_path_factory.mktemp("models")
    vocabulary = {word: number for number, word in enumerate(("[PAD]", "[UNK]", *WORDS))}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    for seed, name in enumerate(("first", "second")):
        torch.manual_seed(seed)
        config = transformers.BertConfig(**sizes, vocab_size=12, max_position_embeddings=24)
        transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    table = pd.DataFrame({"id": range(30), "sentence": texts(), "kind": ["x", "y"] * 15, "label": [0, 1] * 15})
    table.to_csv(folder / "rows.csv", index=False)
    table.to_csv(folder / "rows.tsv", index=False, sep="\t")
    (folder / "lines.txt").write_text("\n".join(texts()) + "\n")
    return folder


def test_an_audit_of_a_model(invoke, place, tmp_path):
    numbers = tmp_path / "found.json"
    ended = invoke(
        *("audit", "--model", place / "first", "--texts", place / "rows.csv"),
        *("--labels", "label", *FAST, "--json", numbers),
    )
    assert ended.status == 0, ended
    assert "Stable above chance: all 3" in ended.out
    assert f"shesha: model {place / 'first'}; reader " in ended.err
    assert "pool mean" in ended.err
    found = json.loads(numbers.read_text())
    assert [one["name"] for one in found["representations"]] == ["embeddings", "encoder.layer.0", "encoder.layer.1"]
    assert found["drift"] is not None
    assert found["labels"]["column"] == "label"


def test_a_comparison_of_two_models(invoke, place):
    two = ("--model", place / "first", "--model", place / "second")
    ended = invoke("compare", *two, "--texts", place / "lines.txt", "--measures", "CKA,RSA")
    assert ended.status == 0, ended
    assert "first encoder.layer.1" in ended.out
    assert "second encoder.layer.1" in ended.out
    every = invoke("compare", *two, "--texts", place / "lines.txt", "--layers", "encoder.layer.*", "--measures", "CKA")
    assert every.status == 0, every
    assert "first encoder.layer.0" in every.out


def test_layers_are_written_to_a_file(invoke, place, tmp_path):
    out = tmp_path / "x.safetensors"
    ended = invoke(
        "extract", place / "first", "--texts", place / "rows.tsv", "--out", out, "--layers", "encoder.layer.*"
    )
    assert ended.status == 0, ended
    assert "encoder.layer.1: 30 x 16" in ended.out
    assert "30 texts" in ended.err
    expected = encode(place / "first", texts(), "encoder.layer.*")
    for name, array in read(out).items():
        np.testing.assert_array_equal(array, expected[name])


def test_files_of_other_texts_are_not_compared(invoke, place, tmp_path):
    def extract(name, model, rows):
        (tmp_path / f"{name}.txt").write_text("\n".join(rows) + "\n")
        out = tmp_path / f"{name}.safetensors"
        layer = ("--layers", "encoder.layer.1")
        assert invoke("extract", place / model, "--texts", tmp_path / f"{name}.txt", "--out", out, *layer).status == 0
        return out

    before, after = extract("a", "first", texts()), extract("b", "second", texts())
    other = extract("c", "second", texts()[::-1])
    plain = ("--measures", "CKA")
    assert invoke("compare", before, after, *plain).status == 0
    for command in (("compare", before, other, *plain), ("diff", before, other)):
        with pytest.raises(
            ValueError, match=r"c.safetensors must contain the texts of a.safetensors in the same order"
        ):
            invoke(*command)
    assert invoke("compare", before, other, *plain, "--by-position").status == 0


def test_texts_are_read_as_they_stand(place, tmp_path):
    for name in ("lines.txt", "rows.csv", "rows.tsv"):
        assert read_texts(*parse_texts(str(place / name), [])) == texts()
    assert read_texts(*parse_texts(f"{place / 'rows.csv'}:kind", []))[:2] == ["x", "y"]
    assert read_texts(*parse_texts(None, [place / "rows.csv"])) == texts()
    pytest.importorskip("pyarrow")
    pd.DataFrame({"words": texts()}).to_parquet(tmp_path / "rows.parquet")
    assert read_texts(tmp_path / "rows.parquet", None) == texts()
    pd.DataFrame({"words": ["a", None]}).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match=r"words in .* must have a text in every row, got none in 1 of 2 rows \(1\)"):
        read_texts(tmp_path / "gap.parquet", None)
    (tmp_path / "gap.csv").write_text("words,n\na,1\n,2\n  ,3\n")
    with pytest.raises(ValueError, match=r"got none in 2 of 3 rows \(1, 2\); leave these rows out"):
        read_texts(tmp_path / "gap.csv", "words")


@pytest.mark.parametrize("rows", ["good,1,0\nbad, but long,1\n", "0,good,\n1,bad,\n"])
def test_texts_with_commas_that_are_not_quoted_are_refused(tmp_path, rows):
    """pandas would take what stands before the first comma for the name of the row."""
    (tmp_path / "rows.csv").write_text("text,label\n" + rows)
    with pytest.raises(
        ValueError, match=r"rows.csv must have a name for every column, got 2 names and 3 fields in line 2"
    ):
        read_texts(tmp_path / "rows.csv", "text")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet"])
def test_texts_are_read_from_undamaged_regular_files(tmp_path, name):
    (tmp_path / name).write_bytes(b'PAR1"\xff\x00,\n' * 9)
    with pytest.raises(ValueError, match=rf"must .* got .*{name}|{name} must be a complete"):
        read_texts(tmp_path / name, None)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=rf"must be a regular file, got .*{name}"):
        read_texts(tmp_path / name, None)


CASES = {
    "no texts": (
        ["audit", "--model", "first"],
        "--texts must name a file of texts (one per line, or a table) with --model, got none",
    ),
    "no model": (["audit", "--texts", "lines.txt"], "--texts must come with --model, got --texts alone"),
    "nothing": (["audit"], "Missing argument 'FILE...': pass it, or name a model with --model"),
    "no file of texts": (
        ["audit", "--model", "first", "--texts", "no.txt"],
        "--texts must be an existing file, or a col",
    ),
    "no column": (
        ["audit", "rows.csv", "--model", "first", "--texts", "no"],
        "--texts must name a column of rows.csv (id,",
    ),
    "two models": (
        ["audit", "--model", "first", "--model", "second", "--texts", "lines.txt"],
        "--model must be given once, got first, second",
    ),
    "one model": (["compare", "--model", "first", "--texts", "lines.txt"], "--model must give at least two"),
    "no such layer": (
        ["audit", "--model", "first", "--texts", "lines.txt", "--layers", "layer.*"],
        r"layers must match modules of the model, got 'layer.*', which matches none; did you mean encoder.layer.* or",
    ),
    "no such model": (
        ["extract", "no/model", "--texts", "lines.txt", "--out", "x.safetensors"],
        "model must be a folder or pac",
    ),
    "no such file to write": (
        ["extract", "first", "--texts", "lines.txt", "--out", "x.npz"],
        "--out must end in .safetensors",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(invoke_main, place, monkeypatch, case):
    monkeypatch.chdir(place)
    arguments, message = CASES[case]
    ended = invoke_main(*arguments)
    assert ended.status == 2
    assert message in ended.err


def test_layers_of_two_models_are_compared_without_keeping_them(invoke, place, tmp_path):
    numbers, models = tmp_path / "found.json", [place / "first", place / "second"]
    asked = ("layers", "--model", models[0], "--model", models[1], "--texts", place / "lines.txt")
    ended = invoke(*asked, "--batch-size", 7, "--json", numbers)
    assert ended.status == 0, ended
    n_layers = len(json.loads(numbers.read_text())["rows"])
    size = f"{n_layers} layers of first (rows) and {n_layers} of second (columns) over {len(texts())} inputs."
    assert size in " ".join(ended.out.split())
    first, second = (encode(str(model), texts()) for model in models)
    expected = shesha.compare_layers(first, second, calibrate=False)
    for score in json.loads(numbers.read_text())["scores"]:
        value = next(one for one in expected.scores if (one.first, one.second) == (score["first"], score["second"]))
        assert score["value"] == pytest.approx(value.value, abs=1e-5)
    with pytest.raises(ValueError, match=r"--measure must be a function of means and products with --model"):
        invoke(*asked, "--measure", "RSA")
    with pytest.raises(ValueError, match=r"--model must come without"):
        invoke(*asked, "--shift")
    with pytest.raises(ValueError, match=r"--model must be given twice"):
        invoke("layers", "--model", models[0], "--texts", place / "lines.txt")
    with pytest.raises(ValueError, match=r"FILE must be given twice, got 1 file"):
        invoke("layers", place / "rows.csv")


def test_strips_of_layers_give_what_one_pass_gives(place, monkeypatch):
    from shesha.comparison.moment_scores import compare_models
    from shesha.measures import get

    models = [str(place / "first"), str(place / "second")]
    whole = compare_models(models, texts(), get("CKA"))
    asked = []
    monkeypatch.setattr(
        "shesha.comparison.moment_scores.grid_bytes", lambda first, second: asked.append(1) or len(first) * 10**13
    )
    strips = compare_models(models, texts(), get("CKA"))
    assert asked
    assert [one.value for one in strips.scores] == pytest.approx([one.value for one in whole.scores])


def test_strips_of_layers_keep_to_the_memory_budget(monkeypatch):
    import tracemalloc

    from shesha.comparison import moment_scores
    from shesha.measures import get

    rng = np.random.default_rng(0)
    models = [{f"{name}{i}": rng.standard_normal((2_000, 300)) for i in range(8)} for name in "ab"]

    def stream(models, data, **options):
        for start in range(0, 2_000, 250):
            yield [{name: rows[start : start + 250] for name, rows in model.items()} for model in models]

    monkeypatch.setattr(moment_scores, "stream_layers", stream)
    peaks = {}
    for budget in ("1G", "80M"):
        monkeypatch.setenv("SHESHA_MEMORY", budget)
        tracemalloc.start()
        found = moment_scores.compare_models(models, range(2_000), get("CKA"))
        peaks[budget] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(found.scores) == 64
    # All pairs take 46 MB, the layers' own sums and a panel the rest.
    assert peaks["80M"] < 80 * 2**20 * 1.25
    assert peaks["80M"] < peaks["1G"]


def test_a_monitor_of_a_model_is_made_resumed_and_asked(invoke, invoke_main, place, tmp_path):
    canary = tmp_path / "canary"
    model = ("--model", place / "first", "--texts", place / "rows.csv:sentence")
    made = invoke("monitor", "init", *model, "--labels", "kind", "--out", canary)
    assert made.status == 0, made
    assert f"{canary}: 30 canary rows, 19 re-encodings" in made.out
    kept = sorted((tmp_path / "canary.encodings").glob("seed0-*.npy"))
    assert len(kept) == 19
    times = [file.stat().st_mtime_ns for file in kept]
    same = invoke("monitor", "check", canary, *model, "--json", tmp_path / "same.json")
    assert same.status == 0, same
    about = json.loads((tmp_path / "same.json").read_text())["about"]
    assert about["layer"] == "encoder.layer.1" and about["model"] == str(place / "first")
    other = ("--model", place / "second", *model[2:])
    changed = invoke("monitor", "check", canary, *other)
    assert changed.status == 1, changed
    assert f"to {place / 'second'}" in " ".join(changed.out.split())
    more = invoke("monitor", "init", *model, "--reencodings", 21, "--overwrite", "--out", canary)
    assert more.status == 0, more
    assert [file.stat().st_mtime_ns for file in kept] == times
    assert "21 re-encodings" in more.out
    for words, message in (
        (("monitor", "init", place / "rows.csv", *model, "--out", canary), "REF must be left out with --model"),
        (("monitor", "init", "--out", canary), "Missing argument 'REF'"),
        (("monitor", "check", canary, "--texts", place / "lines.txt"), "--texts must come with --model"),
        (("monitor", "init", *model, "--key", "a", "--out", canary), "--key must be left out with --model"),
    ):
        refused = invoke_main(*words)
        assert refused.status == 2 and message in refused.err, refused


def test_labels_in_texts_are_named(invoke_main, place, tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("".join(f"__label__{'ab'[row % 2]} {text}\n" for row, text in enumerate(texts())))
    ended = invoke_main("audit", "--model", place / "first", "--texts", path, "--quick")
    assert "begin with __label__, so the model reads their labels" in " ".join(ended.out.split())
