"""Texts come from the local folder, in either form, or from the hub, or the error says where to put them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shesha_bench.data_folders import MissingDataError
from shesha_bench.language import data, fingerprint, text_readers
from shesha_bench.language.hyperparameters import Hyper


def test_sentences_of_the_local_folder(data_folder: Path) -> None:
    train, test = data.load("SST2", Hyper())
    assert len(train) == 40
    assert len(test) == 10
    assert test.first[0] == "a great film number 0"
    assert test.second is None
    assert test.labels.tolist() == [1, 0] * 5


def test_pairs_train_on_the_mismatched_ones(data_folder: Path) -> None:
    train, test = data.load("MNLI", Hyper())
    assert (len(train), len(test)) == (30, 9)
    assert test.second is not None
    assert test.second[1] == "He is rich ."
    assert test.labels.tolist() == [0, 1, 2] * 3


def test_whole_sets_go_first(data_folder: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = data_folder / "mnli"
    for name, label in (("train-00000-of-00001", 2), ("validation_matched-00000-of-00001", 1)):
        table = pd.DataFrame({"premise": ["p"], "hypothesis": ["h"], "label": [label], "idx": [0]})
        table.to_parquet(folder / f"{name}.parquet")
    pd.DataFrame({"wrong": [1]}).to_parquet(folder / "validation_mismatched-00000-of-00001.parquet")
    train, test = data.load("MNLI", Hyper())
    assert (train.labels.tolist(), test.labels.tolist()) == ([2], [1])


def test_words_that_look_like_missing_values_stay_words(data_folder: Path) -> None:
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\nNone,0\nNA,1\n")
    assert data.load("SST2", Hyper())[1].first == ("None", "NA")


def test_texts_with_commas_that_are_not_quoted_are_refused(data_folder: Path) -> None:
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\ngood, at last,0\n")
    with pytest.raises(ValueError, match=r"validation.csv must have a name for every column, got 2 names and 3 fields"):
        data.load("SST2", Hyper())


def test_another_training_file(data_folder: Path) -> None:
    pd.DataFrame({"sentence": ["bad"], "label": [0]}).to_csv(data_folder / "sst2" / "phrases.csv", index=False)
    assert len(data.load("SST2", Hyper(train_file="phrases.csv"))[0]) == 1


def test_subsets_are_sorted_and_the_same_for_all(data_folder: Path) -> None:
    whole = data.load("SST2", Hyper())[0]
    part = data.load("SST2", Hyper(train_rows=7))[0]
    places = [whole.first.index(text) for text in part.first]
    assert places == sorted(places) != list(range(7))
    assert data.load("SST2", Hyper(train_rows=7))[0].first == part.first
    np.testing.assert_array_equal(part.labels, whole.labels[places])


def test_without_files_the_hub_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    asked = []

    def download(repository: str, name: str, repo_type: str) -> str:
        asked.append((repository, name, repo_type))
        pd.DataFrame({"sentence": ["fine"], "label": [1]}).to_parquet(tmp_path / "file.parquet")
        return str(tmp_path / "file.parquet")

    monkeypatch.setattr(text_readers, "require", lambda *_: SimpleNamespace(hf_hub_download=download))
    assert data.load("SST2", Hyper())[0].first == ("fine",)
    assert asked[0] == ("stanfordnlp/sst2", "data/train-00000-of-00001.parquet", "dataset")


def test_missing_texts_name_folder_and_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))

    def fail(*_: Any, **__: Any) -> str:
        raise OSError("no connection")

    monkeypatch.setattr(text_readers, "require", lambda *_: SimpleNamespace(hf_hub_download=fail))
    with pytest.raises(MissingDataError, match=r"(?s)mnli.*nyu-mll/glue.*no connection"):
        fingerprint("MNLI", {})
    monkeypatch.delenv("SHESHA_DATA")
    with pytest.raises(MissingDataError, match=r"(?s)SHESHA_DATA/sst2.*stanfordnlp/sst2"):
        fingerprint("SST2", {"train_file": "nothing.csv"})


def test_bad_labels_and_columns(data_folder: Path) -> None:
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\nfine,2\n")
    with pytest.raises(ValueError, match=r"labels in validation.csv must be among negative, positive, 0, 1, got 2"):
        data.load("SST2", Hyper())
    (data_folder / "sst2" / "validation.csv").write_text("text,label\nfine,1\n")
    with pytest.raises(ValueError, match=r"must have the columns sentence, label, got text, label"):
        data.load("SST2", Hyper())
    with pytest.raises(ValueError, match="dataset must be one of SST2, MNLI, got 'IMDB'"):
        data.load("IMDB", Hyper())


def test_the_fingerprint_follows_the_texts(data_folder: Path) -> None:
    first = fingerprint("SST2", {})
    assert fingerprint("SST2", {"epochs": 9}) == first
    assert fingerprint("SST2", {"test_rows": 5}) != first
    assert fingerprint("MNLI", {}) != first
    file = data_folder / "sst2" / "validation.csv"
    file.write_text(file.read_text().replace("great", "good"))
    assert fingerprint("SST2", {}) != first
