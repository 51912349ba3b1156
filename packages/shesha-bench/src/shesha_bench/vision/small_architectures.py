"""Three small image classifiers that can be trained on one core: a ResNet, a VGG and a ViT."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

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
