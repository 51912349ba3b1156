"""Hyperparameters of the graph networks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shesha.benchmark.hyperparameters import (
    NOT_NEGATIVE,
    PART,
    POSITIVE,
    Hyperparameters,
    choice_of_words,
    count,
    option,
)
from shesha.benchmark.models import Setting

_DEEP_LAYERS = 6


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """What decides training and extraction of a graph network, besides data, architecture, setting and seed."""

    hidden: int = option(count())
    """Channels of a hidden layer."""
    layers: int = option(count(2))
    """Hidden layers, and the classifier."""
    activation: str = option(choice_of_words("relu", "elu"))
    dropout: float = option(PART)
    """How likely a value is set to zero."""
    learning_rate: float = option(POSITIVE)
    """Adam's, as is the weight decay."""
    weight_decay: float = option(NOT_NEGATIVE)
    epochs: int = option(count())
    """Steps on the whole graph."""
    heads: int = option(count(), 1)
    """Of attention: GAT only."""
    shortcut_rows: str = option(choice_of_words("training", "fixed"), "training")
    """Which shortcuts the nodes carry when representations are extracted from models trained with shortcuts:
    "training" those that the model was trained with, as the published results were made; "fixed" the same random ones
    for all models, as the paper describes it."""

    def for_setting(self, setting: Setting) -> Hyper:
        """Return the same with more layers, in the deep setting."""
        return replace(self, layers=_DEEP_LAYERS) if setting.kind == "deep" else self
