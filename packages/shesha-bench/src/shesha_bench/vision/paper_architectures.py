"""The architectures of the paper: ResNets and VGGs from torchvision, and ViTs from transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from shesha.support.optional import require
from shesha_bench.data_folders import local_folder, missing_data_error

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
