"""Perceptrons of any width in double precision, for images or one half of each image."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from shesha.support.types import Matrix
from shesha_studies.networks.images import SEEN, Labels, as_rows

_TRAINED_ON, _BATCH, _RATE = 5000, 100, 2e-3
_REFERENCE = 64
_MOMENTS, _TINY = (0.9, 0.999), 1e-8


class Perceptron:
    """Two hidden layers of equal width with rectified units, and a linear classifier, in double precision.

    Because of double precision, the same seed gives nearly the same network for any number of threads.
    """

    def __init__(self, n_inputs: int, width: int, n_classes: int, seed: int) -> None:
        rng = np.random.default_rng([seed, width])
        sizes = (n_inputs, width, width, n_classes)
        self.weights = [rng.standard_normal((a, b)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
        self.offsets = [np.zeros(b) for b in sizes[1:]]
        self._rng = rng

    def layers(self, rows: Matrix) -> list[Matrix]:
        """Activations of the hidden layers."""
        activations = []
        for weight, offset in zip(self.weights[:-1], self.offsets[:-1], strict=True):
            rows = np.maximum(rows @ weight + offset, 0.0)
            activations.append(rows)
        return activations

    def accuracy(self, rows: Matrix, labels: Labels) -> float:
        """Return the share of rows that are classified correctly."""
        logits = self.layers(rows)[-1] @ self.weights[-1] + self.offsets[-1]
        return float((logits.argmax(axis=1) == labels).mean())

    def train(self, rows: Matrix, labels: Labels, epochs: int) -> Perceptron:
        """Minimise the cross-entropy by Adam, and return the network."""
        parameters = [*self.weights, *self.offsets]
        first, second = ([np.zeros_like(parameter) for parameter in parameters] for _ in range(2))
        # Steps of the same size change wide layers more, so the learning rate is reduced for them.
        rate = _RATE * min(1.0, (_REFERENCE / self.weights[0].shape[1]) ** 0.5)
        step = 0
        for _ in range(epochs):
            order = self._rng.permutation(len(rows))
            for start in range(0, len(rows) - _BATCH + 1, _BATCH):
                step += 1
                chosen = order[start : start + _BATCH]
                slopes = self.slopes(rows[chosen], labels[chosen])
                for place, slope in enumerate(slopes):
                    first[place] += (1 - _MOMENTS[0]) * (slope - first[place])
                    second[place] += (1 - _MOMENTS[1]) * (slope * slope - second[place])
                    mean = first[place] / (1 - _MOMENTS[0] ** step)
                    size = np.sqrt(second[place] / (1 - _MOMENTS[1] ** step)) + _TINY
                    parameters[place] -= rate * mean / size
        return self

    def slopes(self, rows: Matrix, labels: Labels) -> list[Matrix]:
        """Return the gradients of the mean cross-entropy, for all weights and then for all offsets."""
        hidden = [rows, *self.layers(rows)]
        logits = hidden[-1] @ self.weights[-1] + self.offsets[-1]
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        back = odds / odds.sum(axis=1, keepdims=True)
        back[np.arange(len(rows)), labels] -= 1
        back /= len(rows)
        weights: list[Matrix] = []
        offsets: list[Matrix] = []
        for place in reversed(range(len(self.weights))):
            weights.insert(0, hidden[place].T @ back)
            offsets.insert(0, back.sum(axis=0))
            if place:
                back = (back @ self.weights[place].T) * (hidden[place] > 0)
        return [*weights, *offsets]


@cache
def network(data: str, seen: str, width: int, epochs: int, seed: int) -> Perceptron:
    """Train a network on the classes of 5,000 images or parts of them; with zero epochs, it is untrained."""
    rows, labels = as_rows(data, seen, "train")
    # Networks of the two halves have different initial weights.
    perceptron = Perceptron(rows.shape[1], width, 10, 10 * seed + SEEN.index(seen))
    return perceptron.train(rows[:_TRAINED_ON], labels[:_TRAINED_ON], epochs)
