"""Read texts from a local folder, or else download them from the Hugging Face hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha.io.csv_frames import csv_frame
from shesha.support.optional import require
from shesha_bench.data_folders import local_folder, missing_data_error
from shesha_bench.language.data_and_network_types import TextData, Texts
from shesha_bench.language.hyperparameters import Hyper


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
