"""Networks of five architectures for colour images, with their representations after every epoch."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Matrix
from shesha_studies.networks.images import in_colour
from shesha_studies.networks.training_loop import descend, run_epoch, seed_torch

ARCHITECTURES = ("dense", "plain", "wide", "residual", "transformer")
EPOCHS = 4
N_TRAIN, BATCH, N_TEST = 3000, 50, 2000
_WIDTH = {"dense": 256, "plain": 128, "wide": 384, "residual": 192, "transformer": 96}
_RATE = {"dense": 1e-3, "plain": 2e-3, "wide": 1e-3, "residual": 2e-3, "transformer": 1e-3}


@cache
def train_network(data: str, architecture: str, seed: int) -> tuple[Matrix, ...]:
    """Train a network, and return its last hidden layer on held-out images before training and after every epoch."""
    pixels, labels, held_out, _ = in_colour(data)
    with seed_torch(seed) as torch:
        body = _body(torch.nn, architecture, pixels.shape[1:])
        head = torch.nn.Linear(_WIDTH[architecture], 10)
        optimiser = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=_RATE[architecture])

        def loss(rows: NDArray[np.intp]) -> Any:
            logits = head(body(torch.from_numpy(pixels[rows])))
            return torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels[rows]))

        rng = np.random.default_rng(seed)
        features = [run_epoch(body.eval(), held_out[:N_TEST])]
        for _ in range(EPOCHS):
            body.train()
            descend(optimiser, rng.permutation(len(pixels))[:N_TRAIN].reshape(-1, BATCH), loss)
            features.append(run_epoch(body.eval(), held_out[:N_TEST]))
    return tuple(features)


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
