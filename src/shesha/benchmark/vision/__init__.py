"""The vision domain: image classifiers trained on labels, dots and noise of several degrees."""

from __future__ import annotations

from collections.abc import Mapping

from shesha._optional import require
from shesha.benchmark.models import Model, Outcome, Plain, Weights
from shesha.benchmark.vision.data import Dataset, load
from shesha.benchmark.vision.hyper import Hyper, hyperparameters, parse

__all__ = ["extract", "fingerprint", "fit", "hyperparameters"]


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the images and labels that models with these hyperparameters use.

    Raises MissingDataError where the data are neither in the local folder nor to be had from their source, and
    ValueError for an unknown data set or hyperparameters that do not fit.
    """
    return _data(dataset, parse(hyper)).fingerprint()


def fit(model: Model) -> Weights:
    """Train a model from its seed and return its state dict, on the CPU.

    Raises MissingDataError where data or pretrained weights are missing, ValueError for names or hyperparameters that
    do not fit, and ArithmeticError if the training diverges.
    """
    require("torch", "torch")
    from shesha.benchmark.vision.training import trained

    hyper = parse(model.hyper)
    return trained(model, hyper, _data(model.dataset, hyper))


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model over the test images.

    Models with layers return feature maps of shape (n_rows, height, width, channels), or CLS tokens, before the last
    hidden representation. Raises ValueError for the weights of another network.
    """
    require("torch", "torch")
    from shesha.benchmark.vision.maps import extracted

    hyper = parse(model.hyper)
    return extracted(model, hyper, _data(model.dataset, hyper), weights)


def _data(dataset: str, hyper: Hyper) -> Dataset:
    return load(dataset, hyper)
