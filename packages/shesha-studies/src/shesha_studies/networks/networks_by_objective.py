"""Networks with several objectives and architectures, for grey images of one size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from shesha.support.types import Matrix
from shesha_studies.networks.images import Pictures, grey
from shesha_studies.networks.training_loop import descend, run_epoch, seed_torch

if TYPE_CHECKING:
    from torch import Tensor, nn

SHAPES = ("hierarchical", "columnar")
IMAGES = ("clothes", "photographs")
"""Names of the sets of images: Fashion-MNIST and CIFAR-10."""
_SIDE, _N_TRAIN, _BATCH = 28, 2000, 50
_EPOCHS, _RATE, _TEMPERATURE = 2, 3e-3, 0.2


@dataclass(frozen=True)
class Network:
    """A trained body, and its classifier if it was trained on classes."""

    body: nn.Module
    head: nn.Module | None

    def features(self, X: Pictures) -> Matrix:
        """Return penultimate features, of shape (n_rows, width)."""
        return run_epoch(self.body.eval(), X)

    def probabilities(self, X: Pictures) -> Matrix | None:
        """Return the probabilities of the training classes; None without a classifier."""
        from torch.nn import Sequential

        if self.head is None:
            return None
        return np.asarray(softmax(run_epoch(Sequential(self.body, self.head).eval(), X), axis=1))


@cache
def train_network(source: str, objective: str, shape: str, width: int, seed: int) -> Network:
    """Train a network on 2,000 images in one thread, or return it with random weights ("untrained")."""
    images, labels = (part[:_N_TRAIN] for part in grey(source, "train"))
    loss, sizes = _LOSSES[objective]
    with seed_torch(seed) as torch:
        body, head = _body(shape, width), _head(width, *sizes)
        if loss is not None:
            X, y = torch.from_numpy(images), torch.from_numpy(labels)
            optimiser = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=_RATE)
            steps = _EPOCHS * (len(X) // _BATCH)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps)
            batches = (rows for _ in range(_EPOCHS) for rows in torch.split(torch.randperm(len(X)), _BATCH))
            descend(optimiser, batches, lambda rows: loss(body, head, X[rows], y[rows]), schedule)
    return Network(body, head if objective == "supervised" else None)


def _body(shape: str, width: int) -> nn.Module:
    """Build three convolutions that each halve the map, or four at one resolution after patching, and a mean."""
    from torch import nn

    def layer(n_in: int, n_out: int, size: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False), nn.BatchNorm2d(n_out), nn.ReLU()]

    if shape == "hierarchical":
        layers = [*layer(1, 16, 3, 2), *layer(16, 32, 3, 2), *layer(32, width, 3, 2)]
    else:
        patches = [nn.Conv2d(1, 32, 4, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
        layers = [*patches, *layer(32, 32, 3, 1), *layer(32, 32, 3, 1), *layer(32, width, 1, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _head(width: int, *sizes: int) -> nn.Module:
    """Build the layers of these sizes after the body, with rectified units between them."""
    from torch import nn

    layers = [layer for pair in pairwise((width, *sizes)) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def _supervised(body: nn.Module, classify: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    from torch.nn.functional import cross_entropy

    return cross_entropy(classify(body(X)), y)


def _autoencoder(body: nn.Module, decode: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    from torch.nn.functional import mse_loss

    return mse_loss(decode(body(X)), X.flatten(1))


def _rotation(body: nn.Module, classify: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    """Return the loss of predicting the angle by which each image was rotated."""
    import torch

    turns = torch.randint(4, (len(X),))
    turned = torch.stack([torch.rot90(image, int(k), (1, 2)) for image, k in zip(X, turns, strict=True)])
    return torch.nn.functional.cross_entropy(classify(body(turned)), turns)


def _contrastive(body: nn.Module, project: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    """Return the contrastive loss: views of one image should be closer than those of different images."""
    import torch
    from torch.nn.functional import cross_entropy, normalize

    first, second = (normalize(project(body(_view(X))), dim=1) for _ in range(2))
    similarities = first @ second.T / _TEMPERATURE
    targets = torch.arange(len(X))
    return (cross_entropy(similarities, targets) + cross_entropy(similarities.T, targets)) / 2


def _view(X: Tensor) -> Tensor:
    """Return a random view of each image: shifted, mirrored, with changed contrast and noise."""
    import torch

    padded = torch.nn.functional.pad(X, (4, 4, 4, 4), mode="reflect")
    down, right = torch.randint(9, (2,)).tolist()
    X = padded[:, :, down : down + _SIDE, right : right + _SIDE]
    mirrored = torch.rand(len(X), 1, 1, 1) < 0.5
    contrast = 0.6 + 0.8 * torch.rand(len(X), 1, 1, 1)
    return torch.where(mirrored, X.flip(3), X) * contrast + 0.1 * torch.randn_like(X)


_LOSSES: dict[str, tuple[Callable[[nn.Module, nn.Module, Tensor, Tensor], Tensor] | None, tuple[int, ...]]] = {
    "supervised": (_supervised, (10,)),
    "contrastive": (_contrastive, (128, 64)),
    "autoencoder": (_autoencoder, (256, _SIDE * _SIDE)),
    "rotation": (_rotation, (4,)),
    "untrained": (None, ()),
}
"""Losses, and the sizes of the layers after the body that they need."""
OBJECTIVES = tuple(_LOSSES)
