"""Tokenise texts: vocabularies, and rows of tokens that are padded to batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.support.optional import require
from shesha_bench.language.altered_data import Lesson

if TYPE_CHECKING:
    import torch

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]|_")
MAX_WORDS = 8000


class Vocabulary(Protocol):
    """A mapping from texts to token numbers."""

    size: int
    """Number of tokens, which is also the index of the first shortcut token."""
    pad: int
    start: int
    """The token that precedes a text, for encoders."""
    end: int
    """The token that follows a text, for encoders."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each text, without special tokens."""
        ...


class WordVocabulary:
    """A vocabulary of the most frequent words in some texts, in lower case.

    Examples
    --------
    >>> vocabulary = WordVocabulary(["A film, a good film."])
    >>> [vocabulary.words[token] for token in vocabulary.ids(["A bad film."])[0]]
    ['a', '[UNK]', 'film', '.']
    """

    pad, unknown, start, end = range(len(_SPECIAL))

    def __init__(self, texts: Iterable[str], required: Iterable[str] = (), limit: int = MAX_WORDS) -> None:
        counts = Counter(word for text in texts for word in _split(text))
        needed = dict.fromkeys(word for text in required for word in _split(text))
        ranked = sorted(counts.keys() - needed.keys(), key=lambda word: (-counts[word], word))
        self.words = (*_SPECIAL, *needed, *ranked)[:limit]
        self.size = len(self.words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word numbers of each text."""
        return [[self._numbers.get(word, self.unknown) for word in _split(text)] for text in texts]


class PretrainedVocabulary:
    """The tokenizer of a pretrained network."""

    def __init__(self, location: str | Path) -> None:
        self._tokenizer: Any = require("transformers", "hf").AutoTokenizer.from_pretrained(
            location, local_files_only=isinstance(location, Path)
        )
        self.size = len(self._tokenizer)
        self.start, self.end = (number or 0 for number in (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id))
        # Decoders may have no padding token. Any token will do, because padding is masked.
        self.pad = self._tokenizer.pad_token_id or 0

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each text, without special tokens."""
        encoded: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return encoded


@dataclass(frozen=True)
class Rows:
    """Token numbers of each row, and for each token whether it is in the first or second text (0 or 1)."""

    ids: list[list[int]]
    types: list[list[int]]
    pad: int

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of tokens per row."""
        return np.array([len(row) for row in self.ids], dtype=np.int64)

    def batch(self, chosen: NDArray[np.int64], device: torch.device) -> Batch:
        """Return the chosen rows, padded to the longest of them."""
        import torch

        longest = max(len(self.ids[i]) for i in chosen)
        shape = (len(chosen), longest)
        ids, mask = np.full(shape, self.pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        types = np.zeros(shape, dtype=np.int64)
        for place, row in enumerate(chosen):
            length = len(self.ids[row])
            ids[place, :length], types[place, :length], mask[place, :length] = self.ids[row], self.types[row], 1
        return Batch(*(torch.from_numpy(array).to(device) for array in (ids, types, mask)))


@dataclass(frozen=True)
class Batch:
    """Padded rows, each of shape (n_rows, n_tokens)."""

    ids: torch.Tensor
    types: torch.Tensor
    mask: torch.Tensor
    """Mask: 1 for tokens, 0 for padding."""


def encoder_rows(lesson: Lesson, vocabulary: Vocabulary, max_length: int) -> Rows:
    """Return [CLS] (shortcut) first text [SEP] (second text [SEP]) for each row, truncated if too long."""
    firsts = vocabulary.ids(lesson.texts.first)
    seconds = [[] for _ in firsts] if lesson.texts.second is None else vocabulary.ids(lesson.texts.second)
    n_special = 2 + (lesson.texts.second is not None) + (lesson.shortcuts is not None)
    ids, types = [], []
    for row, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        first, second = cut(first, second, max_length - n_special)
        leak = [] if lesson.shortcuts is None else [vocabulary.size + int(lesson.shortcuts[row])]
        head = [vocabulary.start, *leak, *first, vocabulary.end]
        tail = [] if lesson.texts.second is None else [*second, vocabulary.end]
        ids.append(head + tail)
        types.append([0] * len(head) + [1] * len(tail))
    return Rows(ids, types, vocabulary.pad)


def cut(first: list[int], second: list[int], budget: int) -> tuple[list[int], list[int]]:
    """Truncate two texts to a total number of tokens, shortening the longer text first."""
    n_second = min(len(second), max(budget - len(first), budget // 2))
    return first[: budget - n_second], second[:n_second]


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())
