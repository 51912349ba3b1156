"""How to declare a text data set, and a network that classifies texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.optional import require
from shesha_bench.data_and_network_types import NetworkPart, Part
from shesha_bench.language.hyperparameters import Hyper


@dataclass(frozen=True)
class Texts:
    """Sentences, or pairs of sentences, with their classes."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """Second text of each pair, such as the hypothesis for a premise; None for single sentences."""
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.first)

    def rows(self, chosen: NDArray[np.int64]) -> Texts:
        """Return the chosen rows."""
        second = None if self.second is None else tuple(self.second[i] for i in chosen)
        return Texts(tuple(self.first[i] for i in chosen), second, self.labels[chosen])


@dataclass(frozen=True, kw_only=True)
class TextData(Part):
    """A data set of texts with classes."""

    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers."""
    read: Callable[[Hyper], tuple[Texts, Texts]]
    """Function that reads all training and test texts; of the hyperparameters, it uses only `train_file`."""


def bert_config(sizes: Mapping[str, Any]) -> Any:
    """Return the configuration of a BERT with these sizes."""
    return require("transformers", "hf").BertConfig(**sizes)


@dataclass(frozen=True, kw_only=True)
class TextNetwork(NetworkPart):
    """A transformer that classifies texts."""

    config: Callable[[Mapping[str, Any]], Any] = bert_config
    """Function that returns the network's configuration (a class of transformers) for given sizes. It is used for
    training from random weights.
    """
    pretrained: Callable[[int], tuple[str, str]] | None = None
    """Function that returns the local folder and the repository of the pretrained weights for a seed, or None for
    random weights.
    """
    package: str | None = None
    """An installed package that contains the pretrained weights, in place of a repository."""
    decoder: bool = False
    """Whether the network is a causal language model, which classifies by a prompt's next word."""
    pooler: bool = True
    """Whether an encoder's classifier reads the output of the pooler instead of the first token."""
