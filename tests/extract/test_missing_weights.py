"""Weights that a file lacks are random, so models without them are refused or named."""

import re

import pytest

transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

from shesha.extract.pretrained import find_source, load_network  # noqa: E402
from shesha.support.provenance import collect_statements  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def load(folder, change):
    """Change the names of the weights, of which None are left out, and load the network."""
    weights = safetensors.load_file(folder / "model.safetensors")
    kept = {new: value for name, value in weights.items() if (new := change(name)) is not None}
    safetensors.save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with collect_statements() as stated:
        load_network(str(folder), find_source(str(folder)))
    return [text for text in stated if "random" in text]


def test_a_whole_model_and_one_without_its_pooler_are_not_doubted(folder):
    assert load(folder, lambda name: name) == []
    assert load(folder, lambda name: None if "pooler" in name else name) == []


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "student.net."])
def test_names_with_a_prefix_are_refused(folder, prefix):
    expected = f"because the names in it begin with '{prefix}'; save the weights without this prefix"
    with pytest.raises(ValueError, match=re.escape(expected)):
        load(folder, lambda name: f"{prefix}{name}")


def test_weights_of_another_network_are_refused(folder):
    with pytest.raises(ValueError, match=r"got .* without 53 of 55 parameters \(such as embeddings.LayerNorm.bias\)$"):
        load(folder, lambda name: f"block{len(name)}.{name[::-1]}")


def test_a_layer_that_the_file_lacks_is_named(folder):
    (stated,) = load(folder, lambda name: None if ".layer.2." in name else name)
    assert stated.startswith("check first: the file of ")
    assert "lacks 16 of 55 parameters (such as encoder.layer.2.attention.output.LayerNorm.bias)" in stated
