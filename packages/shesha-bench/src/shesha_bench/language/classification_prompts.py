"""Classification as prediction of a prompt's next word, for causal language models."""

from __future__ import annotations

from collections.abc import Sequence

from shesha_bench.language.altered_data import Lesson
from shesha_bench.language.tokens import Rows, Vocabulary, cut

OPTIONS = tuple(f" {letter}" for letter in "ABCDEFGH")
"""The words that stand for the classes, in order; each includes its leading space."""


def option_ids(vocabulary: Vocabulary, n_options: int) -> list[int]:
    """Return the token of each option; raise ValueError if an option is not a single token."""
    ids = vocabulary.ids(OPTIONS[:n_options])
    if any(len(option) != 1 for option in ids) or len({option[0] for option in ids}) != n_options:
        raise ValueError(f"the options {', '.join(OPTIONS[:n_options])} must be single tokens, got {ids}")
    return [option[0] for option in ids]


def question(classes: Sequence[str], n_options: int) -> str:
    """Return the part of the prompt that lists the options; options beyond the classes have no names."""
    options = [f"{OPTIONS[i]} {classes[i]}" if i < len(classes) else OPTIONS[i] for i in range(n_options)]
    return f"\nOptions:{','.join(options)}"


def prompt_rows(
    lesson: Lesson, vocabulary: Vocabulary, max_length: int, classes: Sequence[str], n_options: int
) -> Rows:
    """Return the prompts' tokens: texts (truncated if needed), options, a shortcut if any, and 'Answer:'."""
    firsts = vocabulary.ids([f"Text: {text}" for text in lesson.texts.first])
    second = lesson.texts.second or ("",) * len(firsts)
    seconds = vocabulary.ids([f"\nStatement: {text}" if text else "" for text in second])
    leaks = [None] * len(firsts) if lesson.shortcuts is None else lesson.shortcuts.tolist()
    ends = vocabulary.ids([question(classes, n_options) + hint for hint in _hints(leaks)])
    ids = []
    for first, other, end in zip(firsts, seconds, ends, strict=True):
        if len(end) >= max_length:
            raise ValueError(f"hyper['max_length'] must exceed the {len(end)} tokens of the question, got {max_length}")
        first, other = cut(first, other, max_length - len(end))
        ids.append(first + other + end)
    return Rows(ids, [[0] * len(row) for row in ids], vocabulary.pad)


def words(classes: Sequence[str], n_options: int) -> list[str]:
    """Return the texts whose words a vocabulary must contain, so that prompts do not become equal."""
    return [question(classes, n_options) + hint for hint in _hints((None, 0))]


def _hints(leaks: Sequence[int | None]) -> list[str]:
    return [("" if leak is None else f"\nHint:{OPTIONS[leak]}") + "\nAnswer:" for leak in leaks]
