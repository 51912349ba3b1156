"""Networks of several widths that see the same inputs, or one half of each, trained in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shesha._types import Matrix
from shesha.benchmark.sources import local_folder, missing
from shesha.studies._study import Unreachable

SEEN = ("all", "left", "right")
"""Parts of an image."""
IMAGES = ("Fashion-MNIST", "CIFAR-10")
_FOLDERS = {"Fashion-MNIST": "fashion_mnist", "CIFAR-10": "cifar10"}
_TRAINED_ON, _BATCH, _RATE = 5000, 100, 2e-3
_REFERENCE = 64
_MOMENTS, _TINY = (0.9, 0.999), 1e-8
Labels = NDArray[np.int64]


def archive(folder: str, file: str, what: str) -> Mapping[str, NDArray[np.generic]]:
    """Return the arrays of a file below SHESHA_DATA.

    Raises
    ------
    Unreachable
        If it is not there.
    """
    place = local_folder(folder)
    if place is None or not (place / file).exists():
        raise Unreachable(str(missing(what, folder, "its source", f"{file} is looked for")))
    with np.load(place / file, allow_pickle=False) as stored:
        return dict(stored)


@cache
def images(data: str, seen: str, part: str) -> tuple[Matrix, Labels]:
    """Return one row of grey pixels per image of "train" or "test", of mean 0 and variance 1 together, and the classes.

    Pixels of CIFAR-10 are averaged in squares of 2 x 2. "left" and "right" are disjoint halves.
    """
    stored = archive(_FOLDERS[data], f"{_FOLDERS[data]}_subset.npz", data)
    pixels, labels = stored[f"x_{part}"].astype(np.float64), stored[f"y_{part}"].astype(np.int64)
    if pixels.ndim == 4:
        grey = pixels.mean(axis=3)
        pixels = grey.reshape(len(grey), 16, 2, 16, 2).mean(axis=(2, 4))
    half = pixels.shape[2] // 2
    pixels = {"all": pixels, "left": pixels[:, :, :half], "right": pixels[:, :, half:]}[seen]
    rows = pixels.reshape(len(pixels), -1)
    return (rows - rows.mean()) / rows.std(), labels


@cache
def sentences() -> tuple[Matrix, Labels, Matrix]:
    """Return words (rows x 1,000 counts, rooted), sentiment, and MiniLM's layers (7 x rows x 384) of 872 sentences."""
    import pandas as pd

    place = local_folder("sst2")
    if place is None:
        raise Unreachable(str(missing("SST-2", "sst2", "its source")))
    texts = pd.read_csv(place / "validation.csv")["sentence"]
    split = [str(text).lower().split() for text in texts]
    counts: dict[str, int] = {}
    for word in (word for text in split for word in text):
        counts[word] = counts.get(word, 0) + 1
    vocabulary = {
        word: place for place, word in enumerate(sorted(counts, key=lambda word: (-counts[word], word))[:1000])
    }
    words = np.zeros((len(split), len(vocabulary)))
    for row, text in enumerate(split):
        for word in text:
            if word in vocabulary:
                words[row, vocabulary[word]] += 1
    stored = archive("minilm_sst2", "minilm_l6_sst2_validation.npz", "MiniLM's layers of SST-2")
    layers = np.swapaxes(stored["embeddings"].astype(np.float64), 0, 1)
    return np.sqrt(words), stored["label"].astype(np.int64), layers


class Perceptron:
    """Two hidden layers of equal width with rectified units, and a linear classifier, in double precision.

    In double precision the same seed gives the same network on any number of threads, to many digits.
    """

    def __init__(self, n_inputs: int, width: int, n_classes: int, seed: int) -> None:
        rng = np.random.default_rng([seed, width])
        sizes = (n_inputs, width, width, n_classes)
        self.weights = [rng.standard_normal((a, b)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
        self.offsets = [np.zeros(b) for b in sizes[1:]]
        self._rng = rng

    def layers(self, rows: Matrix) -> list[Matrix]:
        """Activations of the hidden layers."""
        found = []
        for weight, offset in zip(self.weights[:-1], self.offsets[:-1], strict=True):
            rows = np.maximum(rows @ weight + offset, 0.0)
            found.append(rows)
        return found

    def accuracy(self, rows: Matrix, labels: Labels) -> float:
        """Share of rows whose class is named correctly."""
        logits = self.layers(rows)[-1] @ self.weights[-1] + self.offsets[-1]
        return float((logits.argmax(axis=1) == labels).mean())

    def train(self, rows: Matrix, labels: Labels, epochs: int) -> Perceptron:
        """Descend the cross-entropy by Adam; return self."""
        parameters = [*self.weights, *self.offsets]
        first, second = ([np.zeros_like(one) for one in parameters] for _ in range(2))
        # Wide layers move further by steps of the same size.
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
        """Gradient of the mean cross-entropy: of all weights, then of all offsets."""
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
    """Train a network on the classes of 5,000 images, of which it sees a part; no epochs leave it as it was made."""
    rows, labels = images(data, seen, "train")
    # A network of one half shares no weights with that of the other.
    made = Perceptron(rows.shape[1], width, 10, 10 * seed + SEEN.index(seen))
    return made.train(rows[:_TRAINED_ON], labels[:_TRAINED_ON], epochs)


@cache
def sentence_network(width: int, epochs: int, seed: int) -> Perceptron:
    """Train a network on the sentiment of the second half of the sentences, by their words."""
    words, labels, _ = sentences()
    half = len(words) // 2
    return Perceptron(words.shape[1], width, 2, seed).train(words[half:], labels[half:], epochs)
