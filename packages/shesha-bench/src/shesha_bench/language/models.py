"""Language models of the benchmark: tokenisers, small encoders and decoders, and pretrained models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from shesha.extract.pooling import Pooled, cls, last, mean
from shesha.support.optional import require
from shesha_bench.catalogue import Model
from shesha_bench.domains import local_folder, missing_data_error
from shesha_bench.language import texts as altered_data
from shesha_bench.language.catalogue import CATALOGUE, Hyper, TextNetwork, Texts
from shesha_bench.language.texts import Lesson

Loaded = TypeVar("Loaded")


def load_pretrained(architecture: str, seed: int, load: Callable[[str | Path], Loaded]) -> Loaded:
    """Load a pretrained network from its folder or by name, or raise MissingDataError that names both."""
    declared = CATALOGUE.network(architecture)
    if declared.pretrained is None:
        raise ValueError(f"architecture must be a pretrained network, got {architecture}")
    folder, source = declared.pretrained(seed)
    where = f"the package {declared.package}" if declared.package else f"{source} of the Hugging Face hub"
    local = local_folder(folder)
    place = local if local is not None else _package_folder(declared.package)
    if place is None and declared.package:
        raise missing_data_error(f"the pretrained network {architecture}", folder, where)
    try:
        return load(place if place is not None else source)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise missing_data_error(f"the pretrained network {architecture}", folder, where, reason) from error


def _package_folder(package: str | None) -> Path | None:
    spec = find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if folder.is_dir() else None


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


Read = tuple[Tensor, Tensor]
"""Logits of shape (n_rows, n_outputs), and the last hidden states, of shape (n_rows, n_tokens, n_features)."""


class Encoder(nn.Module):
    """A bidirectional transformer with a linear classifier on its pooler or, without one, its first token."""

    poolings: ClassVar[Mapping[str, Pooled]] = {"cls": cls, "mean": mean}
    """Poolings: the first token, and the mean over all tokens except padding."""

    def __init__(self, body: Any, n_outputs: int, n_shortcuts: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.body = body
        if n_shortcuts:
            _extend(body, n_shortcuts)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(body.config.hidden_size, n_outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch) -> Read:
        """Return the logits and the last hidden states."""
        out = self.body(input_ids=batch.ids, attention_mask=batch.mask, token_type_ids=batch.types)
        states = out.last_hidden_state
        pooled = getattr(out, "pooler_output", None)
        return self.head(self.dropout(states[:, 0] if pooled is None else pooled)), states

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy over the classes."""
        return nn.functional.cross_entropy(self(batch)[0], targets)


class Decoder(nn.Module):
    """A causal language model whose answer is one of a few tokens."""

    options: Tensor
    poolings: ClassVar[Mapping[str, Pooled]] = {"cls": last}
    """Pooling: the last token, from which the answer is predicted."""

    def __init__(self, body: Any, options: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("options", torch.tensor(options), persistent=False)

    def forward(self, batch: Batch) -> Read:
        """Return the logits of the options and the last hidden states."""
        words, states = self._read(batch)
        return words[:, self.options], states

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the answer, over all tokens of the vocabulary."""
        return nn.functional.cross_entropy(self._read(batch)[0], self.options[targets])

    def _read(self, batch: Batch) -> Read:
        out = self.body.model(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False)
        states = out.last_hidden_state
        return self.body.lm_head(last(states, batch.mask)), states


def _extend(body: Any, n_tokens: int) -> None:
    old = body.get_input_embeddings()
    new = nn.Embedding(old.num_embeddings + n_tokens, old.embedding_dim, padding_idx=old.padding_idx)
    with torch.no_grad():
        nn.init.normal_(new.weight, std=0.02)
        new.weight[: old.num_embeddings] = old.weight
    body.set_input_embeddings(new)
    body.config.vocab_size = new.num_embeddings


_SMALL = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
_TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@dataclass(frozen=True)
class Builder:
    """The vocabulary of a model, from which its token rows and its network are built."""

    model: Model
    hyper: Hyper
    vocabulary: Vocabulary

    @classmethod
    def build(cls, model: Model, hyper: Hyper, train: Texts) -> Builder:
        """Choose the vocabulary: the pretrained one, or else the words of the training texts."""
        declared = CATALOGUE.network(model.architecture)
        if not _from_scratch(declared, hyper):
            return cls(model, hyper, load_pretrained(model.architecture, model.seed, PretrainedVocabulary))
        required = words(CATALOGUE.dataset(model.dataset).classes, len(OPTIONS))
        texts = [*train.first, *(train.second or ())]
        return cls(model, hyper, WordVocabulary(texts, required if declared.decoder else ()))

    @property
    def declaration(self) -> TextNetwork:
        """The network as the benchmark declares it."""
        return CATALOGUE.network(self.model.architecture)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of the data."""
        return CATALOGUE.dataset(self.model.dataset).classes

    @property
    def n_classes(self) -> int:
        """Number of classes in the data."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Number of classes that the network distinguishes."""
        return altered_data.n_outputs(self.model.setting, self.n_classes)

    def rows(self, lesson: Lesson) -> Rows:
        """Return the texts in the form in which the network reads them."""
        if self.declaration.decoder:
            return prompt_rows(lesson, self.vocabulary, self.hyper.max_length, self.classes, self.n_outputs)
        return encoder_rows(lesson, self.vocabulary, self.hyper.max_length)

    def network(self, *, pretrained: bool) -> Encoder | Decoder:
        """Return the network before training; without `pretrained`, other weights must be loaded later."""
        require("torch", "torch")
        pass

        if self.declaration.decoder:
            return Decoder(self._body(pretrained), option_ids(self.vocabulary, self.n_outputs))
        n_shortcuts = altered_data.n_shortcuts(self.model.setting, self.n_classes)
        return Encoder(self._body(pretrained), self.n_outputs, n_shortcuts)

    def _body(self, pretrained: bool) -> Any:
        transformers = require("transformers", "hf")
        model, declared = self.model, self.declaration
        kind = transformers.AutoModelForCausalLM if declared.decoder else transformers.AutoModel
        options = {} if declared.pooler else {"add_pooling_layer": False}
        if _from_scratch(declared, self.hyper):
            return kind.from_config(declared.config(self._sizes()), **options)
        load = _weights(kind, options) if pretrained else _skeleton(transformers.AutoConfig, kind, options)
        # Some weights are stored in half precision.
        return load_pretrained(model.architecture, model.seed, load).float()

    def _sizes(self) -> dict[str, Any]:
        sizes: dict[str, Any] = dict(_TINY if self.hyper.reduced else _SMALL)
        sizes |= {"vocab_size": self.vocabulary.size, "pad_token_id": self.vocabulary.pad}
        return sizes | {"max_position_embeddings": self.hyper.max_length}


def _weights(kind: Any, options: dict[str, bool]) -> Callable[[str | Path], Any]:
    return lambda place: kind.from_pretrained(
        place, local_files_only=isinstance(place, Path), weights_only=True, **options
    )


def _skeleton(configs: Any, kind: Any, options: dict[str, bool]) -> Callable[[str | Path], Any]:
    return lambda place: kind.from_config(
        configs.from_pretrained(place, local_files_only=isinstance(place, Path)), **options
    )


def _from_scratch(declared: TextNetwork, hyper: Hyper) -> bool:
    return hyper.reduced or declared.pretrained is None
