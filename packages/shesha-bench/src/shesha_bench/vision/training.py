"""Train an image classifier from its seed."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from shesha_bench.device import device
from shesha_bench.model_descriptions import Model, Weights
from shesha_bench.vision.altered_data import Dots, add_noise, draw_dots, randomise_labels
from shesha_bench.vision.batches import batches
from shesha_bench.vision.data import Dataset
from shesha_bench.vision.hyperparameters import Hyper
from shesha_bench.vision.images import Images
from shesha_bench.vision.networks import Classifier, build

STATISTICS_BATCH = 500


def train(model: Model, hyper: Hyper, data: Dataset) -> Weights:
    """Train a model and return its state dict on the CPU."""
    network = build(model.architecture, data.n_classes, hyper, seed=model.seed, pretrained=True)
    mean, sd = channel_statistics(data.train)
    network.mean.copy_(torch.from_numpy(mean))
    network.sd.copy_(torch.from_numpy(sd))
    network.to(device()).train()
    with torch.backends.cudnn.flags(deterministic=True, benchmark=False):
        _Training(model, hyper, data, network).run()
    return {name: weight.detach().cpu().contiguous() for name, weight in network.state_dict().items()}


def channel_statistics(images: Images) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and standard deviation of each channel, for values scaled to 0 to 1."""
    totals, squares, n_pixels = np.zeros(3), np.zeros(3), 0
    n_images = len(images.labels)
    for rows in np.array_split(np.arange(n_images), -(-n_images // STATISTICS_BATCH)):
        pixels = images.take(rows).reshape(-1, 3) / 255
        totals += pixels.sum(axis=0)
        squares += (pixels**2).sum(axis=0)
        n_pixels += len(pixels)
    mean = totals / n_pixels
    variance = squares / n_pixels - mean**2
    # Constant channels are not scaled; their variance may differ from zero by rounding.
    return mean, np.sqrt(np.where(variance > 1e-9, variance, 1.0))


def learning_rate(step: int, n_steps: int, hyper: Hyper) -> float:
    """Return the learning rate at a step: a linear warm-up, followed by a cosine decay to zero."""
    n_warm = int(hyper.warmup * n_steps)
    if step < n_warm:
        return hyper.learning_rate * (step + 1) / n_warm
    return hyper.learning_rate * (1 + math.cos(math.pi * (step - n_warm) / (n_steps - n_warm))) / 2


class _Training:
    """The state of one training: model, data, network, optimiser and random generators."""

    def __init__(self, model: Model, hyper: Hyper, data: Dataset, network: Classifier) -> None:
        self.model, self.hyper, self.data, self.network = model, hyper, data, network
        # With one random stream per use, all settings have the same order of images.
        streams = [np.random.default_rng([model.seed, use]) for use in range(4)]
        self.order_rng, self.crop_rng, self.dot_rng, label_rng = streams
        self.noise = torch.Generator(device()).manual_seed(model.seed)
        degree = model.setting.degree if model.setting.kind == "labels" else 0.0
        self.labels = torch.from_numpy(randomise_labels(data.train.labels, degree, data.n_classes, label_rng))
        self.optimiser = _optimiser(network, hyper)
        self.n_steps = hyper.epochs * -(-len(self.labels) // hyper.batch_size)

    def run(self) -> None:
        """Train for all epochs; raise ArithmeticError if the loss is not finite."""
        step = 0
        for epoch in range(self.hyper.epochs):
            loss = torch.zeros(())
            order = self.order_rng.permutation(len(self.labels))
            shown = batches(
                self.data.train, order, self.hyper.batch_size, device(), rng=self.crop_rng, dots=self._dots()
            )
            for rows, images in shown:
                for group in self.optimiser.param_groups:
                    group["lr"] = learning_rate(step, self.n_steps, self.hyper)
                loss = self._step(images, self.labels[rows].to(device()))
                step += 1
            if not loss.isfinite():
                raise ArithmeticError(f"the training of {self.model} diverged in epoch {epoch + 1}")

    def _step(self, images: Tensor, labels: Tensor) -> Tensor:
        if self.model.setting.kind == "augmentation":
            images = add_noise(images, self.model.setting.degree, self.noise)
        loss = cross_entropy(self.network(images), labels)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return loss.detach()

    def _dots(self) -> Dots | None:
        if self.model.setting.kind != "shortcut":
            return None
        images, degree = self.data.train, self.model.setting.degree
        return draw_dots(images.labels, degree, self.data.n_classes, images.side, self.hyper.dot, self.dot_rng)


def _optimiser(network: Classifier, hyper: Hyper) -> torch.optim.Optimizer:
    if hyper.optimiser == "sgd":
        return torch.optim.SGD(
            network.parameters(), lr=hyper.learning_rate, momentum=0.9, weight_decay=hyper.weight_decay
        )
    return torch.optim.AdamW(network.parameters(), lr=hyper.learning_rate, weight_decay=hyper.weight_decay, fused=True)
