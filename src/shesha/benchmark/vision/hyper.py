"""The hyperparameters of a vision model: read once, and the values of the two suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from shesha.benchmark.models import Plain

Suite = Literal["paper", "small"]
DATASETS: dict[Suite, tuple[str, ...]] = {"paper": ("CIFAR100", "IN100"), "small": ("FashionMNIST", "CIFAR10")}
ARCHITECTURES: dict[Suite, tuple[str, ...]] = {
    "paper": ("RNet18", "RNet34", "RNet101", "VGG11", "VGG19", "ViT B32", "ViT L32"),
    "small": ("ResNet", "VGG", "ViT"),
}
OPTIMISERS = ("sgd", "adamw")


@dataclass(frozen=True)
class Hyper:
    """What decides training and extraction, besides data, architecture, setting and seed."""

    epochs: int
    batch_size: int
    learning_rate: float
    """The highest of the schedule: linear warm-up, then a cosine down to zero."""
    weight_decay: float
    optimiser: str
    """`sgd` with momentum 0.9, or `adamw`."""
    image_size: int
    """Pixels per side that the network sees: larger images are reduced when they are read, before anything is done to
    them; smaller ones are enlarged on their way into the network."""
    extent: int
    """Height and width that feature maps are pooled to."""
    warmup: float = 0.0
    """Share of the training steps before the learning rate is at its highest."""
    train_rows: int | None = None
    test_rows: int | None = None
    """How many images are used, all where None."""
    padding: int = 4
    """Pixels by which training moves an image at most, before it is enlarged; photographs are cropped instead."""
    dot: int = 5
    """Diameter of the shortcut's dot, in pixels of the images before they are enlarged."""
    reduced: bool = False
    """Build a pretrained architecture tiny and with random weights."""

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("epochs", "batch_size", "image_size", "extent", "train_rows", "test_rows", "padding", "dot"):
            count, least = getattr(self, name), 0 if name == "padding" else 1
            optional = count is None and name.endswith("_rows")
            if not optional and (isinstance(count, bool) or not isinstance(count, int) or count < least):
                raise ValueError(f"hyper[{name!r}] must be a whole number of at least {least}, got {count!r}")
        for name, high in (("learning_rate", float("inf")), ("weight_decay", float("inf")), ("warmup", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < high:
                raise ValueError(f"hyper[{name!r}] must be a number from 0 to below {high}, got {value!r}")
        if self.optimiser not in OPTIMISERS:
            raise ValueError(f"hyper['optimiser'] must be one of {', '.join(OPTIMISERS)}, got {self.optimiser!r}")
        if not isinstance(self.reduced, bool):
            raise ValueError(f"hyper['reduced'] must be True or False, got {self.reduced!r}")


def parse(hyper: Mapping[str, Plain]) -> Hyper:
    """Check the hyperparameters of a model; unknown and lacking names and wrong values are a ValueError."""
    known = {field.name: field for field in fields(Hyper)}
    unknown = sorted(set(hyper) - set(known))
    if unknown:
        raise ValueError(f"hyper must have names among {', '.join(known)}, got {', '.join(unknown)}")
    lacking = [name for name, field in known.items() if field.default is MISSING and name not in hyper]
    if lacking:
        raise ValueError(f"hyper must name {', '.join(lacking)} as well, got {', '.join(sorted(hyper)) or 'nothing'}")
    values: dict[str, Any] = dict(hyper)
    return Hyper(**values)


def hyperparameters(dataset: str, architecture: str, suite: Suite) -> dict[str, Plain]:
    """Return the hyperparameters of a suite.

    Parameters
    ----------
    dataset
        "CIFAR100" or "IN100" in the paper's suite, "FashionMNIST" or "CIFAR10" in the small one.
    architecture
        "RNet18", "RNet34", "RNet101", "VGG11", "VGG19", "ViT B32" or "ViT L32" in the paper's suite; "ResNet", "VGG" or
        "ViT" in the small one.
    suite
        "paper": those of the ReSi paper (its Table 6). "small": a model trains within seconds on one core.

    Returns
    -------
    dict
        Plain values, complete: what `Model.hyper` takes.

    Raises
    ------
    ValueError
        If the suite is unknown, or has no such data set or architecture.

    Examples
    --------
    >>> hyperparameters("CIFAR100", "RNet18", "paper")["learning_rate"]
    0.1
    """
    for name, value, options in (
        ("suite", suite, tuple(DATASETS)),
        ("dataset", dataset, DATASETS.get(suite, ())),
        ("architecture", architecture, ARCHITECTURES.get(suite, ())),
    ):
        if value not in options:
            raise ValueError(f"{name} must be one of {', '.join(options)}, got {value!r}")
    return _paper(dataset, architecture) if suite == "paper" else _small(dataset, architecture)


def _paper(dataset: str, architecture: str) -> dict[str, Plain]:
    if architecture.startswith("ViT"):
        # Images of any size are brought to the 224 pixels that the pretrained patch embedding takes.
        return {
            "optimiser": "adamw",
            "learning_rate": 3e-3,
            "weight_decay": 0.1,
            "batch_size": 512,
            "epochs": 300,
            "warmup": 0.1,
            "image_size": 224,
            "extent": 7,
        }
    # At 32 pixels the last maps of a VGG have 2 x 2 pixels and those of a ResNet 4 x 4: 7 would only repeat values.
    small_extent = 2 if architecture.startswith("VGG") else 4
    return {
        "optimiser": "sgd",
        "learning_rate": 0.1,
        "weight_decay": 4e-5,
        "batch_size": 128,
        "epochs": 200,
        "warmup": 0.0,
        "image_size": 224 if dataset == "IN100" else 32,
        "extent": 7 if dataset == "IN100" else small_extent,
    }


def _small(dataset: str, architecture: str) -> dict[str, Plain]:
    common: dict[str, Plain] = {
        "train_rows": 2000,
        "test_rows": 500,
        "image_size": 16,
        "extent": 2,
        "warmup": 0.1,
        # At half the paper's resolution, a quarter of its crops' movement: few epochs hardly teach more.
        "padding": 1,
        "dot": 3,
    }
    if architecture == "ViT":
        return {
            **common,
            "optimiser": "adamw",
            "learning_rate": 1e-3,
            "weight_decay": 0.1,
            "batch_size": 32,
            "epochs": 6,
        }
    return {
        **common,
        "image_size": 14 if dataset == "FashionMNIST" else 16,
        "optimiser": "sgd",
        "learning_rate": 0.03,
        "weight_decay": 4e-5,
        "batch_size": 64,
        "epochs": 9 if architecture == "VGG" else 7,
    }
