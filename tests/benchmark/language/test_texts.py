"""Texts: readers, changed words, settings and hyperparameters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from shesha_bench.catalogue import Model, Setting
from shesha_bench.language import catalogue, fingerprint, hyperparameters, texts
from shesha_bench.language.catalogue import CATALOGUE, DATA, NETWORKS, Hyper, Texts
from shesha_bench.language.texts import _lexicon, augment, synonyms


def test_sentences_of_the_local_folder(data_folder: Path) -> None:
    train, test = texts.load("SST2", Hyper())
    assert len(train) == 40
    assert len(test) == 10
    assert test.first[0] == "a great film number 0"
    assert test.second is None
    assert test.labels.tolist() == [1, 0] * 5


def test_pairs_train_on_the_mismatched_ones(data_folder: Path) -> None:
    train, test = texts.load("MNLI", Hyper())
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
    train, test = texts.load("MNLI", Hyper())
    assert (train.labels.tolist(), test.labels.tolist()) == ([2], [1])


def test_words_that_look_like_missing_values_stay_words(data_folder: Path) -> None:
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\nNone,0\nNA,1\n")
    assert texts.load("SST2", Hyper())[1].first == ("None", "NA")


def test_texts_with_commas_that_are_not_quoted_are_refused(data_folder: Path) -> None:
    (data_folder / "sst2" / "validation.csv").write_text("sentence,label\ngood, at last,0\n")
    with pytest.raises(ValueError, match=r"validation.csv must have a name for every column, got 2 names and 3 fields"):
        texts.load("SST2", Hyper())


def test_subsets_are_sorted_and_the_same_for_all(data_folder: Path) -> None:
    whole = texts.load("SST2", Hyper())[0]
    part = texts.load("SST2", Hyper(train_rows=7))[0]
    places = [whole.first.index(text) for text in part.first]
    assert places == sorted(places) != list(range(7))
    assert texts.load("SST2", Hyper(train_rows=7))[0].first == part.first
    np.testing.assert_array_equal(part.labels, whole.labels[places])


def test_without_files_the_hub_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    asked = []

    def download(repository: str, name: str, repo_type: str) -> str:
        asked.append((repository, name, repo_type))
        pd.DataFrame({"sentence": ["fine"], "label": [1]}).to_parquet(tmp_path / "file.parquet")
        return str(tmp_path / "file.parquet")

    monkeypatch.setattr(catalogue, "require", lambda *_: SimpleNamespace(hf_hub_download=download))
    assert texts.load("SST2", Hyper())[0].first == ("fine",)
    assert asked[0] == ("stanfordnlp/sst2", "data/train-00000-of-00001.parquet", "dataset")


def test_the_fingerprint_follows_the_texts(data_folder: Path) -> None:
    first = fingerprint("SST2", {})
    assert fingerprint("SST2", {"epochs": 9}) == first
    assert fingerprint("SST2", {"test_rows": 5}) != first
    assert fingerprint("MNLI", {}) != first
    file = data_folder / "sst2" / "validation.csv"
    file.write_text(file.read_text().replace("great", "good"))
    assert fingerprint("SST2", {}) != first


WORDS = st.lists(st.sampled_from(["a", "Film", "great", "story", ",", "zyx", "the", "slowly"]), min_size=1, max_size=20)


@given(words=WORDS, share=st.floats(0, 1), seed=st.integers(0, 10_000))
def test_words_are_old_ones_or_their_synonyms(words: list[str], share: float, seed: int) -> None:
    found = augment(" ".join(words), share, np.random.default_rng(seed)).split()
    related = {word.lower() for word in words}
    # A synonym may be replaced in its turn.
    for _ in range(max(1, round(share * len(words)))):
        related |= {synonym for word in related for synonym in synonyms(word)}
    assert found
    assert {word.lower() for word in found} <= related


@given(words=WORDS, share=st.floats(0, 1), seed=st.integers(0, 10_000))
def test_as_many_changes_as_the_share_says(words: list[str], share: float, seed: int) -> None:
    changes = max(1, round(share * len(words)))
    found = augment(" ".join(words), share, np.random.default_rng(seed)).split()
    assert abs(len(found) - len(words)) <= changes
    # A swap moves two words, every other change touches one: more cannot have gone.
    assert sum((Counter(words) - Counter(found)).values()) <= changes


def test_all_four_changes_happen() -> None:
    text = "the great film"
    found = [augment(text, 0.0, np.random.default_rng(seed)).split() for seed in range(200)]
    kinds = Counter(
        "delete" if len(words) == 2 else "insert" if len(words) == 4 else "swap" if "great" in words and "film" in words
        else "replace"
        for words in found
    )  # fmt: skip
    assert set(kinds) == {"delete", "insert", "swap", "replace"}
    assert min(kinds.values()) > 30


def test_the_list_of_synonyms_is_sound() -> None:
    lexicon = _lexicon()
    assert len(lexicon) > 1500
    for word, others in lexicon.items():
        assert word == word.lower()
        assert others, f"{word} stands alone"
        assert word not in others
        assert all(word in lexicon[other] for other in others)
    assert synonyms("zyx") == ()


N_ROWS = 2000


def some_texts(n_classes: int = 3, pairs: bool = False) -> Texts:
    labels = np.arange(N_ROWS, dtype=np.int64) % n_classes
    first = tuple(f"the film number {row} is a great story" for row in range(N_ROWS))
    return Texts(first, first if pairs else None, labels)


@pytest.mark.parametrize(("share", "n_changed"), [(0.0, 0), (0.29, 580), (0.75, 1500), (1.0, 2000), (0.00049, 0)])
def test_labels_are_randomised_into_five_new_classes(share: float, n_changed: int) -> None:
    rows = some_texts()
    lesson = texts.make_lesson(rows, Setting("labels", share), 0, 3)
    changed = lesson.targets != rows.labels
    assert changed.sum() == n_changed
    assert lesson.texts is rows
    if n_changed:
        counts = np.bincount(lesson.targets[changed], minlength=8)
        assert not counts[:3].any()
        np.testing.assert_allclose(counts[3:] / n_changed, 0.2, atol=0.05)


def test_new_classes_add_outputs() -> None:
    assert texts.n_outputs(Setting(), 3) == 3
    assert texts.n_outputs(Setting("labels", 0.0), 3) == 3
    assert texts.n_outputs(Setting("labels", 0.75), 3) == 8
    assert texts.n_shortcuts(Setting("shortcut", 1.0), 3) == 3
    assert texts.n_shortcuts(Setting("labels", 1.0), 3) == 0


@pytest.mark.parametrize("rate", [0.0, 0.354, 0.8385, 1.0])
def test_shortcuts_tell_the_class_at_the_rate(rate: float) -> None:
    rows = some_texts()
    tokens = texts.make_lesson(rows, Setting("shortcut", rate), 0, 3).shortcuts
    assert tokens is not None
    assert np.mean(tokens == rows.labels) == pytest.approx(rate, abs=0.03)
    wrong = (tokens - rows.labels)[tokens != rows.labels] % 3
    if len(wrong) > 100:
        assert np.mean(wrong == 1) == pytest.approx(0.5, abs=0.06)


def test_tests_show_the_same_shortcuts_to_all_models() -> None:
    rows = some_texts(2)
    shown = [texts.test_lesson(rows, Setting("shortcut", degree), 0.6, 2).shortcuts for degree in (0.6, 1.0)]
    assert shown[0] is not None
    np.testing.assert_array_equal(*shown)
    assert np.mean(shown[0] == rows.labels) == pytest.approx(0.6, abs=0.03)
    assert texts.test_lesson(rows, Setting("labels", 1.0), 0.6, 2).shortcuts is None


def test_augmentation_disturbs_the_first_text_only() -> None:
    rows = some_texts(pairs=True)
    lesson = texts.make_lesson(rows, Setting("augmentation", 1.0), 0, 3)
    assert lesson.texts.second == rows.second
    changed = [one != other for one, other in zip(lesson.texts.first, rows.first, strict=True)]
    assert np.mean(changed) > 0.95
    assert lesson.targets is rows.labels
    assert texts.make_lesson(rows, Setting("augmentation", 0.0), 0, 3).texts is rows


@pytest.mark.parametrize("setting", [Setting("labels", 0.5), Setting("shortcut", 0.5), Setting("augmentation", 0.5)])
def test_the_seed_decides(setting: Setting) -> None:
    rows = some_texts()

    def drawn(seed: int) -> tuple[object, ...]:
        lesson = texts.make_lesson(rows, setting, seed, 3)
        leaks = () if lesson.shortcuts is None else tuple(lesson.shortcuts)
        return (*lesson.texts.first, *lesson.targets, *leaks)

    assert drawn(0) == drawn(0) != drawn(1)


def test_graphs_have_settings_of_their_own() -> None:
    with pytest.raises(ValueError, match=r"setting must be one of standard, .* for language, got 'deep'"):
        CATALOGUE.build(Model("language", "SST2", "BERT", Setting("deep"), 0, {}))


@pytest.mark.parametrize("dataset", DATA)
@pytest.mark.parametrize(("suite", "architecture"), [(s, a) for a, one in NETWORKS.items() for s in one.suites])
def test_every_suite_is_valid(dataset: str, suite: str, architecture: str) -> None:
    values = hyperparameters(dataset, architecture, suite)
    assert Hyper.check(values) == CATALOGUE.build(Model("language", dataset, architecture, Setting(), 0, {}))
