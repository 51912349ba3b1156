"""Build an image classifier, given the name of its architecture."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from shesha_bench.model_descriptions import Weights
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.data_and_network_types import Parts
from shesha_bench.vision.hyperparameters import Hyper


class Classifier(nn.Module):
    """A network whose input is images with values from 0 to 255; images that are too small are enlarged."""

    mean: Tensor
    sd: Tensor

    def __init__(self, parts: Parts, image_size: int, *, tokens: bool) -> None:
        super().__init__()
        self.body = parts.body
        self.blocks = tuple(f"body.{name}" for name in parts.blocks)
        self.head = f"body.{parts.head}"
        self.image_size = image_size
        self.tokens = tokens
        # As buffers, the values for normalising images are part of the state dict.
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("sd", torch.ones(3))

    def forward(self, images: Tensor) -> Tensor:
        """Map images (n, 3, side, side) to logits (n, n_classes)."""
        if images.shape[-1] != self.image_size:
            images = interpolate(images, size=self.image_size, mode="bilinear")
        logits: Tensor = self.body((images / 255 - self.mean[:, None, None]) / self.sd[:, None, None])
        return logits

    def load(self, weights: Weights, model: object) -> None:
        """Load a state dict; raise a ValueError that names the model if it belongs to another network."""
        try:
            self.load_state_dict(weights)
        except RuntimeError as error:
            raise ValueError(f"weights must be a state dict of {model}, got another network's: {error}") from error


def build(architecture: str, n_classes: int, hyper: Hyper, *, seed: int, pretrained: bool) -> Classifier:
    """Build a network with random or pretrained weights.

    Parameters
    ----------
    architecture : str
        The name of a network of the benchmark, or module:name of your own network.
    n_classes : int
        Number of logits.
    hyper : Hyper
        Hyperparameters, of which only `image_size` and `reduced` are used.
    seed : int
        Seed for the random weights; torch's global generator is not changed.
    pretrained : bool
        Whether the paper's ViTs start from their pretrained weights.
    """
    declared = CATALOGUE.network(architecture)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        parts = declared.build(n_classes, hyper, pretrained)
    network = Classifier(parts, hyper.image_size, tokens=declared.tokens)
    return network if declared.tokens else network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
