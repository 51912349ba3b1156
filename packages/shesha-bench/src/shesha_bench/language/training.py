"""Train classifiers of texts from their seeds, and extract their representations."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shesha.extract.pretrained import quiet
from shesha.support.optional import require
from shesha.support.progress import track
from shesha.support.seeds import spawn
from shesha_bench.catalogue import Model, Outcome, Weights
from shesha_bench.domains import device
from shesha_bench.language import texts
from shesha_bench.language.catalogue import CATALOGUE, Hyper, Texts
from shesha_bench.language.models import Batch, Builder, Rows
from shesha_bench.language.texts import Lesson, fingerprint, load

__all__ = ["extract", "fingerprint", "fit"]

if TYPE_CHECKING:
    from torch import Tensor

    from shesha_bench.language.models import Decoder, Encoder


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Compute from a seed and in a fixed order; afterwards, restore torch's random state and settings."""
    torch = require("torch", "torch")
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=range(torch.cuda.device_count())))
        torch.manual_seed(seed)
        if torch.cuda.is_available():
            stack.enter_context(_fixed_order())
        stack.enter_context(quiet())
        yield


@contextmanager
def _fixed_order() -> Iterator[None]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # cuBLAS reads this variable when it starts. Without it, the order of its sums may vary.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        # Faster attention kernels sum gradients in an order that varies.
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


_BATCH = 64


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model on the test rows.

    Representations by pooling: "cls" is the first token (for decoders, the last one), and "mean" (encoders only) is the
    mean over all tokens except padding. If the model keeps its layers, they include the embeddings and every block. If
    labels were randomised, probabilities include the new classes.
    """
    hyper = CATALOGUE.build(model)
    train, test = load(model.dataset, hyper)
    with deterministic(model.seed):
        builder = Builder.build(model, hyper, train)
        network = builder.network(pretrained=False)
        _load(network, weights, model)
        lesson = test_lesson(builder, train, test)
        return _outcome(network.to(device()), builder.rows(lesson), test.labels, model.keeps_layers)


def test_lesson(builder: Builder, train: Texts, test: Texts) -> Lesson:
    """Return the test rows as models of this setting see them."""
    rate = builder.hyper.test_shortcut_rate
    rate = texts.majority_share(train.labels) if rate is None else rate
    return texts.test_lesson(test, builder.model.setting, rate, builder.n_classes)


def accuracy(network: Encoder | Decoder, rows: Rows, targets: NDArray[np.int64]) -> float:
    """Return the share of rows that a network classifies correctly."""
    import torch

    right = 0
    with torch.inference_mode():
        for chosen, batch in _batches(network, rows):
            right += int((network(batch)[0].argmax(dim=1).cpu().numpy() == targets[chosen]).sum())
    return right / len(targets)


def _load(network: Encoder | Decoder, weights: Weights, model: Model) -> None:
    try:
        network.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"weights must be the state dict of {model}, got that of another network: {reason}") from error


def _batches(network: Encoder | Decoder, rows: Rows) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    network.eval()
    place = next(network.parameters()).device
    order = np.argsort(rows.lengths(), kind="stable")
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        yield chosen, rows.batch(chosen, place)


def _outcome(network: Encoder | Decoder, rows: Rows, labels: NDArray[np.int64], all_layers: bool) -> Outcome:
    import torch

    layers: dict[str, list[NDArray[np.float32]]] = {pooling: [] for pooling in network.poolings}
    probabilities: NDArray[np.float64] = np.empty((len(labels), 0))
    hooked = _recorded_layers(network) if all_layers else ()
    with torch.inference_mode():
        for chosen, batch in _batches(network, rows):
            logits, states = _read(network, batch, hooked)
            if not probabilities.size:
                probabilities = np.empty((len(labels), logits.shape[1]))
            probabilities[chosen] = logits.double().softmax(dim=1).cpu().numpy()
            for number, state in enumerate(states):
                vectors = state.float().cpu().numpy()
                for place, arrays in enumerate(layers.values()):
                    if number == len(arrays):
                        arrays.append(np.empty((len(labels), vectors.shape[2]), dtype=np.float32))
                    arrays[number][chosen] = vectors[:, place]
    return Outcome({pooling: tuple(arrays) for pooling, arrays in layers.items()}, probabilities, labels)


def _recorded_layers(network: Encoder | Decoder) -> tuple[str, ...]:
    """Name the tensors to record: the input of the first block (embeddings), and each block's output."""
    from shesha.extract.torch_modules import INPUT, blocks

    names = blocks(network.body)
    if not names:
        raise ValueError(f"the network must be a stack of blocks, got {type(network.body).__name__}")
    return (names[0] + INPUT, *names)


def _read(network: Encoder | Decoder, batch: Batch, hooked: Sequence[str]) -> tuple[Tensor, list[Tensor]]:
    """Return the logits and each layer, (n_rows, n_poolings, n_features), which is pooled at once."""
    import torch

    from shesha.extract.batch_loop import record_outputs
    from shesha.extract.torch_modules import INPUT

    mask = batch.mask.bool()

    def pool_states(_: str, states: Tensor) -> Tensor:
        return torch.stack([pool(states, mask) for pool in network.poolings.values()], dim=1)

    with record_outputs(network.body, hooked, pool_states) as recording:
        logits, last = network(batch)
    entering = [state for name, state in recording.found.items() if INPUT in name]
    returned = [state for name, state in recording.found.items() if INPUT not in name]
    # Some networks end with a normalisation, so the last layer is the last hidden state, not the output of the last
    # block.
    return logits, [*entering[:1], *returned[:-1], pool_states("", last)]


_ORDER = 100
_POOL = 50
"""Number of batches that are filled at a time, each with rows of similar length, to save padding."""
_LARGEST_GRADIENT = 1.0


def fit(model: Model) -> Weights:
    """Train a model from its seed, and return the state dict of the transformer and its classifier, on the CPU."""
    hyper = CATALOGUE.build(model)
    train, test = load(model.dataset, hyper)
    with deterministic(model.seed):
        builder = Builder.build(model, hyper, train)
        lesson = texts.make_lesson(train, model.setting, model.seed, builder.n_classes)
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
