"""Hyperparameters for image classifiers."""

from __future__ import annotations

from dataclasses import dataclass

from shesha_bench.hyperparameters import NOT_NEGATIVE, PART, SWITCH, Hyperparameters, choice_of_words, count, option


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of an image classifier, except data, network, setting and seed."""

    epochs: int = option(count())
    batch_size: int = option(count())
    learning_rate: float = option(NOT_NEGATIVE)
    """Maximum learning rate, which is reached by a linear warm-up and followed by a cosine decay to zero."""
    weight_decay: float = option(NOT_NEGATIVE)
    optimiser: str = option(choice_of_words("sgd", "adamw"))
    """`sgd` (with momentum 0.9) or `adamw`."""
    image_size: int = option(count())
    """Side length in pixels of the network's input. Larger images are reduced when they are read; smaller ones are
    enlarged before they enter the network.
    """
    extent: int = option(count())
    """Height and width to which feature maps are pooled."""
    warmup: float = option(PART, 0.0)
    """Share of the training steps after which the learning rate reaches its maximum."""
    train_rows: int | None = option(count(), None)
    test_rows: int | None = option(count(), None)
    """Number of images to use; None uses all."""
    padding: int = option(count(0), 4)
    """How many pixels a training image is shifted at most, before it is enlarged; photographs are cropped instead."""
    dot: int = option(count(), 5)
    """Diameter of the dot that serves as a shortcut, in pixels of the image before it is enlarged."""
    reduced: bool = option(SWITCH, False)
    """Whether to build a tiny version of a pretrained architecture with random weights."""
