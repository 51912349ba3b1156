"""Pairs of networks with different views of the same inputs: stand-ins for models of two modalities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from shesha.support.types import Matrix
from shesha_studies.external_data import read_arrays, table
from shesha_studies.networks.images import IMAGES, Labels, as_rows
from shesha_studies.networks.perceptrons import Perceptron, network

STAND_IN = (
    "The published language, vision and video models are not available. As stand-ins we use pairs of models with "
    "two views of the same inputs, like an image and its caption. For images, the first models are networks of 32 "
    "to 1,024 units, trained for two or six epochs on the left halves, and the second model is a network of the "
    "right halves. For sentences, the first models are networks of word counts and the second is a sentence encoder."
)
N = 256
"""Number of rows of a comparison; with widths of 32 to 1,024, d / n is 0.125 to 4."""
_N_WORDS = 1000
WIDTHS = (32, 64, 128, 256, 512, 1024)
EPOCHS = (2, 6)
SENTENCES = "SST-2"
DATA = (*IMAGES, SENTENCES)


@dataclass(frozen=True)
class Sides:
    """Layers of both models (rows of unit length), the classes of the rows, and the capability of the first model."""

    first: list[Matrix]
    second: list[Matrix]
    labels: Labels
    capability: float
    """Accuracy of the first model on unseen inputs."""


def sides(data: str, epochs: int, width: int, partner: int) -> Sides:
    """Return two models of the same 256 inputs, with these numbers of units per layer; 0 epochs leave them untrained.

    For images, one network reads the left halves and the other the right halves. For sentences, the models are a
    network of word counts and MiniLM, whose width is fixed.
    """
    if data == SENTENCES:
        words, labels, encoder = _sentences()
        half, net = len(words) // 2, _sentence_network(width, epochs)
        first, second, accuracy = net.layers(words[:N]), list(encoder[:, :N]), net.accuracy(words[:half], labels[:half])
    else:
        (left, labels), (right, _) = (as_rows(data, side, "test") for side in ("left", "right"))
        net, other = network(data, "left", width, epochs, 0), network(data, "right", partner, 6 if epochs else 0, 1)
        first, second, accuracy = net.layers(left[:N]), other.layers(right[:N]), net.accuracy(left, labels)
    return Sides(unit_rows(first), unit_rows(second), labels[:N], accuracy)


@cache
def _sentences() -> tuple[Matrix, Labels, Matrix]:
    """Return roots of word counts (rows x 1,000), sentiment, and MiniLM's layers (7 x rows x 384) of 872 sentences."""
    split = [str(text).lower().split() for text in table("sst2", "validation.csv")["sentence"]]
    total = Counter(word for text in split for word in text)
    frequent = sorted(total, key=lambda word: (-total[word], word))[:_N_WORDS]
    counts = [Counter(text) for text in split]
    words = np.array([[count[word] for word in frequent] for count in counts], dtype=np.float64)
    stored = read_arrays("minilm_sst2", "minilm_l6_sst2_validation.npz")
    layers = np.swapaxes(stored["embeddings"].astype(np.float64), 0, 1)
    return np.sqrt(words), stored["label"].astype(np.int64), layers


@cache
def _sentence_network(width: int, epochs: int) -> Perceptron:
    """Train a network on the sentiment of the second half of the sentences, by their words."""
    words, labels, _ = _sentences()
    half = len(words) // 2
    return Perceptron(words.shape[1], width, 2, 0).train(words[half:], labels[half:], epochs)


def trends(rows: pd.DataFrame, names: Sequence[str], axis: str = "capability") -> pd.DataFrame:
    """Correlate scores with the rank of the first model's capability or width, by data set, partner and measure."""
    keys = [key for key in ("measure", "data", "partner") if key in rows]
    lines = []
    for key, group in rows.groupby(keys, sort=False):
        ranks = group[axis].rank()
        lines.append([*key, *(_correlation(ranks, group[name]) for name in names)])
    return pd.DataFrame(lines, columns=[*keys, *names])


def _correlation(ranks: pd.Series[float], scores: pd.Series[float]) -> float:
    """Pearson's correlation; NaN for fewer than three models, or if all scores are equal."""
    varied = len(ranks) > 2 and ranks.std() > 0 and scores.std() > 1e-12
    return float(np.corrcoef(ranks, scores)[0, 1]) if varied else float("nan")


def unit_rows(layers: list[Matrix]) -> list[Matrix]:
    """Scale rows to unit length, as in the published comparison."""
    return [layer / np.linalg.norm(layer, axis=1, keepdims=True) for layer in layers]
