"""The vision domain: image classifiers trained on labels, dots and noise of several degrees."""

from __future__ import annotations

from collections.abc import Mapping

from shesha.benchmark.model_descriptions import Model, Outcome, Plain, Weights
from shesha.benchmark.vision.catalogue import CATALOGUE
from shesha.benchmark.vision.data import load
from shesha.benchmark.vision.data_and_network_types import ImageData, ImageNetwork, Parts
from shesha.benchmark.vision.hyperparameters import Hyper
from shesha.support.optional import require

__all__ = [
    "CATALOGUE",
    "ImageData",
    "ImageNetwork",
    "Parts",
    "extract",
    "fingerprint",
    "fit",
    "hyperparameters",
]


def hyperparameters(dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
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
    return CATALOGUE.hyperparameters(dataset, architecture, suite)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the images and labels that models with these hyperparameters use.

    Raises MissingDataError where the data are neither in the local folder nor to be had from their source, and
    ValueError for an unknown data set or hyperparameters that do not fit.
    """
    return load(dataset, Hyper.check(hyper)).fingerprint()


def fit(model: Model) -> Weights:
    """Train a model from its seed and return its state dict, on the CPU.

    Raises MissingDataError where data or pretrained weights are missing, ValueError for names or hyperparameters that
    do not fit, and ArithmeticError if the training diverges.
    """
    require("torch", "torch")
    from shesha.benchmark.vision.training import train

    hyper = CATALOGUE.build(model)
    return train(model, hyper, load(model.dataset, hyper))


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model over the test images.

    Models with layers return feature maps of shape (n_rows, height, width, channels), or CLS tokens, before the last
    hidden representation. Raises ValueError for the weights of another network.
    """
    require("torch", "torch")
    from shesha.benchmark.vision.extraction import extract

    hyper = CATALOGUE.build(model)
    return extract(model, hyper, load(model.dataset, hyper), weights)
