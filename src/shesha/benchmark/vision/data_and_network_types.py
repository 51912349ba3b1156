"""Declarations of an image data set and of an image network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shesha.benchmark.data_and_network_types import NetworkPart, Part
from shesha.benchmark.vision.hyperparameters import Hyper
from shesha.benchmark.vision.images import Images

if TYPE_CHECKING:
    from torch import nn

Loader = Callable[[Hyper], tuple[Images, Images]]


class Parts(NamedTuple):
    """A network's body, and the names of its parts."""

    body: nn.Module
    blocks: tuple[str, ...]
    """Names of the parts after which a representation can be read, in order."""
    head: str
    """Name of the linear classifier, whose input is the last hidden representation."""


@dataclass(frozen=True, kw_only=True)
class ImageData(Part):
    """Images whose classes are learned."""

    read: Loader
    """Function that reads all training and test images; it uses the hyperparameters `image_size` and `padding` only."""


@dataclass(frozen=True, kw_only=True)
class ImageNetwork(NetworkPart):
    """A network that classifies images."""

    build: Callable[[int, Hyper, bool], Parts]
    """Function that builds the network from the number of classes, pretrained or not, with new weights from torch's
    current state.

    The body takes normalised images (n, 3, image_size, image_size) and returns logits (n, n_classes). Its blocks return
    feature maps (n, channels, height, width), or tokens (n, n_tokens, n_features).
    """
    tokens: bool = False
    """Whether the network's blocks return tokens, the CLS token first."""
