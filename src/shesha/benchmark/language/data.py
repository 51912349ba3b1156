"""The texts: a local folder first, the Hugging Face hub otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha._optional import require
from shesha.benchmark.language.hyper import DATASETS, Hyper
from shesha.benchmark.models import Plain, fingerprint_of
from shesha.benchmark.sources import local_folder, missing

_SUBSET_SEED = 2024
"""All models see the same rows."""


@dataclass(frozen=True)
class Texts:
    """Sentences, or pairs of sentences, with their classes."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """The hypotheses, where `first` holds premises."""
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.first)

    def rows(self, chosen: NDArray[np.int64]) -> Texts:
        """Return the chosen rows."""
        second = None if self.second is None else tuple(self.second[i] for i in chosen)
        return Texts(tuple(self.first[i] for i in chosen), second, self.labels[chosen])


@dataclass(frozen=True)
class Dataset:
    """Where a data set lies and what its columns and classes are."""

    folder: str
    repository: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers."""
    local: tuple[str, str]
    """Files of training and test rows in the small local form."""
    whole: tuple[str, str]
    """Patterns of the full sets' files, in a local folder."""
    remote: tuple[str, str]
    """The full sets' files in the repository."""


SOURCES = {
    "SST2": Dataset(
        folder="sst2",
        repository="stanfordnlp/sst2",
        columns=("sentence",),
        classes=("negative", "positive"),
        local=("train_sentences.csv", "validation.csv"),
        whole=("train-*.parquet", "validation*.parquet"),
        remote=("data/train-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"),
    ),
    "MNLI": Dataset(
        folder="mnli",
        repository="nyu-mll/glue",
        columns=("premise", "hypothesis"),
        classes=("entailment", "neutral", "contradiction"),
        local=("mnli_mismatched_1000.csv", "mnli_matched_1000.csv"),
        whole=("train-*.parquet", "validation_matched*.parquet"),
        remote=("mnli/train-00000-of-00001.parquet", "mnli/validation_matched-00000-of-00001.parquet"),
    ),
}


def load(dataset: str, hyper: Hyper) -> tuple[Texts, Texts]:
    """Return the training and the test texts; raises MissingDataError where there are none."""
    if dataset not in SOURCES:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}")
    source = SOURCES[dataset]
    train, test = _files(source, hyper.train_file)
    return _subset(_read(train, source), hyper.train_rows), _subset(_read(test, source), hyper.test_rows)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the texts and labels that training and extraction use.

    Parameters
    ----------
    dataset : str
        "SST2" or "MNLI".
    hyper : mapping
        Hyperparameters; those that choose rows and files count here.

    Returns
    -------
    str
        The same for the same texts in the same order.

    Raises
    ------
    MissingDataError
        If the texts are neither in the local folder nor to be had from the hub.
    """
    parts: list[NDArray[np.int64] | str] = []
    for texts in load(dataset, Hyper.checked(hyper)):
        parts += ["\n".join(texts.first), "\n".join(texts.second or ()), texts.labels]
    return fingerprint_of(*parts)


def _files(source: Dataset, train_file: str | None) -> tuple[list[Path], list[Path]]:
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


def _download(source: Dataset) -> tuple[list[Path], list[Path]]:
    try:
        hub = require("huggingface_hub", "hf")
        train, test = (hub.hf_hub_download(source.repository, name, repo_type="dataset") for name in source.remote)
    except (ImportError, OSError, ValueError) as error:
        where = f"the data set {source.repository} of the Hugging Face hub"
        raise missing(f"the data set {source.folder}", source.folder, where, error) from error
    return [Path(train)], [Path(test)]


def _read(files: list[Path], source: Dataset) -> Texts:
    table = pd.concat([_table(file, [*source.columns, "label"]) for file in files], ignore_index=True)
    texts = [tuple(table[column].astype(str)) for column in source.columns]
    return Texts(texts[0], texts[1] if len(texts) > 1 else None, _labels(table["label"].tolist(), source, files[0]))


def _labels(values: list[object], source: Dataset, file: Path) -> NDArray[np.int64]:
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
        # "None" and "NA" are words here.
        table = pd.read_csv(file, keep_default_na=False)
    if not set(columns) <= set(table.columns):
        raise ValueError(f"{file.name} must have the columns {', '.join(columns)}, got {', '.join(table.columns)}")
    return table[columns]


def _subset(texts: Texts, n_rows: int | None) -> Texts:
    if n_rows is None or n_rows >= len(texts):
        return texts
    chosen = np.random.default_rng(_SUBSET_SEED).choice(len(texts), n_rows, replace=False)
    return texts.rows(np.sort(chosen))
