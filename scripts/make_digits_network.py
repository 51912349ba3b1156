"""Train a small network on the packaged digits and store the activations of its hidden layers for held-out images.

The result is part of the package, as ``shesha/data/digits_network.npz``. The script has a fixed seed, so a rerun gives
the same arrays.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.data import digits
from shesha.support.files import replacing

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

PACKAGED = Path(__file__).resolve().parents[1] / "src" / "shesha" / "data" / "digits_network.npz"
SEED = 0
HELD_OUT = 900
SIZES = (64, 96, 64, 32, 10)
GAINS = (2.0, 1.0, 1.0, 1.0)
"""The first layer is doubled, because pixels vary little and untrained units would stay in the linear range of tanh."""
EPOCHS = 40
BATCH = 32
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 0.5
"""Large on purpose: with 0.1, some units of the third layer saturate so far that float16 rounds them to exactly 1."""


class Network:
    """A tanh network with a linear read-out; ``parameters`` contains the weights of all layers, then their biases."""

    def __init__(self, rng: np.random.Generator) -> None:
        shapes = zip(SIZES[:-1], SIZES[1:], GAINS, strict=True)
        weights = [gain / np.sqrt(rows) * rng.standard_normal((rows, columns)) for rows, columns, gain in shapes]
        self.depth = len(weights)
        self.parameters: list[Matrix] = weights + [np.zeros(columns) for columns in SIZES[1:]]

    def hidden(self, pixels: Matrix) -> list[Matrix]:
        """Return the input followed by the activations of each hidden layer."""
        layers = [pixels]
        for weight, bias in zip(self.parameters[: self.depth - 1], self.parameters[self.depth : -1], strict=True):
            layers.append(np.tanh(layers[-1] @ weight + bias))
        return layers

    def logits(self, last: Matrix) -> Matrix:
        """Return the read-out of the last hidden layer."""
        return last @ self.parameters[self.depth - 1] + self.parameters[-1]

    def gradients(self, pixels: Matrix, labels: Labels) -> list[Matrix]:
        """Return the gradient of the mean cross-entropy, in the order of ``parameters``."""
        layers = self.hidden(pixels)
        error = _softmax(self.logits(layers[-1]))
        error[np.arange(len(labels)), labels] -= 1.0
        error /= len(labels)
        weights, biases = [], []
        for depth in reversed(range(self.depth)):
            weights.append(layers[depth].T @ error)
            biases.append(error.sum(axis=0))
            error = (error @ self.parameters[depth].T) * (1.0 - layers[depth] ** 2)
        return weights[::-1] + biases[::-1]


def _softmax(logits: Matrix) -> Matrix:
    """Return the probabilities of each row, without overflow."""
    powers: Matrix = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def train(network: Network, pixels: Matrix, labels: Labels, rng: np.random.Generator) -> None:
    """Run Adam with decoupled weight decay and a learning rate that decreases linearly to zero."""
    starts = range(0, len(pixels), BATCH)
    n_steps = EPOCHS * len(starts)
    means = [np.zeros_like(parameter) for parameter in network.parameters]
    squares = [np.zeros_like(parameter) for parameter in network.parameters]
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(pixels))
        for start in starts:
            rows = order[start : start + BATCH]
            rate = LEARNING_RATE * (1.0 - step / n_steps)
            step += 1
            gradients = network.gradients(pixels[rows], labels[rows])
            for parameter, gradient, mean, square in zip(network.parameters, gradients, means, squares, strict=True):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                unbiased = np.sqrt(square / (1.0 - 0.999**step))
                # Biases have no weight decay, because they do not make units saturate as large weights do.
                decay = WEIGHT_DECAY * parameter if parameter.ndim == 2 else 0.0
                parameter -= rate * (mean / (1.0 - 0.9**step) / (unbiased + 1e-8) + decay)


def activations() -> tuple[Arrays, float]:
    """Return the arrays to store and the accuracy on the held-out images."""
    rng = np.random.default_rng(SEED)
    images, labels = digits()
    order = rng.permutation(len(images))
    # The images are drawn at random, but stay in the order of the data set.
    held_out, training = np.sort(order[:HELD_OUT]), order[HELD_OUT:]
    pixels = (images - images[training].mean(axis=0)) / 16.0
    network = Network(rng)
    before = network.hidden(pixels[held_out])[1:]
    train(network, pixels[training], labels[training], rng)
    after = network.hidden(pixels[held_out])[1:]
    accuracy = float(np.mean(network.logits(after[-1]).argmax(axis=1) == labels[held_out]))
    arrays: Arrays = {}
    for stage, layers in (("init", before), ("trained", after)):
        arrays |= {f"{stage}_layer{depth}": layer.astype(np.float16) for depth, layer in enumerate(layers, start=1)}
    return arrays | {"labels": labels[held_out].astype(np.uint8)}, accuracy


def save(arrays: Arrays, path: Path) -> None:
    """Write the arrays to a temporary file first, so that no reader sees an incomplete file."""
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, **arrays)


def main() -> None:
    """Read the command line, train, report and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=PACKAGED, help="file to write (default: %(default)s)")
    out: Path = parser.parse_args().out
    arrays, accuracy = activations()
    save(arrays, out)
    print(f"held-out accuracy {accuracy:.4f}, wrote {out} ({out.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
