"""Types that declare an image data set or an image network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shesha_bench.data_and_network_types import NetworkPart, Part
from shesha_bench.vision.hyperparameters import Hyper
from shesha_bench.vision.images import Images

if TYPE_CHECKING:
    from torch import nn

Loader = Callable[[Hyper], tuple[Images, Images]]


class Parts(NamedTuple):
    """A network's body, and the names of those of its parts that are read."""

    body: nn.Module
    blocks: tuple[str, ...]
    """Names of the body's parts after which a representation can be read, in order."""
    head: str
    """Name of the linear classifier; its input is the last hidden representation."""


@dataclass(frozen=True, kw_only=True)
class ImageData(Part):
    """Declaration of an image data set for classification."""

    read: Loader
    """Function that reads all training and test images, with hyperparameters `image_size` and `padding`."""


@dataclass(frozen=True, kw_only=True)
class ImageNetwork(NetworkPart):
    """Declaration of a network that classifies images."""

    build: Callable[[int, Hyper, bool], Parts]
    """Function that builds the network, pretrained or not. New weights are drawn from torch's current random state.

    The body takes normalised images (n, 3, image_size, image_size) and returns logits (n, n_classes). Its blocks return
    feature maps (n, channels, height, width), or tokens (n, n_tokens, n_features).
    """
    tokens: bool = False
    """Whether the network's blocks return tokens, of which the first is the CLS token."""
