"""Texts of the benchmark, with altered labels, shortcuts or words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from shesha.support.seeds import spawn
from shesha_bench.catalogue import Plain, Setting, count_of_share
from shesha_bench.domains import hash_arrays
from shesha_bench.language.catalogue import CATALOGUE, Hyper, Texts

_SUBSET_SEED = 2024
"""Seed with which a subset of the rows is chosen, the same for all models."""


def load(dataset: str, hyper: Hyper) -> tuple[Texts, Texts]:
    """Return the training and test texts; raise MissingDataError if they are missing."""
    train, test = CATALOGUE.dataset(dataset).read(hyper)
    return _subset(train, hyper.train_rows), _subset(test, hyper.test_rows)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the texts and labels that training and extraction use, which hyperparameters select."""
    parts: list[NDArray[np.int64] | str] = []
    for texts in load(dataset, Hyper.check(hyper)):
        parts += ["\n".join(texts.first), "\n".join(texts.second or ()), texts.labels]
    return hash_arrays(*parts)


def _subset(texts: Texts, n_rows: int | None) -> Texts:
    if n_rows is None or n_rows >= len(texts):
        return texts
    chosen = np.random.default_rng(_SUBSET_SEED).choice(len(texts), n_rows, replace=False)
    return texts.rows(np.sort(chosen))


def synonyms(word: str) -> tuple[str, ...]:
    """Return the synonyms of a word in alphabetical order, ignoring case.

    Examples
    --------
    >>> synonyms("Movie")
    ('film', 'flick', 'picture')
    """
    return _lexicon().get(word.lower(), ())


@cache
def _lexicon() -> dict[str, tuple[str, ...]]:
    synonyms: dict[str, set[str]] = {}
    for line in files("shesha_bench.language").joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines():
        group = line.split()
        for word in group:
            synonyms.setdefault(word, set()).update(group)
    return {word: tuple(sorted(group - {word})) for word, group in synonyms.items()}


_Change = Callable[[list[str], np.random.Generator], None]


def augment(text: str, share: float, rng: np.random.Generator) -> str:
    """Change a text word by word.

    Parameters
    ----------
    text : str
        Words separated by spaces.
    share : float
        Number of changes per word, from 0 to 1. A text of n words is changed `round(share * n)` times, but at least
        once.
    rng : numpy.random.Generator
        Random generator for the changes and their positions. Each change is drawn from those that are possible: replace
        a word with a synonym, insert a synonym of a word at any position, swap two words, or delete a word.

    Returns
    -------
    str
        The changed text, which has at least one word; an empty text stays empty.

    Examples
    --------
    >>> import numpy as np
    >>> len(augment("a film of great charm", 0.2, np.random.default_rng(0)).split()) in (4, 5, 6)
    True
    """
    words = text.split()
    for _ in range(max(1, round(share * len(words)))):
        possible = _possible(words)
        if not possible:
            break
        possible[int(rng.integers(len(possible)))](words, rng)
    return " ".join(words)


def _possible(words: list[str]) -> list[_Change]:
    replaceable: list[_Change] = [_replace, _insert] if any(synonyms(word) for word in words) else []
    movable: list[_Change] = [_swap, _delete] if len(words) > 1 else []
    return replaceable + movable


def _replace(words: list[str], rng: np.random.Generator) -> None:
    place = _replaceable_place(words, rng)
    words[place] = _synonym(words[place], rng)


def _insert(words: list[str], rng: np.random.Generator) -> None:
    synonym = _synonym(words[_replaceable_place(words, rng)], rng)
    words.insert(int(rng.integers(len(words) + 1)), synonym)


def _swap(words: list[str], rng: np.random.Generator) -> None:
    i, j = rng.choice(len(words), 2, replace=False)
    words[i], words[j] = words[j], words[i]


def _delete(words: list[str], rng: np.random.Generator) -> None:
    del words[int(rng.integers(len(words)))]


def _replaceable_place(words: list[str], rng: np.random.Generator) -> int:
    places = [place for place, word in enumerate(words) if synonyms(word)]
    return places[int(rng.integers(len(places)))]


def _synonym(word: str, rng: np.random.Generator) -> str:
    choices = synonyms(word)
    chosen = choices[int(rng.integers(len(choices)))]
    return chosen.capitalize() if word[:1].isupper() else chosen


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
