"""Image classifiers: three small ones, and the architectures of the paper."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from shesha.support.optional import require
from shesha_bench.catalogue import Weights
from shesha_bench.domains import local_folder, missing_data_error
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.images import Hyper, Parts

WIDTHS = (16, 32, 64)
PATCH = 4
N_TOKEN_FEATURES = 64
N_HEADS = 4
N_TOKEN_BLOCKS = 4


def _convolution(n_in: int, n_out: int, stride: int = 1) -> nn.Sequential:
    layer = nn.Conv2d(n_in, n_out, kernel_size=3, stride=stride, padding=1, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(n_out))


class ResidualBlock(nn.Module):
    """Two convolutions, whose result is added to the block's input."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(n_in, n_out, stride)
        self.second = _convolution(n_out, n_out)
        self.shortcut: nn.Module = nn.Identity()
        if n_in != n_out:
            projection = nn.Conv2d(n_in, n_out, kernel_size=1, stride=stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(n_out))

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, channels, height, width) to feature maps with the block's number of channels and stride."""
        inner: Tensor = self.second(self.first(maps).relu())
        return torch.relu(inner + self.shortcut(maps))


class ConvolutionalNet(nn.Module):
    """A sequence of convolutional blocks, followed by global average pooling and a linear classifier."""

    def __init__(self, stem: nn.Module, blocks: list[nn.Module], n_features: int, n_classes: int) -> None:
        super().__init__()
        self.stem = stem
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(n_features, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images (n, 3, height, width) to logits (n, n_classes)."""
        maps: Tensor = self.blocks(self.stem(images))
        logits: Tensor = self.head(maps.mean(dim=(2, 3)))
        return logits


def small_resnet(n_classes: int) -> ConvolutionalNet:
    """Build a ResNet with three stages of two blocks each, but only one in the costly first stage."""
    blocks: list[nn.Module] = [ResidualBlock(WIDTHS[0], WIDTHS[0], stride=1)]
    for n_in, n_out in pairwise(WIDTHS):
        blocks += [ResidualBlock(n_in, n_out, stride=2), ResidualBlock(n_out, n_out, stride=1)]
    stem = nn.Sequential(_convolution(3, WIDTHS[0]), nn.ReLU())
    return ConvolutionalNet(stem, blocks, WIDTHS[-1], n_classes)


def small_vgg(n_classes: int) -> ConvolutionalNet:
    """Build a VGG with six convolutions, two at each of three resolutions."""
    blocks: list[nn.Module] = []
    n_in = 3
    for stage, n_out in enumerate(WIDTHS):
        if stage:
            blocks.append(nn.MaxPool2d(2))
        blocks += [nn.Sequential(_convolution(n_in, n_out), nn.ReLU())]
        blocks += [nn.Sequential(_convolution(n_out, n_out), nn.ReLU())]
        n_in = n_out
    return ConvolutionalNet(nn.Identity(), blocks, WIDTHS[-1], n_classes)


class TokenBlock(nn.Module):
    """A transformer block: attention and a perceptron, each with normalised input and a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        n = N_TOKEN_FEATURES
        self.before_attention, self.before_perceptron = nn.LayerNorm(n), nn.LayerNorm(n)
        self.queries_keys_values, self.mix = nn.Linear(n, 3 * n), nn.Linear(n, n)
        self.perceptron = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))

    def forward(self, tokens: Tensor) -> Tensor:
        """Map tokens (n, n_tokens, n_features) to tokens of the same shape."""
        tokens = tokens + self._attention(self.before_attention(tokens))
        change: Tensor = self.perceptron(self.before_perceptron(tokens))
        return tokens + change

    def _attention(self, tokens: Tensor) -> Tensor:
        split = self.queries_keys_values(tokens).unflatten(-1, (3, N_HEADS, -1))
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        # For a few dozen tokens on a CPU, this takes half the time of torch's fused attention.
        similarity = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
        attended = similarity.softmax(dim=-1) @ values
        mixed: Tensor = self.mix(attended.transpose(1, 2).flatten(2))
        return mixed


class SmallViT(nn.Module):
    """A vision transformer on patches of 4 x 4 pixels, which classifies by its CLS token."""

    def __init__(self, n_classes: int, image_size: int) -> None:
        super().__init__()
        if image_size % PATCH:
            raise ValueError(f"hyper['image_size'] must be a multiple of {PATCH} for ViT, got {image_size}")
        n_tokens = (image_size // PATCH) ** 2 + 1
        self.patches = nn.Conv2d(3, N_TOKEN_FEATURES, kernel_size=PATCH, stride=PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, N_TOKEN_FEATURES))
        self.positions = nn.Parameter(0.02 * torch.randn(1, n_tokens, N_TOKEN_FEATURES))
        self.blocks = nn.Sequential(*(TokenBlock() for _ in range(N_TOKEN_BLOCKS)))
        self.norm = nn.LayerNorm(N_TOKEN_FEATURES)
        self.head = nn.Linear(N_TOKEN_FEATURES, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images (n, 3, image_size, image_size) to logits (n, n_classes)."""
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(images), -1, -1), patches], dim=1) + self.positions
        logits: Tensor = self.head(self.norm(self.blocks(tokens)[:, 0]))
        return logits


SMALL_IMAGE = 64
"""Largest image side, in pixels, for which the first layer of a ResNet keeps the full resolution."""
CHECKPOINTS = {
    "ViT B32": ("google/vit-base-patch32-224-in21k", (768, 12, 12)),
    "ViT L32": ("google/vit-large-patch32-224-in21k", (1024, 24, 16)),
}
"""For each ViT, the name of its pretrained weights, and its width, number of layers and number of attention heads."""


def resnet(depth: int, n_classes: int, image_size: int) -> nn.Module:
    """Build a ResNet; for small images, its stem is a 3 x 3 convolution without stride or pooling."""
    body: Any = getattr(require("torchvision.models", "vision"), f"resnet{depth}")(weights=None, num_classes=n_classes)
    if image_size <= SMALL_IMAGE:
        body.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
        nn.init.kaiming_normal_(body.conv1.weight, mode="fan_out", nonlinearity="relu")
        body.maxpool = nn.Identity()
    network: nn.Module = body
    return network


def vgg(depth: int, n_classes: int) -> nn.Module:
    """Build a VGG with batch normalisation, whose classifier is a single linear layer on global averages."""
    models = require("torchvision.models", "vision")
    # Build without memory, because the replaced classifier has ten times as many weights as all other layers.
    with torch.device("meta"):
        body: Any = getattr(models, f"vgg{depth}_bn")(weights=None, init_weights=False)
        body.avgpool = nn.AdaptiveAvgPool2d(1)
        body.classifier = nn.Linear(512, n_classes)
    network: nn.Module = body.to_empty(device="cpu")
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.BatchNorm2d | nn.Linear):
            layer.reset_parameters()
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return network


class ViT(nn.Module):
    """A vision transformer from the transformers library that returns logits."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body: Any = body

    def forward(self, images: Tensor) -> Tensor:
        """Map normalised images (n, 3, image_size, image_size) to logits (n, n_classes)."""
        logits: Tensor = self.body(pixel_values=images).logits
        return logits

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the transformer blocks, whose location depends on the version of transformers."""
        layers = "layers" if hasattr(self.body.vit, "layers") else "encoder.layer"
        return tuple(f"body.vit.{layers}.{number}" for number in range(self.body.config.num_hidden_layers))


def vit(architecture: str, n_classes: int, image_size: int, *, pretrained: bool, reduced: bool) -> ViT:
    """Build a ViT: with an encoder pretrained on ImageNet-21k, with random weights, or tiny and random."""
    transformers = require("transformers", "hf")
    checkpoint, (width, n_layers, n_heads) = CHECKPOINTS[architecture]
    if reduced:
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8}
    else:
        sizes = {
            "hidden_size": width,
            "num_hidden_layers": n_layers,
            "num_attention_heads": n_heads,
            "patch_size": 32,
        }
    config = transformers.ViTConfig(
        image_size=image_size, num_labels=n_classes, intermediate_size=4 * sizes["hidden_size"], **sizes
    )
    if reduced or not pretrained:
        return ViT(transformers.ViTForImageClassification(config))
    folder = checkpoint.split("/")[1]
    try:
        body = transformers.ViTForImageClassification.from_pretrained(
            local_folder(folder) or checkpoint, config=config, use_safetensors=True
        )
    except OSError as error:
        raise missing_data_error(f"{architecture} ({checkpoint})", folder, "https://huggingface.co", error) from error
    return ViT(body)


def small_resnet_parts(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small ResNet."""
    return _small_parts(small_resnet(n_classes))


def small_vgg_parts(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small VGG."""
    return _small_parts(small_vgg(n_classes))


def small_vit_parts(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
    """Build the small vision transformer."""
    return _small_parts(SmallViT(n_classes, hyper.image_size))


def _small_parts(body: ConvolutionalNet | SmallViT) -> Parts:
    places = (number for number, block in enumerate(body.blocks) if not isinstance(block, nn.MaxPool2d))
    return Parts(body, tuple(f"blocks.{number}" for number in places), "head")


def resnet_parts(n_classes: int, hyper: Hyper, pretrained: bool, depth: int) -> Parts:
    """Build a ResNet with the given depth."""
    body = resnet(depth, n_classes, hyper.image_size)
    stages = (f"layer{number}" for number in range(1, 5))
    blocks = (f"{stage}.{name}" for stage in stages for name, _ in body.get_submodule(stage).named_children())
    return Parts(body, tuple(blocks), "fc")


def vgg_parts(n_classes: int, hyper: Hyper, pretrained: bool, depth: int) -> Parts:
    """Build a VGG with the given depth."""
    body = vgg(depth, n_classes)
    layers = body.get_submodule("features").named_children()
    return Parts(body, tuple(f"features.{name}" for name, layer in layers if isinstance(layer, nn.ReLU)), "classifier")


def vit_parts(n_classes: int, hyper: Hyper, pretrained: bool, name: str) -> Parts:
    """Build a vision transformer, given the name of its pretrained version."""
    body = vit(name, n_classes, hyper.image_size, pretrained=pretrained, reduced=hyper.reduced)
    return Parts(body, body.blocks, "body.classifier")


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
    """Build a network with random or pretrained weights."""
    declared = CATALOGUE.network(architecture)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        parts = declared.build(n_classes, hyper, pretrained)
    network = Classifier(parts, hyper.image_size, tokens=declared.tokens)
    return network if declared.tokens else network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
