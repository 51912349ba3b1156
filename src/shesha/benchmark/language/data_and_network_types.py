"""Declarations of a text data set and of a network that reads texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.benchmark.data_and_network_types import NetworkPart, Part
from shesha.benchmark.language.hyperparameters import Hyper
from shesha.support.optional import require


@dataclass(frozen=True)
class Texts:
    """Sentences, or pairs of sentences, with their classes."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """Second text of each pair, such as the hypothesis to a premise; None for single sentences."""
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
    """Texts whose classes are learned."""

    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers."""
    read: Callable[[Hyper], tuple[Texts, Texts]]
    """Function that reads all training and test texts; the only hyperparameter that it uses is `train_file`."""


def bert_config(sizes: Mapping[str, Any]) -> Any:
    """Describe a BERT of these sizes."""
    return require("transformers", "hf").BertConfig(**sizes)


@dataclass(frozen=True, kw_only=True)
class TextNetwork(NetworkPart):
    """A transformer that classifies texts."""

    config: Callable[[Mapping[str, Any]], Any] = bert_config
    """Function that returns the network's transformers configuration for given sizes, for training from random
    weights."""
    pretrained: Callable[[int], tuple[str, str]] | None = None
    """Function that returns the local folder and the repository of the pretrained weights for a seed; None for random
    weights."""
    package: str | None = None
    """The installed package with the pretrained weights, instead of a repository."""
    decoder: bool = False
    """Whether the network is a causal language model, which classifies by the next word of a prompt."""
    pooler: bool = True
    """Whether the classifier of an encoder reads the output of the pooler instead of the first token."""
