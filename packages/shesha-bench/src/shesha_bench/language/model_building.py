"""Build the vocabulary, the token rows and the network of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require
from shesha_bench.language import altered_data, classification_prompts
from shesha_bench.language.altered_data import Lesson
from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data_and_network_types import TextNetwork, Texts
from shesha_bench.language.hyperparameters import Hyper
from shesha_bench.language.pretrained import load_pretrained
from shesha_bench.language.tokens import PretrainedVocabulary, Rows, Vocabulary, WordVocabulary, encoder_rows
from shesha_bench.model_descriptions import Model

if TYPE_CHECKING:
    from shesha_bench.language.encoder_and_decoder import Decoder, Encoder

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
        required = classification_prompts.words(
            CATALOGUE.dataset(model.dataset).classes, len(classification_prompts.OPTIONS)
        )
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
            return classification_prompts.prompt_rows(
                lesson, self.vocabulary, self.hyper.max_length, self.classes, self.n_outputs
            )
        return encoder_rows(lesson, self.vocabulary, self.hyper.max_length)

    def network(self, *, pretrained: bool) -> Encoder | Decoder:
        """Return the network before training; without `pretrained`, other weights must be loaded later."""
        require("torch", "torch")
        from shesha_bench.language.encoder_and_decoder import Decoder, Encoder

        if self.declaration.decoder:
            return Decoder(self._body(pretrained), classification_prompts.option_ids(self.vocabulary, self.n_outputs))
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
