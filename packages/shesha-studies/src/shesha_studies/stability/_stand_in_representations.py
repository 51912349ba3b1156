"""Available representations that replace published ones, by name, with a label for every row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shesha.data import digits_network
from shesha.stability import feature_split
from shesha.support.types import Matrix
from shesha_studies.external_data import opened
from shesha_studies.networks.images import IMAGES, in_colour
from shesha_studies.networks.networks_by_architecture import ARCHITECTURES, trained

Labelled = tuple[Matrix, NDArray[np.int64]]
DIGITS = "digits, trained_layer1"
SENTENCES = tuple(f"MiniLM, layer {layer}" for layer in (1, 3, 6))
NETWORKS = tuple(f"{data}, {architecture}" for data in IMAGES for architecture in ARCHITECTURES)
STAND_INS = (DIGITS, *SENTENCES, *NETWORKS)
"""Stand-ins for fifteen vision models: a dense layer on digits, layers of a sentence encoder, ten image networks."""


def stand_in(name: str) -> Labelled:
    """Return rows and labels of a stand-in, with the rows in random order.

    Raises
    ------
    Unreachable
        If its data or torch are missing.
    """
    X, y = _load_labelled(name)
    order = np.random.default_rng(320).permutation(len(X))
    return X[order], y[order]


def untrained(name: str) -> float:
    """Feature split of 400 rows of a network before training; NaN if there is no such network."""
    family, _, rest = name.partition(", ")
    if family == "MiniLM":
        return float("nan")
    X = trained(family, rest, 0)[0].features if family in IMAGES else _digits(rest.replace("trained", "init"))[0]
    return feature_split(X[:400], seed=320)


@cache
def _load_labelled(name: str) -> Labelled:
    family, _, rest = name.partition(", ")
    return _FAMILIES[family](rest)


def _digits(which: str) -> Labelled:
    layers, labels = digits_network()
    return np.asarray(layers[which], dtype=np.float64), np.asarray(labels, dtype=np.int64)


def _sentences(which: str) -> Labelled:
    arrays = opened("minilm_sst2", "minilm_l6_sst2_validation.npz")
    layer = int(which.removeprefix("layer "))
    return arrays["embeddings"][:, layer].astype(np.float64), arrays["label"].astype(np.int64)


def _network(data: str) -> Callable[[str], Labelled]:
    def find(architecture: str) -> Labelled:
        features = trained(data, architecture, 0)[-1].features
        return features, in_colour(data)[3][: len(features)]

    return find


_FAMILIES: dict[str, Callable[[str], Labelled]] = {
    "digits": _digits,
    "MiniLM": _sentences,
    **{data: _network(data) for data in IMAGES},
}
