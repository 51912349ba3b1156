"""The parts of each network in the library: its body, the names of its blocks, and its head."""

from __future__ import annotations

from torch import nn

from shesha_bench.vision import paper_architectures, small_architectures
from shesha_bench.vision.data_and_network_types import Parts
from shesha_bench.vision.hyperparameters import Hyper


def small_resnet(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small ResNet."""
    return _small_parts(small_architectures.small_resnet(n_classes))


def small_vgg(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small VGG."""
    return _small_parts(small_architectures.small_vgg(n_classes))


def small_vit(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small vision transformer."""
    return _small_parts(small_architectures.SmallViT(n_classes, hyper.image_size))


def _small_parts(body: small_architectures.ConvolutionalNet | small_architectures.SmallViT) -> Parts:
    places = (number for number, block in enumerate(body.blocks) if not isinstance(block, nn.MaxPool2d))
    return Parts(body, tuple(f"blocks.{number}" for number in places), "head")


def resnet(n_classes: int, hyper: Hyper, pretrained: bool, depth: int) -> Parts:
    """Build a ResNet with the given depth."""
    body = paper_architectures.resnet(depth, n_classes, hyper.image_size)
    stages = (f"layer{number}" for number in range(1, 5))
    blocks = (f"{stage}.{name}" for stage in stages for name, _ in body.get_submodule(stage).named_children())
    return Parts(body, tuple(blocks), "fc")


def vgg(n_classes: int, hyper: Hyper, pretrained: bool, depth: int) -> Parts:
    """Build a VGG with the given depth."""
    body = paper_architectures.vgg(depth, n_classes)
    layers = body.get_submodule("features").named_children()
    return Parts(body, tuple(f"features.{name}" for name, layer in layers if isinstance(layer, nn.ReLU)), "classifier")


def vit(n_classes: int, hyper: Hyper, pretrained: bool, name: str) -> Parts:
    """Build a vision transformer, given the name of its pretrained version."""
    body = paper_architectures.vit(name, n_classes, hyper.image_size, pretrained=pretrained, reduced=hyper.reduced)
    return Parts(body, body.blocks, "body.classifier")
