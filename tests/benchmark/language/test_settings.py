"""Randomised labels, shortcuts and disturbed texts are what the altered_data promise."""

from __future__ import annotations

import numpy as np
import pytest

from shesha_bench.language import altered_data
from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data_and_network_types import Texts
from shesha_bench.model_descriptions import Model, Setting

N_ROWS = 2000


def texts(n_classes: int = 3, pairs: bool = False) -> Texts:
    labels = np.arange(N_ROWS, dtype=np.int64) % n_classes
    first = tuple(f"the film number {row} is a great story" for row in range(N_ROWS))
    return Texts(first, first if pairs else None, labels)


@pytest.mark.parametrize(("share", "n_changed"), [(0.0, 0), (0.29, 580), (0.75, 1500), (1.0, 2000), (0.00049, 0)])
def test_labels_are_randomised_into_five_new_classes(share: float, n_changed: int) -> None:
    rows = texts()
    lesson = altered_data.make_lesson(rows, Setting("labels", share), 0, 3)
    changed = lesson.targets != rows.labels
    assert changed.sum() == n_changed
    assert lesson.texts is rows
    if n_changed:
        counts = np.bincount(lesson.targets[changed], minlength=8)
        assert not counts[:3].any()
        np.testing.assert_allclose(counts[3:] / n_changed, 0.2, atol=0.05)


def test_new_classes_add_outputs() -> None:
    assert altered_data.n_outputs(Setting(), 3) == 3
    assert altered_data.n_outputs(Setting("labels", 0.0), 3) == 3
    assert altered_data.n_outputs(Setting("labels", 0.75), 3) == 8
    assert altered_data.n_shortcuts(Setting("shortcut", 1.0), 3) == 3
    assert altered_data.n_shortcuts(Setting("labels", 1.0), 3) == 0


@pytest.mark.parametrize("rate", [0.0, 0.354, 0.8385, 1.0])
def test_shortcuts_tell_the_class_at_the_rate(rate: float) -> None:
    rows = texts()
    tokens = altered_data.make_lesson(rows, Setting("shortcut", rate), 0, 3).shortcuts
    assert tokens is not None
    assert np.mean(tokens == rows.labels) == pytest.approx(rate, abs=0.03)
    wrong = (tokens - rows.labels)[tokens != rows.labels] % 3
    if len(wrong) > 100:
        assert np.mean(wrong == 1) == pytest.approx(0.5, abs=0.06)


def test_tests_show_the_same_shortcuts_to_all_models() -> None:
    rows = texts(2)
    shown = [altered_data.test_lesson(rows, Setting("shortcut", degree), 0.6, 2).shortcuts for degree in (0.6, 1.0)]
    assert shown[0] is not None
    np.testing.assert_array_equal(*shown)
    assert np.mean(shown[0] == rows.labels) == pytest.approx(0.6, abs=0.03)
    assert altered_data.test_lesson(rows, Setting("labels", 1.0), 0.6, 2).shortcuts is None


def test_augmentation_disturbs_the_first_text_only() -> None:
    rows = texts(pairs=True)
    lesson = altered_data.make_lesson(rows, Setting("augmentation", 1.0), 0, 3)
    assert lesson.texts.second == rows.second
    changed = [one != other for one, other in zip(lesson.texts.first, rows.first, strict=True)]
    assert np.mean(changed) > 0.95
    assert lesson.targets is rows.labels
    assert altered_data.make_lesson(rows, Setting("augmentation", 0.0), 0, 3).texts is rows


@pytest.mark.parametrize("setting", [Setting("labels", 0.5), Setting("shortcut", 0.5), Setting("augmentation", 0.5)])
def test_the_seed_decides(setting: Setting) -> None:
    rows = texts()

    def drawn(seed: int) -> tuple[object, ...]:
        lesson = altered_data.make_lesson(rows, setting, seed, 3)
        leaks = () if lesson.shortcuts is None else tuple(lesson.shortcuts)
        return (*lesson.texts.first, *lesson.targets, *leaks)

    assert drawn(0) == drawn(0) != drawn(1)


def test_graphs_have_settings_of_their_own() -> None:
    with pytest.raises(ValueError, match=r"setting must be one of standard, .* for language, got 'deep'"):
        CATALOGUE.build(Model("language", "SST2", "BERT", Setting("deep"), 0, {}))


def test_majority_share() -> None:
    assert altered_data.majority_share(np.array([0, 1, 1, 1])) == 0.75
