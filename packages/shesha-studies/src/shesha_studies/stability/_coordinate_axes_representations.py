"""Representations with meaningful or arbitrary coordinate axes: networks, sentences, cells and neurons."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from shesha.data import digits_network
from shesha.kernels.standardisation import is_constant
from shesha.studies.study_decorator import grid_of
from shesha.support.types import Matrix
from shesha_studies.causal_lm_embeddings import CAUSAL, POOLINGS, encoder_rows
from shesha_studies.external_data import opened
from shesha_studies.networks.images import IMAGES
from shesha_studies.networks.networks_by_architecture import EPOCHS, trained
from shesha_studies.sentence_encoders import encoded
from shesha_studies.synthetic_data import mixture, noise, principal_component_scores

N_ROWS = 300
SYNTHETIC = ("isotropic signal", "noise", "its principal components")
SESSIONS = ("session01", "session05", "session09")
CELLS = {
    "genes": ("pbmc68k_reduced", "lognorm"),
    "principal components": ("pbmc68k_reduced", "pca50"),
    "principal components, knockouts": ("papalexi2021", "pca50"),
}
NETWORKS = tuple(f"{data}, {architecture}" for architecture in ("dense", "plain") for data in IMAGES)
STANDARDISED = ", columns standardised"
CAUSAL_LAYERS = tuple(
    f"{pooling}, layer {layer}{how}" for how in ("", STANDARDISED) for pooling in POOLINGS[:2] for layer in (6, 18, 30)
)
EPOCH_STATES = ("untrained", *(f"epoch {epoch}" for epoch in range(1, EPOCHS)), "trained")
_grid = grid_of("family", "name", "state", "seed")


def every(seeds: range) -> list[dict[str, object]]:
    """Return all representations by source, state of training and seed."""
    both = ("untrained", "trained")
    return [
        *sorted(_grid(["synthetic"], SYNTHETIC, "-", seeds), key=itemgetter("seed")),
        *_grid(["digits"], [f"layer{layer}" for layer in (1, 2, 3)], both, [0]),
        *_grid(["cells"], CELLS, "-", [0]),
        *_grid(["neurons"], SESSIONS, "-", [0]),
        *_grid(["MiniLM"], [f"layer {layer}" for layer in (0, 2, 4, 6)], both, [0]),
        *_grid([CAUSAL], CAUSAL_LAYERS, ["trained"], [0]),
        *sorted(_grid(["network"], NETWORKS, EPOCH_STATES, seeds), key=itemgetter("seed")),
    ]


def read_rows(family: str, name: str, state: str, seed: int) -> Matrix:
    """Return at most 300 rows of a representation, which are the same for all states of training.

    Raises
    ------
    Unreachable
        If data, weights or libraries are missing.
    """
    X = np.asarray(_FAMILIES[family](name, state, seed), dtype=np.float64)
    X = X[np.random.default_rng(seed).permutation(len(X))[:N_ROWS]]
    # Constant features contain no information on distances, so they are removed before splitting.
    return np.asarray(X[:, ~is_constant(X)])


def _synthetic(name: str, state: str, seed: int) -> Matrix:
    rng = np.random.default_rng([seed, 7])
    if name == "noise":
        return noise("Gaussian", (200, 128), rng)
    X = mixture(0.9, rng)
    return X if name == "isotropic signal" else principal_component_scores(X)[:, :-1]


def _digits(name: str, state: str, seed: int) -> Matrix:
    return digits_network()[0][f"{'init' if state == 'untrained' else 'trained'}_{name}"]


def _single_cells(name: str, state: str, seed: int) -> Matrix:
    folder, array = CELLS[name]
    return opened(folder, f"{folder}.npz")[array]


def _neurons(name: str, state: str, seed: int) -> Any:
    """Return the spikes of each neuron in each trial, summed over windows."""
    return opened("steinmetz2019", f"{name}.npz")["counts"].sum(axis=2)


def _sentences(name: str, state: str, seed: int) -> Matrix:
    return encoded("SST-2", f"{'MiniLM' if state == 'trained' else 'untrained'}, mean: {name}")


def _causal(name: str, state: str, seed: int) -> Matrix:
    X = encoder_rows("SST-2", f"{CAUSAL}, {name.removesuffix(STANDARDISED).replace(', layer', ': layer')}")
    return X / X.std(axis=0) if name.endswith(STANDARDISED) else X


def _network(name: str, state: str, seed: int) -> Matrix:
    return trained(*name.split(", "), seed)[EPOCH_STATES.index(state)]


_FAMILIES: dict[str, Callable[[str, str, int], Matrix]] = {
    "synthetic": _synthetic,
    "digits": _digits,
    "cells": _single_cells,
    "neurons": _neurons,
    "MiniLM": _sentences,
    CAUSAL: _causal,
    "network": _network,
}
