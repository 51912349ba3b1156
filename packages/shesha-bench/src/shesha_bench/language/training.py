"""Train a model from its description."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shesha.support.progress import track
from shesha.support.seeds import spawn
from shesha_bench.device import device
from shesha_bench.language import altered_data
from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data import load
from shesha_bench.language.data_and_network_types import Texts
from shesha_bench.language.determinism import deterministic
from shesha_bench.language.extraction import accuracy, test_lesson
from shesha_bench.language.hyperparameters import Hyper
from shesha_bench.language.model_building import Builder
from shesha_bench.language.tokens import Rows
from shesha_bench.model_descriptions import Model, Weights

if TYPE_CHECKING:
    from shesha_bench.language.encoder_and_decoder import Decoder, Encoder

_ORDER = 100
_POOL = 50
"""Number of batches that are filled at a time, each with rows of similar length, to save padding."""
_LARGEST_GRADIENT = 1.0


def fit(model: Model) -> Weights:
    """Train a model and return its weights.

    Parameters
    ----------
    model : Model
        A model of the domain "language". On the same machine and with the same number of threads, the same model gives
        bit-identical weights.

    Returns
    -------
    dict
        The state dict of the transformer and its classifier, on the CPU.

    Raises
    ------
    MissingDataError
        If texts or pretrained weights are neither in the local folder nor available from their source.
    ValueError
        If the domain has no such data set, architecture, setting or hyperparameter.
    """
    hyper = CATALOGUE.build(model)
    train, test = load(model.dataset, hyper)
    with deterministic(model.seed):
        builder = Builder.build(model, hyper, train)
        lesson = altered_data.make_lesson(train, model.setting, model.seed, builder.n_classes)
        network = builder.network(pretrained=True).to(device())
        run = _Run(network, builder.rows(lesson), lesson.targets, model)
        if hyper.evaluate_every is None or model.setting.kind == "labels":
            # Randomised labels are unrelated to the texts, so test accuracy cannot select the best weights.
            run.train()
            return run.weights()
        return run.train_keeping_best(_scorer(builder, train, test, network), hyper.evaluate_every)


def _scorer(builder: Builder, train: Texts, test: Texts, network: Encoder | Decoder) -> Callable[[], float]:
    lesson = test_lesson(builder, train, test)
    rows = builder.rows(lesson)
    return lambda: accuracy(network, rows, lesson.targets)


class _Run:
    """The training loop of one model."""

    def __init__(self, network: Encoder | Decoder, rows: Rows, targets: NDArray[np.int64], model: Model) -> None:
        import torch

        self.network, self.rows, self.targets, self.label = network, rows, targets, str(model)
        self.hyper = CATALOGUE.build(model)
        self.rng = spawn(model.seed, _ORDER)
        self.n_steps = n_steps(self.hyper, len(targets))
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=self.hyper.learning_rate, weight_decay=self.hyper.weight_decay, fused=True
        )

    def train(self) -> None:
        """Run all steps."""
        for _ in self.steps():
            pass

    def train_keeping_best(self, score: Callable[[], float], every: int) -> Weights:
        """Run all steps, and return the weights with the best score, or the earliest of several."""
        best, weights = -math.inf, self.weights()
        for step in self.steps():
            if step % every == 0 or step == self.n_steps:
                current = score()
                if current > best:
                    best, weights = current, self.weights()
        return weights

    def steps(self) -> Iterator[int]:
        """Run the steps one after another, and yield the number of each, counted from one."""
        import torch

        order = batches(self.rows.lengths(), self.hyper.batch_size, self.n_steps, self.rng)
        for step, chosen in enumerate(track(order, self.n_steps, f"training {self.label}")):
            for group in self.optimizer.param_groups:
                group["lr"] = self.hyper.learning_rate * rate(step, self.n_steps, self.hyper)
            self.network.train()
            place = next(self.network.parameters()).device
            targets = torch.from_numpy(self.targets[chosen]).to(place)
            self.network.loss(self.rows.batch(chosen, place), targets).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), _LARGEST_GRADIENT)
            self.optimizer.step()
            self.optimizer.zero_grad()
            yield step + 1

    def weights(self) -> Weights:
        """Return a copy of the state dict on the CPU."""
        return {name: value.detach().to("cpu", copy=True) for name, value in self.network.state_dict().items()}


def n_steps(hyper: Hyper, n_rows: int) -> int:
    """Return the number of weight updates in a training."""
    return hyper.steps or hyper.epochs * math.ceil(n_rows / hyper.batch_size)


def rate(step: int, total: int, hyper: Hyper) -> float:
    """Return the learning rate at a step, counted from zero, as a share of the highest."""
    rising = math.ceil(hyper.warmup * total)
    if step < rising:
        return (step + 1) / rising
    done = (step - rising) / max(1, total - rising)
    return 1 - done if hyper.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2


def batches(
    lengths: NDArray[np.int64], size: int, n_batches: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of row numbers in random order, all rows once per pass, similar lengths together."""
    count = 0
    while count < n_batches:
        order = rng.permutation(len(lengths))
        for start in range(0, len(order), size * _POOL):
            pool = order[start : start + size * _POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            groups = [pool[first : first + size] for first in range(0, len(pool), size)]
            for group in rng.permutation(len(groups))[: n_batches - count]:
                yield groups[group]
                count += 1
