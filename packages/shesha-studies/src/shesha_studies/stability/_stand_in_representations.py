"""Available representations that replace published ones, by name, with a label for every row."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from shesha.data import digits_network
from shesha.stability import feature_split
from shesha.support.types import Matrix
from shesha_studies.external_data import read_arrays
from shesha_studies.networks.images import IMAGES, in_colour
from shesha_studies.networks.networks_by_architecture import ARCHITECTURES, train_network

Labelled = tuple[Matrix, NDArray[np.int64]]
DIGITS = "digits, trained_layer1"
SENTENCES = tuple(f"MiniLM, layer {layer}" for layer in (1, 3, 6))
NETWORKS = tuple(f"{data}, {architecture}" for data in IMAGES for architecture in ARCHITECTURES)
STAND_INS = (DIGITS, *SENTENCES, *NETWORKS)
"""Stand-ins for fifteen vision models: a dense layer on digits, layers of a sentence encoder, ten image networks."""


@cache
def stand_in(name: str) -> Labelled:
    """Return rows and labels of a stand-in, with the rows in random order."""
    X, y = _load(*name.split(", "))
    order = np.random.default_rng(320).permutation(len(X))
    return X[order], y[order]


def _load(family: str, which: str) -> Labelled:
    if family == "digits":
        layers, labels = digits_network()
        return np.asarray(layers[which], dtype=np.float64), np.asarray(labels, dtype=np.int64)
    if family == "MiniLM":
        arrays = read_arrays("minilm_sst2", "minilm_l6_sst2_validation.npz")
        embeddings = arrays["embeddings"][:, int(which.removeprefix("layer "))]
        return embeddings.astype(np.float64), arrays["label"].astype(np.int64)
    features = train_network(family, which, 0)[-1]
    return features, in_colour(family)[3][: len(features)]


def score_before_training(name: str) -> float:
    """Feature split of 400 rows of a network before training; NaN if there is no such network."""
    family, which = name.split(", ")
    if family == "MiniLM":
        return float("nan")
    X = train_network(family, which, 0)[0] if family in IMAGES else _load(family, "init_layer1")[0]
    return feature_split(X[:400], seed=320)
