"""The benchmark's settings for texts, which change the training data and the test inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.support.seeds import spawn
from shesha_bench.language.augmentation import augment
from shesha_bench.language.data_and_network_types import Texts
from shesha_bench.model_descriptions import Setting, count_of_share

N_NEW_CLASSES = 5
"""Number of classes, unrelated to the data, from which randomised labels are drawn."""
_LABELS, _SHORTCUTS, _AUGMENTATION = 101, 102, 103
_TEST_SEED = 2024


@dataclass(frozen=True)
class Lesson:
    """Texts with the classes to learn and with shortcuts."""

    texts: Texts
    targets: NDArray[np.int64]
    shortcuts: NDArray[np.int64] | None = None
    """The class whose token is placed before each text; None to add no tokens."""


def n_outputs(setting: Setting, n_classes: int) -> int:
    """Return the number of classes that the classifier distinguishes."""
    return n_classes + (N_NEW_CLASSES if setting.kind == "labels" and setting.degree > 0 else 0)


def n_shortcuts(setting: Setting, n_classes: int) -> int:
    """Return the number of shortcut tokens that the setting adds to the vocabulary."""
    return n_classes if setting.kind == "shortcut" else 0


def make_lesson(texts: Texts, setting: Setting, seed: int, n_classes: int) -> Lesson:
    """Return the training texts, changed according to the setting and the seed."""
    if setting.kind == "labels":
        return Lesson(texts, randomise_labels(texts.labels, setting.degree, n_classes, spawn(seed, _LABELS)))
    if setting.kind == "shortcut":
        tokens = shortcuts(texts.labels, setting.degree, n_classes, spawn(seed, _SHORTCUTS))
        return Lesson(texts, texts.labels, tokens)
    if setting.kind == "augmentation" and setting.degree > 0:
        rng = spawn(seed, _AUGMENTATION)
        first = tuple(augment(text, setting.degree, rng) for text in texts.first)
        return Lesson(Texts(first, texts.second, texts.labels), texts.labels)
    return Lesson(texts, texts.labels)


def test_lesson(texts: Texts, setting: Setting, rate: float, n_classes: int) -> Lesson:
    """Return the test texts. Shortcuts show the true class at this rate, identically for all models."""
    if setting.kind != "shortcut":
        return Lesson(texts, texts.labels)
    rng = np.random.default_rng(_TEST_SEED)
    return Lesson(texts, texts.labels, shortcuts(texts.labels, rate, n_classes, rng))


def randomise_labels(
    labels: NDArray[np.int64], share: float, n_classes: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Replace the labels of a share of the rows, rounded down, with new classes."""
    n_changed = count_of_share(share, len(labels))
    changed = rng.choice(len(labels), n_changed, replace=False)
    result = labels.copy()
    result[changed] = n_classes + rng.integers(N_NEW_CLASSES, size=n_changed)
    return result


def shortcuts(labels: NDArray[np.int64], rate: float, n_classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw each row's shortcut: the row's own class with probability `rate`, otherwise a different class."""
    shift = rng.integers(1, n_classes, size=len(labels))
    return np.where(rng.random(len(labels)) < rate, labels, (labels + shift) % n_classes)


def majority_share(labels: NDArray[np.int64]) -> float:
    """Return the share of rows in the most frequent class."""
    return float(np.bincount(labels).max() / len(labels))
