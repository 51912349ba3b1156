"""Hyperparameters of the image classifiers."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.benchmark.hyperparameters import NOT_NEGATIVE, PART, SWITCH, Hyperparameters, choice_of_words, count, option


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings of training and extraction of an image classifier, except data, architecture, setting and seed."""

    epochs: int = option(count())
    batch_size: int = option(count())
    learning_rate: float = option(NOT_NEGATIVE)
    """Highest learning rate of the schedule: linear warm-up, then a cosine to zero."""
    weight_decay: float = option(NOT_NEGATIVE)
    optimiser: str = option(choice_of_words("sgd", "adamw"))
    """`sgd` with momentum 0.9, or `adamw`."""
    image_size: int = option(count())
    """Pixels per side of the network's input. Larger images are reduced when they are read; smaller ones are enlarged
    before they enter the network."""
    extent: int = option(count())
    """Height and width that feature maps are pooled to."""
    warmup: float = option(PART, 0.0)
    """Share of the training steps before the learning rate reaches its maximum."""
    train_rows: int | None = option(count(), None)
    test_rows: int | None = option(count(), None)
    """Number of images to use; None uses all."""
    padding: int = option(count(0), 4)
    """Maximum shift of a training image in pixels, before it is enlarged; photographs are cropped instead."""
    dot: int = option(count(), 5)
    """Diameter of the shortcut's dot, in pixels of the images before they are enlarged."""
    reduced: bool = option(SWITCH, False)
    """Build a tiny version of a pretrained architecture, with random weights."""
