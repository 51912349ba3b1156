"""Small image networks of several objectives and shapes, trained in seconds on Fashion-MNIST or CIFAR-10."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha._types import Matrix
from shesha.studies._files import opened
from shesha.studies._study import Unreachable

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

OBJECTIVES = ("supervised", "contrastive", "autoencoder", "rotation", "untrained")
SHAPES = ("hierarchical", "columnar")
IMAGES = ("clothes", "photographs")
"""Fashion-MNIST and CIFAR-10, both as 28 x 28 grey images, so that any network takes either."""
_SIDE, _N_TRAIN, _BATCH = 28, 2000, 50
_EPOCHS, _RATE, _TEMPERATURE = 2, 3e-3, 0.2
_N_CLASSES = 10
Pictures = NDArray[np.float32]


@cache
def images(name: str, part: str = "test") -> tuple[Pictures, NDArray[np.int64]]:
    """Grey images (n, 1, 28, 28) of mean 0 and variance 1, and their classes."""
    folder = {"clothes": "fashion_mnist", "photographs": "cifar10"}[name]
    file = opened(folder, f"{folder}_subset.npz")
    X, y = file[f"x_{part}"], file[f"y_{part}"]
    if X.ndim == 4:
        # The weights of luminance; two pixels less at every edge.
        X = (X @ np.array([0.299, 0.587, 0.114]))[:, 2:-2, 2:-2]
    X = X[:, None].astype(np.float32)
    return (X - X.mean()) / X.std(), y.astype(np.int64)


class Network:
    """A trained body, and its classifier if it was trained on classes."""

    def __init__(self, body: nn.Module, head: nn.Module | None) -> None:
        self.body, self.head = body, head

    def features(self, X: Pictures) -> Matrix:
        """Penultimate features, rows x width."""
        return np.asarray(self._through(self.body, X), dtype=np.float64)

    def probabilities(self, X: Pictures) -> Matrix | None:
        """Of the classes that it was trained on; None without a classifier."""
        if self.head is None:
            return None
        head = self.head
        logits = np.asarray(self._through(lambda part: head(self.body(part)), X), dtype=np.float64)
        exponential = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(exponential / exponential.sum(axis=1, keepdims=True))

    def _through(self, function: Callable[[Tensor], Tensor], X: Pictures) -> NDArray[Any]:
        import torch

        self.body.eval()
        with torch.no_grad():
            parts = [function(part).numpy() for part in torch.split(torch.from_numpy(X), 500)]
        return np.concatenate(parts)


@cache
def trained(source: str, objective: str, shape: str, width: int, seed: int) -> Network:
    """Train a network on 2,000 images, or leave it as it was made ("untrained"), in one thread.

    Raises
    ------
    Unreachable
        If torch or the images are not there.
    """
    try:
        import torch
    except ImportError as error:
        raise Unreachable("torch is not installed: pip install torch") from error
    X, y = (part[:_N_TRAIN] for part in images(source, "train"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            body = _body(shape, width)
            extra, loss = _LOSSES[objective](width)
            if extra is not None:
                _train(body, extra, loss, torch.from_numpy(X), torch.from_numpy(y))
    finally:
        torch.set_num_threads(threads)
    return Network(body, extra if objective == "supervised" else None)


def _body(shape: str, width: int) -> nn.Module:
    """Three convolutions that halve the map each, or four at one resolution after a cut into patches; then the mean."""
    from torch import nn

    def layer(n_in: int, n_out: int, size: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False), nn.BatchNorm2d(n_out), nn.ReLU()]

    if shape == "hierarchical":
        layers = [*layer(1, 16, 3, 2), *layer(16, 32, 3, 2), *layer(32, width, 3, 2)]
    else:
        patches = [nn.Conv2d(1, 32, 4, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
        layers = [*patches, *layer(32, 32, 3, 1), *layer(32, 32, 3, 1), *layer(32, width, 1, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _train(
    body: nn.Module,
    extra: nn.Module,
    loss: Callable[[nn.Module, nn.Module, Tensor, Tensor], Tensor],
    X: torch.Tensor,
    y: torch.Tensor,
) -> None:
    import torch

    body.train()
    steps = _EPOCHS * (len(X) // _BATCH)
    optimiser = torch.optim.Adam([*body.parameters(), *extra.parameters()], lr=_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps)
    for _ in range(_EPOCHS):
        for rows in torch.split(torch.randperm(len(X)), _BATCH):
            optimiser.zero_grad()
            torch.autograd.backward(loss(body, extra, X[rows], y[rows]))
            optimiser.step()
            schedule.step()
    body.eval()


def _supervised(width: int) -> tuple[nn.Module, Any]:
    from torch.nn import Linear
    from torch.nn.functional import cross_entropy

    return Linear(width, _N_CLASSES), lambda body, head, X, y: cross_entropy(head(body(X)), y)


def _autoencoder(width: int) -> tuple[nn.Module, Any]:
    from torch import nn
    from torch.nn.functional import mse_loss

    decoder = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, _SIDE * _SIDE))
    return decoder, lambda body, decode, X, _: mse_loss(decode(body(X)), X.flatten(1))


def _rotation(width: int) -> tuple[nn.Module, Any]:
    """Which way was the image turned?"""
    import torch
    from torch.nn import Linear
    from torch.nn.functional import cross_entropy

    def loss(body: nn.Module, head: nn.Module, X: Tensor, _: Tensor) -> Tensor:
        turns = torch.randint(4, (len(X),))
        turned = torch.stack([torch.rot90(one, int(k), (1, 2)) for one, k in zip(X, turns, strict=True)])
        return cross_entropy(head(body(turned)), turns)

    return Linear(width, 4), loss


def _contrastive(width: int) -> tuple[nn.Module, Any]:
    """Two views of an image are nearer to each other than to views of other images of the batch."""
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy, normalize

    def loss(body: nn.Module, project: nn.Module, X: Tensor, _: Tensor) -> Tensor:
        first, second = (normalize(project(body(_view(X))), dim=1) for _ in range(2))
        alike = first @ second.T / _TEMPERATURE
        own = torch.arange(len(X))
        return (cross_entropy(alike, own) + cross_entropy(alike.T, own)) / 2

    return nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 64)), loss


def _view(X: Tensor) -> Tensor:
    """Shift and mirror each image, change its contrast and add noise."""
    import torch

    padded = torch.nn.functional.pad(X, (4, 4, 4, 4), mode="reflect")
    down, right = torch.randint(9, (2,)).tolist()
    X = padded[:, :, down : down + _SIDE, right : right + _SIDE]
    mirrored = torch.rand(len(X), 1, 1, 1) < 0.5
    contrast = 0.6 + 0.8 * torch.rand(len(X), 1, 1, 1)
    return torch.where(mirrored, X.flip(3), X) * contrast + 0.1 * torch.randn_like(X)


_LOSSES: dict[str, Callable[[int], tuple[nn.Module | None, Any]]] = {
    "supervised": _supervised,
    "contrastive": _contrastive,
    "autoencoder": _autoencoder,
    "rotation": _rotation,
    "untrained": lambda _: (None, None),
}
