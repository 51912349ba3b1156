"""From the name of an architecture to its vocabulary, its rows of tokens and its network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha._optional import require
from shesha.benchmark.language import prompts, settings
from shesha.benchmark.language.data import SOURCES, Texts
from shesha.benchmark.language.hyper import Hyper
from shesha.benchmark.language.pretrained import loaded
from shesha.benchmark.language.settings import Lesson
from shesha.benchmark.language.tokens import PretrainedVocabulary, Rows, Vocabulary, WordVocabulary, encoder_rows
from shesha.benchmark.models import Model

if TYPE_CHECKING:
    from shesha.benchmark.language.networks import Decoder, Encoder

_SMALL = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
_TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@dataclass(frozen=True)
class Builder:
    """One model's vocabulary, and what is made with it."""

    model: Model
    hyper: Hyper
    vocabulary: Vocabulary

    @classmethod
    def of(cls, model: Model, hyper: Hyper, train: Texts) -> Builder:
        """Choose the vocabulary: the pretrained one, or the words of the training texts."""
        settings.check(model.setting)
        if not _from_scratch(model, hyper):
            return cls(model, hyper, loaded(model.architecture, model.seed, PretrainedVocabulary))
        required = prompts.words(SOURCES[model.dataset].classes, len(prompts.OPTIONS))
        texts = [*train.first, *(train.second or ())]
        return cls(model, hyper, WordVocabulary(texts, required if _is_decoder(model) else ()))

    @property
    def n_classes(self) -> int:
        """Number of classes of the data."""
        return len(SOURCES[self.model.dataset].classes)

    @property
    def n_outputs(self) -> int:
        """Number of classes that the network tells apart."""
        return settings.n_outputs(self.model.setting, self.n_classes)

    def rows(self, lesson: Lesson) -> Rows:
        """Return the texts as the network reads them."""
        if _is_decoder(self.model):
            classes = SOURCES[self.model.dataset].classes
            return prompts.prompt_rows(lesson, self.vocabulary, self.hyper.max_length, classes, self.n_outputs)
        return encoder_rows(lesson, self.vocabulary, self.hyper.max_length)

    def network(self, *, pretrained: bool) -> Encoder | Decoder:
        """Return the network before training; without pretrained weights where others are to be loaded anyway."""
        require("torch", "torch")
        from shesha.benchmark.language.networks import Decoder, Encoder

        if _is_decoder(self.model):
            return Decoder(self._body(pretrained), prompts.option_ids(self.vocabulary, self.n_outputs))
        n_shortcuts = settings.n_shortcuts(self.model.setting, self.n_classes)
        return Encoder(self._body(pretrained), self.n_outputs, n_shortcuts)

    def _body(self, pretrained: bool) -> Any:
        transformers = require("transformers", "hf")
        model = self.model
        kind = transformers.AutoModelForCausalLM if _is_decoder(model) else transformers.AutoModel
        # The paper's encoders classify through their pooler, ours directly.
        options = {"add_pooling_layer": False} if model.architecture in ("MiniLM", "SmallBERT") else {}
        if _from_scratch(model, self.hyper):
            return kind.from_config(self._own_config(), **options)
        load = _weights(kind, options) if pretrained else _skeleton(transformers.AutoConfig, kind, options)
        # Some weights are stored in half precision.
        return loaded(model.architecture, model.seed, load).float()

    def _own_config(self) -> Any:
        transformers = require("transformers", "hf")
        sizes = dict(_TINY if self.hyper.reduced else _SMALL)
        sizes |= {"vocab_size": self.vocabulary.size, "pad_token_id": self.vocabulary.pad}
        sizes["max_position_embeddings"] = self.hyper.max_length
        if _is_decoder(self.model):
            return transformers.LlamaConfig(**sizes, bos_token_id=None, eos_token_id=None, tie_word_embeddings=True)
        if self.model.architecture == "ALBERT":
            return transformers.AlbertConfig(**sizes, embedding_size=16)
        return transformers.BertConfig(**sizes)


def _weights(kind: Any, options: dict[str, bool]) -> Callable[[str | Path], Any]:
    return lambda place: kind.from_pretrained(
        place, local_files_only=isinstance(place, Path), weights_only=True, **options
    )


def _skeleton(configs: Any, kind: Any, options: dict[str, bool]) -> Callable[[str | Path], Any]:
    return lambda place: kind.from_config(
        configs.from_pretrained(place, local_files_only=isinstance(place, Path)), **options
    )


def _from_scratch(model: Model, hyper: Hyper) -> bool:
    return hyper.reduced or model.architecture == "SmallBERT"


def _is_decoder(model: Model) -> bool:
    return model.architecture == "SmolLM2"
