"""Synonyms from a list in this package, so that they are the same on every machine."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


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
