"""Hyperparameters of the graph networks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shesha_bench.hyperparameters import (
    NOT_NEGATIVE,
    PART,
    POSITIVE,
    Hyperparameters,
    choice_of_words,
    count,
    option,
)
from shesha_bench.model_descriptions import Setting

_DEEP_LAYERS = 6


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of a graph network, other than data, network, setting and seed."""

    hidden: int = option(count())
    """Number of channels of each hidden layer."""
    layers: int = option(count(2))
    """Number of layers, counting the hidden layers and the classifier."""
    activation: str = option(choice_of_words("relu", "elu"))
    dropout: float = option(PART)
    """Probability with which dropout sets a value to zero."""
    learning_rate: float = option(POSITIVE)
    """Learning rate of Adam, which also applies the weight decay."""
    weight_decay: float = option(NOT_NEGATIVE)
    epochs: int = option(count())
    """Number of training steps, each of which uses the whole graph."""
    heads: int = option(count(), 1)
    """Number of attention heads (GAT only)."""
    shortcut_rows: str = option(choice_of_words("training", "fixed"), "training")
    """Which shortcut features nodes have during extraction, for models trained with shortcuts. "training" keeps those
    of the model's training, as in the published results. "fixed" uses the same random shortcuts for all models, as the
    paper describes.
    """

    def for_setting(self, setting: Setting) -> Hyper:
        """Return the hyperparameters for a setting; in the setting "deep", networks have more layers."""
        return replace(self, layers=_DEEP_LAYERS) if setting.kind == "deep" else self
