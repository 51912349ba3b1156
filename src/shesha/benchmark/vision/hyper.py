"""Hyperparameters of the image classifiers."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.benchmark.hyperparameters import NOT_NEGATIVE, PART, SWITCH, Hyperparameters, choice_of_words, count, option


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """What decides training and extraction of an image classifier, besides data, architecture, setting and seed."""

    epochs: int = option(count())
    batch_size: int = option(count())
    learning_rate: float = option(NOT_NEGATIVE)
    """The highest of the schedule: linear warm-up, then a cosine down to zero."""
    weight_decay: float = option(NOT_NEGATIVE)
    optimiser: str = option(choice_of_words("sgd", "adamw"))
    """`sgd` with momentum 0.9, or `adamw`."""
    image_size: int = option(count())
    """Pixels per side that the network sees: larger images are reduced when they are read, before anything is done to
    them; smaller ones are enlarged on their way into the network."""
    extent: int = option(count())
    """Height and width that feature maps are pooled to."""
    warmup: float = option(PART, 0.0)
    """Share of the training steps before the learning rate is at its highest."""
    train_rows: int | None = option(count(), None)
    test_rows: int | None = option(count(), None)
    """How many images are used, all where None."""
    padding: int = option(count(0), 4)
    """Pixels by which training moves an image at most, before it is enlarged; photographs are cropped instead."""
    dot: int = option(count(), 5)
    """Diameter of the shortcut's dot, in pixels of the images before they are enlarged."""
    reduced: bool = option(SWITCH, False)
    """Build a pretrained architecture tiny and with random weights."""
