"""`shesha diff`: files and models before and after."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def place(tmp_path, rng):
    layers = {name: rng.standard_normal((60, 8)) for name in ("first", "second")}
    after = {"first": layers["first"], "second": layers["second"] + 0.3 * rng.standard_normal((60, 8))}
    again = {name: X + 1e-4 * rng.standard_normal(X.shape) for name, X in layers.items()}
    np.savez(tmp_path / "before.npz", **layers, label=np.repeat(["x", "y"], 30))
    np.savez(tmp_path / "after.npz", **after, label=np.repeat(["x", "y"], 30))
    np.savez(tmp_path / "again.npz", **again)
    return tmp_path


def test_two_files(invoke, place):
    ended = invoke("diff", place / "before.npz", place / "after.npz", "--labels", "label", "--json", place / "f.json")
    assert ended.status == 0, ended
    said = " ".join(ended.out.split())
    assert said.startswith("1 of 2 layers changed beyond simulated noise. The largest change is in second: ")
    assert len(ended.out.splitlines()) <= 30
    found = json.loads((place / "f.json").read_text())
    assert found["layers"]["first"]["verdict"] == "unchanged"
    assert {one["label"] for one in found["moved"]} <= {"x", "y"}


def test_a_map_of_the_rows(invoke, place):
    ended = invoke(
        *("diff", place / "before.npz", place / "after.npz", "--labels", "label"),
        *("--explore", place / "map.html", "--json", place / "f.json"),
    )
    assert ended.status == 0, ended
    page = (place / "map.html").read_text(encoding="utf-8")
    assert "before.npz (second)" in page and "fingerprint" not in page and "row 59" in page
    # The numbers are those of the diff alone.
    assert json.loads((place / "f.json").read_text())["row_map"] is None


def test_re_encodings_and_pages(invoke, place):
    ended = invoke(
        *("diff", place / "before.npz", place / "after.npz", "--again", place / "again.npz"),
        *("--html", place / "diff.html", "--plot", place / "diff.png"),
    )
    assert ended.status == 0, ended
    assert "(1 re-encoding)" in " ".join(ended.out.split())
    assert (place / "diff.html").stat().st_size > 10_000
    assert (place / "diff.png").stat().st_size > 5_000


def test_two_models_beside_their_re_encodings(invoke, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = ("good", "bad", "film", "plot")
    raw = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(("[PAD]", "[UNK]", *words))}, unk_token="[UNK]")
    )
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(0)
    config = transformers.BertConfig(**sizes, vocab_size=12, max_position_embeddings=24)
    model = transformers.BertModel(config, add_pooling_layer=False)
    for name in ("base", "tuned"):
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        with torch.no_grad():
            model.encoder.layer[1].output.dense.weight += 2.0 * torch.randn_like(
                model.encoder.layer[1].output.dense.weight
            )
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(words, draw.integers(2, 8))) for _ in range(40)]
    pd.DataFrame({"text": texts, "label": [0, 1] * 20}).to_csv(tmp_path / "rows.csv", index=False)
    ended = invoke(
        *("diff", "--model", tmp_path / "base", "--model", tmp_path / "tuned"),
        *("--texts", f"{tmp_path / 'rows.csv'}:text", "--labels", "label", "--json", tmp_path / "f.json"),
    )
    assert ended.status == 0, ended
    assert "2 re-encodings" in " ".join(ended.out.split())
    found = json.loads((tmp_path / "f.json").read_text())
    verdicts = [one["verdict"] for one in found["layers"].values()]
    assert verdicts == ["unchanged", "unchanged", "changed"]
    assert found["before"] == "base"
    assert found["moved"][0]["name"] in texts


def test_two_arrays_of_one_file_are_named_by_match(invoke_main, tmp_path, rng):
    X = rng.standard_normal((40, 6))
    path = tmp_path / "a.npz"
    np.savez(path, raw=X, log=X + rng.standard_normal(X.shape))
    ended = invoke_main("diff", path, path, "--key", "raw", "--key", "log")
    assert ended.status == 2 and "each --key is compared with itself" in ended.err and "--match 'raw=log'" in ended.err
    ended = invoke_main("diff", path, path, "--key", "raw", "--key", "log", "--match", "raw=log")
    assert ended.status == 0 and "changed beyond simulated noise" in " ".join(ended.out.split())
