"""Small texts on the disk, and models of them that train in a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shesha_bench.catalogue import Model, Setting

GOOD = ("a great film", "A wonderful story , very funny !", "the actors are superb and the plot is clever", "lovely")
BAD = ("a terrible film", "A boring story , very dull !", "the actors are awful and the plot is stupid", "dreadful")


def reviews(n_rows: int) -> pd.DataFrame:
    sentences = [(GOOD, BAD)[row % 2][row // 2 % 4] + f" number {row}" for row in range(n_rows)]
    return pd.DataFrame({"sentence": sentences, "label": [1 - row % 2 for row in range(n_rows)]})


def pairs(n_rows: int) -> pd.DataFrame:
    classes = ("entailment", "neutral", "contradiction")
    return pd.DataFrame(
        {
            "premise": [f"The man in room {row} bought a big book ." for row in range(n_rows)],
            "hypothesis": [
                ("He has a book .", "He is rich .", "He bought nothing .")[row % 3] for row in range(n_rows)
            ],
            "label": [classes[row % 3] for row in range(n_rows)],
        }
    )


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny networks lose more by waiting for threads than they gain."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Both data sets in the small local form."""
    for folder in ("sst2", "mnli"):
        (tmp_path / folder).mkdir()
    reviews(40).to_csv(tmp_path / "sst2" / "train_sentences.csv", index=False)
    reviews(10).to_csv(tmp_path / "sst2" / "validation.csv", index=False)
    pairs(30).to_csv(tmp_path / "mnli" / "mnli_mismatched_1000.csv", index=False)
    pairs(9).to_csv(tmp_path / "mnli" / "mnli_matched_1000.csv", index=False)
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    yield tmp_path


@pytest.fixture
def tiny() -> Callable[..., Model]:
    """Describe a reduced model that makes two steps."""

    def make(
        architecture: str = "SmallBERT",
        dataset: str = "SST2",
        setting: Setting | None = None,
        seed: int = 0,
        **hyper: Any,
    ) -> Model:
        values = {"reduced": True, "steps": 2, "batch_size": 8, "evaluate_every": None, "train_file": None, **hyper}
        return Model("language", dataset, architecture, setting or Setting(), seed, values)

    return make
