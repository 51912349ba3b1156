"""Folders of sentence encoders and adapters give what their own libraries compute."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
safetensors = pytest.importorskip("safetensors.torch")

from shesha.extract import encode, pretrained  # noqa: E402
from shesha.extract.pretrained import find_source, load_model  # noqa: E402
from shesha.support.provenance import collect_statements  # noqa: E402

WORDS = [f"w{number}" for number in range(30)]
TEXTS = ["w1 w2 w3", "w4", "w5 w6 w7 w8 w9 w10 w11", " W1 w2 ", "w12 w13 w14 w15"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
WIDTH = SIZES["hidden_size"]
FLAGS = {
    "cls": "cls_token",
    "max": "max_tokens",
    "mean": "mean_tokens",
    "mean_sqrt_len": "mean_sqrt_len_tokens",
    "weightedmean": "weightedmean_tokens",
    "last": "lasttoken",
}


def weights(h, start=0):
    return np.arange(start + 1, start + len(h) + 1)[:, None]


POOLINGS = {
    "cls": lambda h, _: h[0],
    "max": lambda h, _: h.max(axis=0),
    "mean": lambda h, _: h.mean(axis=0),
    "mean_sqrt_len": lambda h, _: h.sum(axis=0) / np.sqrt(len(h)),
    "weightedmean": lambda h, start: (h * weights(h, start)).sum(axis=0) / weights(h, start).sum(),
    "last": lambda h, _: h[-1],
}


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


def write_json(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


@pytest.fixture
def write(tokenizer, tmp_path):
    """Write a sentence encoder: its modules after the network, each as a kind and a configuration."""

    def write_model(*modules, inside="", prefix="sentence_transformers.models.", name="model", **files):
        folder = tmp_path / name
        torch.manual_seed(0)
        config = transformers.BertConfig(**SIZES, vocab_size=40, max_position_embeddings=24)
        transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder / inside)
        tokenizer.save_pretrained(folder / inside)
        listed = [{"idx": 0, "name": "0", "path": inside, "type": f"{prefix}Transformer"}]
        for number, (kind, config) in enumerate(modules, start=1):
            path = f"{number}_{kind.rpartition('.')[2]}"
            listed.append(
                {"idx": number, "name": str(number), "path": path, "type": kind if "." in kind else prefix + kind}
            )
            write_json(folder / path / "config.json", config)
        write_json(folder / "modules.json", listed)
        for file, content in files.items():
            write_json(folder / f"{file}.json", content)
        return folder

    return write_model


def flags(*pools, **more):
    return {"word_embedding_dimension": WIDTH, **{f"pooling_mode_{FLAGS[p]}": p in pools for p in FLAGS}, **more}


def states(folder, tokenizer, texts):
    """The last states of each text on its own, without padding."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy() for text in texts]


def pooled(hidden, pools, start=0):
    return np.array([np.concatenate([POOLINGS[pool](h[start:], start) for pool in pools]) for h in hidden])


def stripped(texts):
    return [text.strip() for text in texts]


@pytest.mark.parametrize("newer", [False, True], ids=["flags", "one mode"])
@pytest.mark.parametrize(
    "pools", [*((name,) for name in FLAGS), ("cls", "mean"), ("max", "mean"), ("cls", "max", "mean", "last")]
)
def test_every_pooling_is_applied(write, tokenizer, pools, newer):
    names = ["mean_sqrt_len_tokens" if p == "mean_sqrt_len" else "lasttoken" if p == "last" else p for p in pools]
    config = {"embedding_dimension": WIDTH, "pooling_mode": names if len(names) > 1 else names[0]}
    folder = write(("Pooling", config if newer else flags(*pools)))
    found = encode(folder, TEXTS)
    assert list(found) == ["embedding", "embeddings", "encoder.layer.0", "encoder.layer.1"]
    expected = pooled(states(folder, tokenizer, stripped(TEXTS)), pools)
    np.testing.assert_allclose(found["embedding"], expected, atol=1e-5)
    # BERT has no norm after its last block.
    np.testing.assert_allclose(found["encoder.layer.1"], expected, atol=1e-5)
    assert found.info["pool"] == "+".join(pools)
    assert found.info["embedding"] == "+".join(pools)


def dense(folder, number, weight, bias=None, *, pickled=False, **config):
    place = folder / f"{number}_Dense"
    write_json(place / "config.json", {"in_features": weight.shape[1], "out_features": weight.shape[0], **config})
    tensors = {"linear.weight": torch.as_tensor(weight)}
    tensors |= {} if bias is None else {"linear.bias": torch.as_tensor(bias)}
    if pickled:
        torch.save(tensors, place / "pytorch_model.bin")
    else:
        safetensors.save_file(tensors, place / "model.safetensors")


@pytest.mark.parametrize("pickled", [False, True], ids=["safetensors", "pickled tensors"])
@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("torch.nn.modules.activation.Tanh", np.tanh),
        ("torch.nn.modules.linear.Identity", lambda z: z),
        ("torch.nn.modules.activation.ReLU", lambda z: np.maximum(z, 0)),
        (None, lambda z: z),
    ],
)
@pytest.mark.parametrize("biased", [False, True])
def test_layers_after_the_pooling_are_applied(write, tokenizer, pickled, activation, function, biased):
    rng = np.random.default_rng(0)
    weight, bias = rng.standard_normal((9, WIDTH)).astype(np.float32), rng.standard_normal(9).astype(np.float32)
    folder = write(("Pooling", flags("mean")), ("Dense", {}), ("Normalize", {}))
    dense(folder, 2, weight, bias if biased else None, pickled=pickled, activation_function=activation)
    found = encode(folder, TEXTS, batch_size=2)
    mapped = function(pooled(states(folder, tokenizer, stripped(TEXTS)), ["mean"]) @ weight.T + bias * biased)
    expected = mapped / np.linalg.norm(mapped, axis=1, keepdims=True)
    np.testing.assert_allclose(found["embedding"], expected, atol=1e-5)
    assert found["encoder.layer.1"].shape == (5, WIDTH)
    assert found.info["embedding"].startswith("mean, Dense 16 to 9 with")


def test_norms_and_first_features_are_applied(write, tokenizer):
    rng = np.random.default_rng(0)
    scale, offset = rng.standard_normal(WIDTH).astype(np.float32), rng.standard_normal(WIDTH).astype(np.float32)
    folder = write(
        ("Pooling", flags("mean")),
        ("LayerNorm", {"dimension": WIDTH}),
        config_sentence_transformers={"truncate_dim": 6},
    )
    tensors = {"norm.weight": torch.as_tensor(scale), "norm.bias": torch.as_tensor(offset)}
    safetensors.save_file(tensors, folder / "2_LayerNorm" / "model.safetensors")
    mean = pooled(states(folder, tokenizer, stripped(TEXTS)), ["mean"])
    unit = (mean - mean.mean(axis=1, keepdims=True)) / np.sqrt(mean.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(encode(folder, TEXTS)["embedding"], (unit * scale + offset)[:, :6], atol=1e-4)


@pytest.mark.parametrize("included", [True, False])
@pytest.mark.parametrize("pool", FLAGS)
def test_the_default_prompt_precedes_each_text(write, tokenizer, pool, included):
    shared = {"prompts": {"query": "w20 w21 ", "passage": ""}, "default_prompt_name": "query"}
    folder = write(("Pooling", flags(pool, include_prompt=included)), config_sentence_transformers=shared)
    with collect_statements() as said:
        found = encode(folder, TEXTS)
    hidden = states(folder, tokenizer, ["w20 w21 " + text for text in TEXTS])
    # Without the prompt, its two tokens and the first special token are left out.
    np.testing.assert_allclose(found["embedding"], pooled(hidden, [pool], 0 if included else 3), atol=1e-5)
    assert "model: prompt 'w20 w21 ' (query)" in said
    assert found.info["prompt"] == "w20 w21 "
    without = pooled(states(folder, tokenizer, stripped(TEXTS)), [pool])
    for none in ("", "passage"):
        np.testing.assert_allclose(encode(folder, TEXTS, prompt=none)["embedding"], without, atol=1e-5)
    with pytest.raises(ValueError, match=r"prompt must be a prompt of the model \('query', 'passage'\) or '', got 'q'"):
        encode(folder, TEXTS, prompt="q")


def test_without_a_default_the_prompts_are_named(write):
    shared = {"prompts": {"query": "w20 ", "passage": "w21 "}, "default_prompt_name": None}
    folder = write(("Pooling", flags("mean")), config_sentence_transformers=shared)
    with collect_statements() as said:
        encode(folder, TEXTS)
    assert list(said) == ["model: 5 texts, pooling mean", "model: no prompt of query, passage"]


def test_limits_and_case_are_those_of_the_folder(write, tokenizer):
    settings = {"max_seq_length": 5, "do_lower_case": True}
    folder = write(("Pooling", flags("mean")), sentence_bert_config=settings)
    with collect_statements() as said:
        found = encode(folder, TEXTS)
    cut = [" ".join(text.lower().split()[:3]) for text in TEXTS]
    np.testing.assert_allclose(found["embedding"], pooled(states(folder, tokenizer, cut), ["mean"]), atol=1e-5)
    # The text of three words just fits.
    assert found.info["cut_off"] == 2
    assert "model: 2 of 5 texts were cut at 5 tokens" in said


def test_the_network_can_be_in_a_folder_of_its_own(write, tokenizer):
    folder = write(("Pooling", flags("max")), ("Normalize", {}), inside="0_Transformer")
    hidden = pooled(states(folder / "0_Transformer", tokenizer, stripped(TEXTS)), ["max"])
    expected = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
    for place in (folder, folder / "0_Transformer"):
        np.testing.assert_allclose(encode(place, TEXTS)["embedding"], expected, atol=1e-5)
    model = load_model(str(folder), find_source(str(folder)))
    np.testing.assert_allclose(encode(model, TEXTS)["embedding"], expected, atol=1e-5)


def test_an_embedding_is_written_to_a_file_and_found_again(write, tmp_path):
    folder = write(("Pooling", flags("mean")), ("Normalize", {}))
    for _ in range(2):
        found = encode(folder, TEXTS, out=tmp_path / "x.safetensors")
        np.testing.assert_array_equal(found["embedding"], encode(folder, TEXTS)["embedding"])


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([("WordWeights", {}), ("Pooling", flags("mean"))], "WordWeights before the pooling in modules.json"),
        ([("Pooling", flags("mean")), ("CNN", {})], "CNN in modules.json"),
        ([("Pooling", flags("mean")), ("custom.Odd", {})], r"custom\.Odd in modules.json"),
        ([("Pooling", flags("mean")), ("Pooling", flags("cls"))], "2 poolings in modules.json"),
        ([("Pooling", {"pooling_mode": "median"})], "pooling 'median' in the configuration"),
        ([("Pooling", flags("mean")), ("Dense", {})], "no model.safetensors in 2_Dense"),
        (
            [("Pooling", flags("mean")), ("Normalize", {"module_input_name": "token_embeddings"})],
            "Normalize of token_embeddings",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused_with_a_way_out(write, modules, message):
    folder = write(*modules)
    with pytest.raises(ValueError, match=rf"the embedding of a sentence encoder must .*{message}.*layers= with pool="):
        encode(folder, TEXTS)
    assert list(encode(folder, TEXTS, "encoder.layer.1", pool="mean")) == ["encoder.layer.1"]


class Dangerous:
    def __reduce__(self):
        return exec, ("raise SystemExit('was run')",)


def test_pickled_code_after_the_pooling_is_never_run(write):
    folder = write(("Pooling", flags("mean")), ("Dense", {}))
    torch.save({"linear.weight": Dangerous()}, folder / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"got pytorch_model\.bin in 2_Dense, which contains more than tensors"):
        encode(folder, TEXTS)


def test_folders_outside_the_model_are_not_read(write):
    folder = write(("Pooling", flags("mean")))
    listed = json.loads((folder / "modules.json").read_text())
    for path in ("../elsewhere", "/etc"):
        listed[1]["path"] = path
        write_json(folder / "modules.json", listed)
        with pytest.raises(ValueError, match=r"modules\.json must list folders inside the model, got"):
            encode(folder, TEXTS)


def adapted(kind, folder, base, tokenizer=None, **options):
    """Write a base model and an adapter with random weights, and return the adapted model."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": 40, "max_position_embeddings": 24}
    model = getattr(transformers, kind)(getattr(transformers, options.pop("config"))(**sizes))
    model.save_pretrained(base)
    if tokenizer is not None:
        tokenizer.save_pretrained(base)
    config = peft.LoraConfig(r=2, init_lora_weights=False, **options)
    loaded = peft.get_peft_model(getattr(transformers, kind).from_pretrained(base), config)
    loaded.save_pretrained(folder)
    return loaded.eval()


BERT = {"kind": "BertModel", "config": "BertConfig", "target_modules": ["query", "value"]}
LLAMA = {
    "kind": "LlamaForCausalLM",
    "config": "LlamaConfig",
    "target_modules": ["q_proj", "v_proj"],
    "task_type": "CAUSAL_LM",
}


@pytest.mark.parametrize("options", [BERT, LLAMA], ids=["encoder", "causal"])
@pytest.mark.parametrize("moved", [False, True], ids=["in place", "moved together"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_adapters_change_the_layers_of_their_base(tmp_path, tokenizer, options, moved):
    base, folder = tmp_path / "all" / "base", tmp_path / "all" / "lora"
    model = adapted(**options, folder=folder, base=base, tokenizer=tokenizer)
    if moved:
        (tmp_path / "all").rename(tmp_path / "other")
        base, folder = tmp_path / "other" / "base", tmp_path / "other" / "lora"
    with collect_statements() as said:
        found, plain = encode(folder, TEXTS), encode(base, TEXTS)
    assert list(found) == list(plain)
    assert "lora: LORA adapter on base" in said
    with torch.no_grad():
        hidden = [
            model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[1][0].numpy()
            for text in TEXTS
        ]
    expected = pooled(hidden, [found.info["pool"]])
    first = list(found)[1]
    np.testing.assert_allclose(found[first], expected, atol=1e-5)
    assert np.abs(found[first] - plain[first]).max() > 1e-3
    # The adapted model as an object has the same layers.
    other = encode(model, TEXTS, reader=tokenizer)
    assert list(other) == list(found)
    np.testing.assert_allclose(other[first], found[first], atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_adapter_of_a_sentence_encoder_keeps_its_embedding(tmp_path, tokenizer):
    base, folder = tmp_path / "base", tmp_path / "lora"
    model = adapted(**BERT, folder=folder, base=base, tokenizer=tokenizer)
    write_json(
        folder / "modules.json",
        [
            {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
    )
    write_json(folder / "1_Pooling" / "config.json", flags("cls"))
    with torch.no_grad():
        hidden = [model(**tokenizer(t, return_tensors="pt")).last_hidden_state[0].numpy() for t in stripped(TEXTS)]
    np.testing.assert_allclose(encode(folder, TEXTS)["embedding"], pooled(hidden, ["cls"]), atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_adapters_that_cannot_be_loaded_say_how_to_merge(tmp_path, tokenizer, monkeypatch):
    base, folder = tmp_path / "base", tmp_path / "lora"
    adapted(**BERT, folder=folder, base=base, tokenizer=tokenizer)
    advice = r"model must be an adapter .*Merge it first, with .*merge_and_unload\(\)\.save_pretrained.*{}"
    with monkeypatch.context() as patched:
        patched.setattr(pretrained, "find_spec", lambda name: None)
        with pytest.raises(ValueError, match=advice.format("peft, which loads adapters, is not installed")):
            encode(folder, TEXTS)
    other = tmp_path / "other"
    transformers.BertModel(
        transformers.BertConfig(**{**SIZES, "num_hidden_layers": 1}, vocab_size=40, max_position_embeddings=24)
    ).save_pretrained(other)
    config = json.loads((folder / "adapter_config.json").read_text())
    write_json(folder / "adapter_config.json", {**config, "base_model_name_or_path": str(other)})
    with pytest.raises(ValueError, match=advice.format("do not fit the layers of the base model")):
        encode(folder, TEXTS)
    write_json(folder / "adapter_config.json", {**config, "base_model_name_or_path": str(base)})
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(ValueError, match=advice.format(r"there is no adapter_model\.safetensors")):
        encode(folder, TEXTS)
    (folder / "adapter_config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"adapter_config\.json must be a JSON object, got list"):
        encode(folder, TEXTS)


@pytest.mark.filterwarnings("ignore")
def test_the_lines_that_merge_an_adapter_work(tmp_path, tokenizer, monkeypatch):
    base, folder = tmp_path / "base", tmp_path / "lora"
    adapted(**BERT, folder=folder, base=base, tokenizer=tokenizer)
    found = encode(folder, TEXTS)
    lines = pretrained._merge_advice(folder, str(base)).split("`")[1]
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    merged = encode("merged", TEXTS)
    for name, array in found.items():
        np.testing.assert_allclose(merged[name], array, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_adapters_that_learn_prompts_are_refused(tmp_path, tokenizer):
    peft = pytest.importorskip("peft")
    adapted(**LLAMA, folder=tmp_path / "unused", base=tmp_path / "base", tokenizer=tokenizer)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    with_prompt = peft.get_peft_model(model, config)
    with pytest.raises(ValueError, match="got one that learns prompts, which are lost without its wrapper"):
        encode(with_prompt, TEXTS, reader=tokenizer)
    with_prompt.save_pretrained(tmp_path / "prompt")
    with pytest.raises(ValueError, match=r"which learns prompts \(PROMPT_TUNING\)"):
        encode(tmp_path / "prompt", TEXTS)
