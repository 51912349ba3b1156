"""The vision domain: image classifiers trained with wrong labels, dots or noise of several degrees."""

from __future__ import annotations

from collections.abc import Mapping

from shesha.support.optional import require
from shesha_bench.model_descriptions import Model, Plain, Weights
from shesha_bench.model_outcomes import Outcome
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.data import load
from shesha_bench.vision.data_and_network_types import ImageData, ImageNetwork, Parts
from shesha_bench.vision.hyperparameters import Hyper

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
    """Return the hyperparameters that a suite uses for a network on a data set.

    Parameters
    ----------
    dataset : str
        "CIFAR100" or "IN100" in the suite "paper", "FashionMNIST" or "CIFAR10" in the suite "small".
    architecture : str
        "RNet18", "RNet34", "RNet101", "VGG11", "VGG19", "ViT B32" or "ViT L32" in the suite "paper"; "ResNet", "VGG" or
        "ViT" in the suite "small".
    suite : str
        "paper" follows Table 6 of the ReSi paper. With "small", a model trains within seconds on one core.

    Returns
    -------
    dict
        All hyperparameters as plain values, for `Model.hyper`.

    Raises
    ------
    ValueError
        If the suite is unknown or does not contain the data set or architecture.

    Examples
    --------
    >>> hyperparameters("CIFAR100", "RNet18", "paper")["learning_rate"]
    0.1
    """
    return CATALOGUE.hyperparameters(dataset, architecture, suite)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the images and labels that models with these hyperparameters use.

    Raises MissingDataError if the data are neither in the local folder nor available from their source, and ValueError
    if the data set is unknown or the hyperparameters are invalid.
    """
    return load(dataset, Hyper.check(hyper)).fingerprint()


def fit(model: Model) -> Weights:
    """Train a model from its seed and return its state dict on the CPU.

    Raises MissingDataError if data or pretrained weights are missing, ValueError if names or hyperparameters are
    invalid, and ArithmeticError if the training diverges.
    """
    require("torch", "torch")
    from shesha_bench.vision.training import train

    hyper = CATALOGUE.build(model)
    return train(model, hyper, load(model.dataset, hyper))


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model on the test images, and return its representations and outputs.

    If the model keeps its layers, the last hidden representation is preceded by those of earlier layers: feature maps
    of shape (n_rows, height, width, channels), or CLS tokens. Raises ValueError if the weights belong to another
    network.
    """
    require("torch", "torch")
    from shesha_bench.vision.extraction import extract

    hyper = CATALOGUE.build(model)
    return extract(model, hyper, load(model.dataset, hyper), weights)
