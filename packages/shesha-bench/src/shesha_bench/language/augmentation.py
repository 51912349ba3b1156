"""Easy data augmentation: replace, insert, swap or delete words (Wei and Zou, 2019)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha_bench.language.synonyms import synonyms

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
