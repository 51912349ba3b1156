"""Sentences for a paper: value, interval, chance level, p, null, rows, source and version."""

from __future__ import annotations

from functools import cache, singledispatch
from importlib import import_module

from shesha._version import DISTRIBUTION, __version__
from shesha.report import Section, Text

_TITLE = "Sentence for a paper"


@singledispatch
def claim(result: object) -> str:
    """Return the sentence about a result for a paper, without the version and the full stop."""
    raise ValueError(f"result must be a whole result to have a sentence, got {type(result).__name__}, a part of one")


def paper_sentence(result: object) -> str:
    """Return the sentence about a result, with the version of the library that produced it."""
    _load_claims()
    return f"{claim(result)} ({DISTRIBUTION} {__version__})."


def has_sentence(result: object) -> bool:
    """Return whether there is a sentence for this class; parts of results have none."""
    _load_claims()
    return claim.dispatch(type(result)) is not claim.dispatch(object)


def sentence_sections(result: object) -> tuple[Section, ...]:
    """Return a section that contains the sentence, or nothing if there is none."""
    return (Section(_TITLE, (Text(paper_sentence(result), hanging=""),)),) if has_sentence(result) else ()


@cache
def _load_claims() -> None:
    # The sentences of other results are beside their classes.
    for name in ("audit_report", "similarity_sentences"):
        import_module(f"shesha.results.{name}")
