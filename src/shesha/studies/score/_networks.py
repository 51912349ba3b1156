"""Small image networks, trained here: what stands in for published models whose weights are not at hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha._types import Matrix
from shesha.studies._files import opened
from shesha.studies._study import Unreachable

ARCHITECTURES = ("dense", "plain", "wide", "residual", "transformer")
IMAGES = ("Fashion-MNIST", "CIFAR-10")
EPOCHS = 4
N_TRAIN, BATCH = 3000, 50
_FILES = {
    "Fashion-MNIST": ("fashion_mnist", "fashion_mnist_subset.npz"),
    "CIFAR-10": ("cifar10", "cifar10_subset.npz"),
}
_WIDTH = {"dense": 256, "plain": 128, "wide": 384, "residual": 192, "transformer": 96}
_RATE = {"dense": 1e-3, "plain": 2e-3, "wide": 1e-3, "residual": 2e-3, "transformer": 1e-3}


@dataclass(frozen=True)
class Checkpoint:
    """A network at one time of its training: its last hidden layer on held-out images."""

    epoch: int
    features: Matrix
    accuracy: float


@cache
def images(name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Training images and labels, held-out images and labels; images have channels first and unit variance."""
    arrays = opened(*_FILES[name])
    found = []
    for part in ("train", "test"):
        pixels = arrays[f"x_{part}"].astype(np.float32) / 255
        pixels = pixels[:, None] if pixels.ndim == 3 else pixels.transpose(0, 3, 1, 2)
        found += [pixels, arrays[f"y_{part}"].astype(np.int64)]
    mean, sd = found[0].mean(), found[0].std()
    return (found[0] - mean) / sd, found[1], (found[2] - mean) / sd, found[3]


@cache
def trained(data: str, architecture: str, seed: int, n_test: int = 2000) -> tuple[Checkpoint, ...]:
    """Train a network, and return it before training and after every epoch.

    One thread computes, so that the same machine gives the same numbers whatever else it does.
    """
    torch = _torch()
    pixels, labels, held_out, answers = images(data)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(seed)
        body = _body(architecture, pixels.shape[1:])
        head = torch.nn.Linear(_WIDTH[architecture], 10)
        optimiser = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=_RATE[architecture])
        rng = np.random.default_rng(seed)
        found = [_looked(0, body, head, held_out[:n_test], answers[:n_test])]
        for epoch in range(1, EPOCHS + 1):
            for rows in rng.permutation(len(pixels))[:N_TRAIN].reshape(-1, BATCH):
                optimiser.zero_grad()
                told = head(body(torch.from_numpy(pixels[rows])))
                torch.nn.functional.cross_entropy(told, torch.from_numpy(labels[rows])).backward()
                optimiser.step()
            found.append(_looked(epoch, body, head, held_out[:n_test], answers[:n_test]))
    finally:
        torch.set_num_threads(before)
    return tuple(found)


def _looked(epoch: int, body: Any, head: Any, pixels: NDArray[Any], labels: NDArray[Any]) -> Checkpoint:
    torch = _torch()
    body.eval()
    with torch.no_grad():
        parts = [body(torch.from_numpy(pixels[at : at + 500])) for at in range(0, len(pixels), 500)]
        features = torch.cat(parts)
        accuracy = float((head(features).argmax(1).numpy() == labels).mean())
    body.train()
    return Checkpoint(epoch, features.numpy().astype(np.float64), accuracy)


def _body(architecture: str, shape: tuple[int, ...]) -> Any:
    """Layers up to the last hidden one."""
    nn = _torch().nn
    channels, size, width = shape[0], shape[1], _WIDTH[architecture]
    if architecture == "dense":
        first = nn.Linear(channels * size * size, width)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(width, width), nn.ReLU())
    if architecture == "transformer":
        return _Transformer(channels, size // 4, width)
    step = {"stride": 2, "padding": 1}
    layers = [nn.Conv2d(channels, 32, 3, **step), nn.ReLU(), nn.Conv2d(32, 64, 3, **step), nn.ReLU()]
    layers += [_Residual(64), _Residual(64)] if architecture == "residual" else []
    layers += [nn.Conv2d(64, width, 3, **step), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers)


def _Residual(width: int) -> Any:
    """A block whose input is added to its output."""
    nn = _torch().nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(x + self.inner(x))

    return Block()


def _Transformer(channels: int, n_side: int, width: int) -> Any:
    """Patches of 4 x 4 pixels, two layers of attention, mean over patches after a layer norm."""
    torch = _torch()
    nn = torch.nn

    class Patches(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cut = nn.Conv2d(channels, width, 4, stride=4)
            self.place = nn.Parameter(0.02 * torch.randn(1, n_side * n_side, width))
            layer = nn.TransformerEncoderLayer(
                width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width), enable_nested_tensor=False)

        def forward(self, x: Any) -> Any:
            return self.layers(self.cut(x).flatten(2).transpose(1, 2) + self.place).mean(1)

    return Patches()


@cache
def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise Unreachable("torch is not installed, which trains the networks: pip install torch") from None
    return torch
