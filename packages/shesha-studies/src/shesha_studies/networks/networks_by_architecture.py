"""Networks of five architectures for colour images, with their representations after every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Matrix
from shesha_studies.networks.images import in_colour
from shesha_studies.networks.training_loop import descend, run_epoch, seed_torch

ARCHITECTURES = ("dense", "plain", "wide", "residual", "transformer")
EPOCHS = 4
N_TRAIN, BATCH = 3000, 50
_WIDTH = {"dense": 256, "plain": 128, "wide": 384, "residual": 192, "transformer": 96}
_RATE = {"dense": 1e-3, "plain": 2e-3, "wide": 1e-3, "residual": 2e-3, "transformer": 1e-3}


@dataclass(frozen=True)
class Checkpoint:
    """The last hidden layer of a network on held-out images, after some epochs of training."""

    epoch: int
    features: Matrix
    accuracy: float


@cache
def trained(data: str, architecture: str, seed: int, n_test: int = 2000) -> tuple[Checkpoint, ...]:
    """Train a network, and return its state before training and after every epoch."""
    pixels, labels, held_out, answers = in_colour(data)
    with seed_torch(seed) as torch:
        body = _body(torch.nn, architecture, pixels.shape[1:])
        head = torch.nn.Linear(_WIDTH[architecture], 10)
        optimiser = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=_RATE[architecture])

        def loss(rows: NDArray[np.intp]) -> Any:
            logits = head(body(torch.from_numpy(pixels[rows])))
            return torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels[rows]))

        rng = np.random.default_rng(seed)
        checkpoints = [_attend(0, body, head, held_out[:n_test], answers[:n_test])]
        for epoch in range(1, EPOCHS + 1):
            descend(optimiser, rng.permutation(len(pixels))[:N_TRAIN].reshape(-1, BATCH), loss)
            checkpoints.append(_attend(epoch, body, head, held_out[:n_test], answers[:n_test]))
    return tuple(checkpoints)


def _attend(epoch: int, body: Any, head: Any, pixels: NDArray[Any], labels: NDArray[Any]) -> Checkpoint:
    body.eval()
    features = run_epoch(body, pixels)
    accuracy = float((run_epoch(head, features).argmax(1) == labels).mean())
    body.train()
    return Checkpoint(epoch, features.astype(np.float64), accuracy)


def _body(nn: Any, architecture: str, shape: tuple[int, ...]) -> Any:
    """Layers up to the last hidden one."""
    channels, size, width = shape[0], shape[1], _WIDTH[architecture]
    if architecture == "dense":
        first = nn.Linear(channels * size * size, width)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(width, width), nn.ReLU())
    if architecture == "transformer":
        return _transformer(nn, channels, size // 4, width)
    step = {"stride": 2, "padding": 1}
    layers = [nn.Conv2d(channels, 32, 3, **step), nn.ReLU(), nn.Conv2d(32, 64, 3, **step), nn.ReLU()]
    layers += [_residual(nn, 64), _residual(nn, 64)] if architecture == "residual" else []
    layers += [nn.Conv2d(64, width, 3, **step), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers)


def _residual(nn: Any, width: int) -> Any:
    """A block whose input is added to its output."""

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(x + self.inner(x))

    return Block()


def _transformer(nn: Any, channels: int, n_side: int, width: int) -> Any:
    """Build a transformer: patches of 4 x 4 pixels, two layers of attention, and the mean over patches."""
    from torch import randn

    class Patches(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cut = nn.Conv2d(channels, width, 4, stride=4)
            self.place = nn.Parameter(0.02 * randn(1, n_side * n_side, width))
            layer = nn.TransformerEncoderLayer(
                width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width), enable_nested_tensor=False)

        def forward(self, x: Any) -> Any:
            return self.layers(self.cut(x).flatten(2).transpose(1, 2) + self.place).mean(1)

    return Patches()
